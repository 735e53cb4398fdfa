import { GROUP } from '../args/kinds.js';
import { createGroupCommand } from './group-create.js';
import { addMemberCommand, removeMemberCommand } from './group-members.js';
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
  accessReportCommand(GROUP),
  addMemberCommand(),
  cloneCommand(GROUP),
  createGroupCommand(),
  deleteCommand(GROUP),
  editCommand(GROUP),
  eventlogCommand(GROUP),
  getCommand(GROUP),
  patchCommand(GROUP),
  permissionsCommand(GROUP),
  queryCommand(GROUP),
  removeMemberCommand(),
  tagCommand(GROUP),
  updateCommand(GROUP),
];
