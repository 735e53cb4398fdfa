import { createReadStream } from 'node:fs';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TakeBackup } from '../../commands/backup-take.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { callerOf } from '../caller.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';
import { Readiness } from '../readiness.js';
import { sendStreamed, sendStreamedHead } from '../server/streamed.js';

@Controller('-backup')
export class BackupController {
  constructor(
    private readonly commands: CommandBus,
    private readonly readiness: Readiness,
  ) {}

  /** The whole log of the embedded store, of all organizations, as one file. The root key is not in it. */
  @Get()
  @Guarded('root')
  @Documented('takeBackup', {
    summary: 'Copy the log: everything that was acknowledged before the request is in it',
    answers: { 200: { 'application/octet-stream': 'Backup' } },
    headers: {
      'x-backup-sha256': 'SHA-256 of the body, in hexadecimal',
      'x-backup-log': "the log's identifier",
      'x-backup-heads': 'the next offset of each partition: `audit/0=17,control/0=2,...`',
    },
    errors: ['validation_failed', 'not_found', 'conflict', 'log_unavailable'],
  })
  async take(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    reply.header('content-type', 'application/octet-stream').header('cache-control', 'no-store');
    if (request.method === 'HEAD') return sendStreamedHead(reply);
    const { file, bytes, sha256, log, heads, discard } = await this.commands.execute(new TakeBackup(callerOf(request)));
    if (reply.raw.destroyed) return discard();
    reply.raw.once('close', discard);
    reply
      .header('content-length', bytes)
      .header('content-disposition', `attachment; filename="${log}.db"`)
      .header('x-backup-sha256', sha256)
      .header('x-backup-log', log)
      .header(
        'x-backup-heads',
        Object.entries(heads)
          .map((head) => head.join('='))
          .join(','),
      );
    sendStreamed(reply, createReadStream(file), this.readiness);
  }
}
