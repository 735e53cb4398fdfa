import { DOMAIN } from '../args/kinds.js';
import { accessReportCommand } from './resource/access-report.js';
import { cloneCommand } from './resource/clone.js';
import { createCommand } from './resource/create.js';
import { deleteCommand } from './resource/delete.js';
import { editCommand } from './resource/edit.js';
import { eventlogCommand } from './resource/eventlog.js';
import { getCommand } from './resource/get.js';
import { patchCommand } from './resource/patch.js';
import { permissionsCommand } from './resource/permissions.js';
import { queryCommand } from './resource/query.js';
import { tagCommand } from './resource/tag.js';
import { updateCommand } from './resource/update.js';

export const COMMANDS = [
  accessReportCommand(DOMAIN),
  cloneCommand(DOMAIN),
  createCommand(DOMAIN),
  deleteCommand(DOMAIN),
  editCommand(DOMAIN),
  eventlogCommand(DOMAIN),
  getCommand(DOMAIN),
  patchCommand(DOMAIN),
  permissionsCommand(DOMAIN),
  queryCommand(DOMAIN),
  tagCommand(DOMAIN),
  updateCommand(DOMAIN),
];
