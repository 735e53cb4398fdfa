import { applyDecorators, Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { permissionsOn, type TargetKind } from '../../model/permission.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendJson } from '../answers/resource.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';
import { ORG_PATH } from '../resources.js';

function PermissionsOn(kind: TargetKind): MethodDecorator {
  return applyDecorators(
    Get(`${kind}/-schema/permissions`),
    Guarded('member'),
    Documented({
      summary: `List the permissions that policies grant on the kind ${kind}`,
      path: ORG_PATH,
      answers: { 200: 'Permissions' },
      errors: ['validation_failed'],
    }),
  );
}

/** What policies can grant. Whoever belongs to an organization may know it. */
@Controller('org/:org')
export class PermissionsController {
  @PermissionsOn('user')
  ofUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'user');
  }

  @PermissionsOn('group')
  ofGroup(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'group');
  }

  @PermissionsOn('serviceaccount')
  ofServiceAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'serviceaccount');
  }

  @PermissionsOn('policy')
  ofPolicy(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'policy');
  }

  @PermissionsOn('domain')
  ofDomain(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'domain');
  }

  @PermissionsOn('auditctx')
  ofAuditContext(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, 'auditctx');
  }
}

function send(request: FastifyRequest, reply: FastifyReply, targetKind: TargetKind): void {
  checkQuery(noParameters, request);
  sendJson(reply, JSON.stringify({ kind: 'permissions', targetKind, items: permissionsOn(targetKind) }));
}
