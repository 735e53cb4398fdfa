import { INVITATION } from '../args/kinds.js';
import { acceptCommand } from './invitation-accept.js';
import { deleteCommand } from './resource/delete.js';
import { getCommand } from './resource/get.js';

export const COMMANDS = [
  acceptCommand(),
  getCommand(INVITATION),
  deleteCommand(INVITATION, { word: 'revoke', done: 'revoked' }),
];
