import { USER } from '../args/kinds.js';
import { accessReportCommand } from './resource/access-report.js';
import { deleteCommand } from './resource/delete.js';
import { editCommand } from './resource/edit.js';
import { eventlogCommand } from './resource/eventlog.js';
import { getCommand } from './resource/get.js';
import { addKeyCommand, keysCommand, removeKeyCommand } from './resource/keys.js';
import { patchCommand } from './resource/patch.js';
import { permissionsCommand } from './resource/permissions.js';
import { queryCommand } from './resource/query.js';
import { tagCommand } from './resource/tag.js';
import { updateCommand } from './resource/update.js';
import { inviteCommand } from './user-invite.js';

export const COMMANDS = [
  accessReportCommand(USER),
  addKeyCommand(USER),
  deleteCommand(USER),
  editCommand(USER),
  eventlogCommand(USER),
  getCommand(USER),
  inviteCommand(),
  keysCommand(USER),
  patchCommand(USER),
  permissionsCommand(USER),
  queryCommand(USER),
  removeKeyCommand(USER),
  tagCommand(USER),
  updateCommand(USER),
];
