import { SERVICE_ACCOUNT } from '../args/kinds.js';
import { accessReportCommand } from './resource/access-report.js';
import { createCommand } from './resource/create.js';
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

export const COMMANDS = [
  accessReportCommand(SERVICE_ACCOUNT),
  addKeyCommand(SERVICE_ACCOUNT),
  createCommand(SERVICE_ACCOUNT),
  deleteCommand(SERVICE_ACCOUNT),
  editCommand(SERVICE_ACCOUNT),
  eventlogCommand(SERVICE_ACCOUNT),
  getCommand(SERVICE_ACCOUNT),
  keysCommand(SERVICE_ACCOUNT),
  patchCommand(SERVICE_ACCOUNT),
  permissionsCommand(SERVICE_ACCOUNT),
  queryCommand(SERVICE_ACCOUNT),
  removeKeyCommand(SERVICE_ACCOUNT),
  tagCommand(SERVICE_ACCOUNT),
  updateCommand(SERVICE_ACCOUNT),
];
