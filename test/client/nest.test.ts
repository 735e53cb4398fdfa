import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Controller,
  ForbiddenException,
  Get,
  type INestApplication,
  Inject,
  Module,
  Param,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AuditClient } from '../../src/client/index.js';
import { Audited, AuditModule } from '../../src/client/nest.js';
import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

@Controller('orders')
class Orders {
  constructor(@Inject(AuditClient) private readonly audit: AuditClient) {}

  @Post()
  @Audited('create', ({ result }) => ({ type: 'order', id: (result as { id: string }).id }))
  create() {
    return { id: '7' };
  }

  @Get(':id')
  @Audited('read', ({ request }) => ({ type: 'order', id: request.params.id }))
  read(@Param('id') id: string) {
    if (id === 'secret') throw new ForbiddenException('not yours');
    if (id === 'broken') throw new Error('the disk is broken');
    return { id };
  }

  @Post('own')
  async own() {
    await this.audit.record({ resource: { type: 'order', id: 'own' } });
  }
}

let service: TestService;
let org: Org;
let folder: string;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  folder = mkdtempSync(join(tmpdir(), 'client-nest-'));
  const options = {
    endpoint: service.url,
    key: org.key,
    org: org.name,
    context: 'app',
    spool: { folder },
    subject: () => ({ email: 'ann@example.com' }),
  };
  class Application {}
  Module({
    imports: [AuditModule.forRootAsync({ useFactory: async () => options })],
    controllers: [Orders],
  })(Application);
  app = await NestFactory.create(Application, new FastifyAdapter({ skipMiddie: true } as object), { logger: false });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
});
afterAll(async () => {
  await service.remove();
  rmSync(folder, { recursive: true });
});

it('records each call with its outcome, subject and address, and closes with the application', async () => {
  const statuses = [];
  for (const [method, path] of [
    ['POST', ''],
    ['GET', '/8'],
    ['GET', '/secret'],
    ['GET', '/broken'],
    ['POST', '/own'],
  ])
    statuses.push((await fetch(`${url}/orders${path}`, { method: method as string })).status);
  expect(statuses).toEqual([201, 200, 403, 500, 201]);
  const audit = app.get(AuditClient);
  await audit.flush();
  await audit.publish({ resource: { name: 'last' } }, { wait: 'searchable' });
  const { items } = (await org.list({ contextName: 'app', order: 'received' })).body;
  expect(items.slice(0, 4).map(({ action, resource, result }) => [action?.type, resource.id, result?.status])).toEqual([
    ['create', '7', 'OK'],
    ['read', '8', 'OK'],
    ['read', 'secret', 'DENIED'],
    ['read', 'broken', 'FAILED'],
  ]);
  expect(items[2]).toMatchObject({
    subject: { email: 'ann@example.com' },
    context: { remoteIp: '127.0.0.1' },
    result: { message: 'not yours' },
  });
  expect(items[4]?.resource.id).toBe('own');
  await app.close();
  await expect(audit.record({ resource: { name: 'late' } })).rejects.toMatchObject({ fault: 'closed' });
});
