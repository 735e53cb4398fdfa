import { applyDecorators, Controller, Get } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Kind, kindsWith } from '../../contract/kinds.js';
import { permissionsOn, type TargetKind } from '../../model/permission.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH } from '../answers/paths.js';
import { sendJson } from '../answers/resource.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';
import { RouteOfEachKind } from './each-kind.js';

function PermissionsOn({ name, schema }: Kind): MethodDecorator {
  return applyDecorators(
    Get(`${name}/-schema/permissions`),
    Guarded('member'),
    Documented(`list${schema}Permissions`, {
      summary: `List the permissions that policies grant on the kind ${name}`,
      path: ORG_PATH,
      answers: { 200: 'Permissions' },
      errors: ['validation_failed'],
    }),
  );
}

/** Lists the permissions that policies can grant, to every caller of the organization. */
@Controller('org/:org')
@RouteOfEachKind(kindsWith('permissions'), PermissionsOn, 'send')
export class PermissionsController {
  send(request: FastifyRequest, reply: FastifyReply, { name }: Kind): void {
    checkQuery(noParameters, request);
    sendJson(
      reply,
      JSON.stringify({ kind: 'permissions', targetKind: name, items: permissionsOn(name as TargetKind) }),
    );
  }
}
