import { POLICY } from '../args/kinds.js';
import { addBindingCommand, removeBindingCommand } from './policy-bindings.js';
import { createPolicyCommand } from './policy-create.js';
import { accessReportCommand } from './resource/access-report.js';
import { cloneCommand } from './resource/clone.js';
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
  accessReportCommand(POLICY),
  addBindingCommand(),
  cloneCommand(POLICY),
  createPolicyCommand(),
  deleteCommand(POLICY),
  editCommand(POLICY),
  eventlogCommand(POLICY),
  getCommand(POLICY),
  patchCommand(POLICY),
  permissionsCommand(POLICY),
  queryCommand(POLICY),
  removeBindingCommand(),
  tagCommand(POLICY),
  updateCommand(POLICY),
];
