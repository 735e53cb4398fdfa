import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type TestService } from '../support/service.js';
import { svc, temporaryFolder } from './support/svc.js';

/** The repository's own events, and a larger collection where it stands beside the checkout. */
const FILES = ['demo/events.ndjson', '../shared/data/events-shared.ndjson'];

type Json = Record<string, unknown>;

interface Line {
  readonly event: { readonly resource: { readonly name?: string; readonly id?: string } } & Json;
}

for (const file of FILES) {
  const there = existsSync(file);
  if (!there) process.stderr.write(`skipped: ${file} is not there; its events are not published\n`);
  (there ? describe : describe.skip)(`real events of ${file}`, () => {
    let service: TestService;
    let env: Record<string, string>;
    let api: (path: string) => Promise<Json>;
    let events: Line['event'][];
    let ids: string[];

    const publish = async (news = events.length) => {
      const args = ['audit', 'publish', '--context', 'real', '--file', file, '-o', 'names'];
      const { code, stdout, stderr } = await svc(args, { env });
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `published ${events.length} (${news} new, ${events.length - news} recorded before), failed 0\n`,
      });
      return stdout.trimEnd().split('\n');
    };

    beforeAll(async () => {
      events = readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as Line).event);
      service = await startService();
      env = { SVC_ENDPOINT: service.url, SVC_CONFIG_DIR: join(temporaryFolder(), 'svc'), SVC_ORG: 'acme' };
      const created = await svc(['org', 'create', '--name', 'acme', '-o', 'json'], {
        env: { ...env, SVC_TOKEN: service.rootKey },
      });
      const { key } = JSON.parse(created.stdout) as { key: string };
      env = { ...env, SVC_TOKEN: key };
      api = async (path) => {
        const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${key}` } });
        expect(answer.status).toBe(200);
        return (await answer.json()) as Json;
      };
      ids = await publish();
    });

    afterAll(() => service.remove());

    it('are all stored, each with its own identifier', () => {
      expect(new Set(ids).size).toBe(events.length);
    });

    it('are each readable by id exactly as sent', async () => {
      for (const [index, id] of ids.entries()) {
        const { item } = await api(`/audit/org/acme/id/${id}`);
        expect(asSent(item as Json, events[index] ?? {})).toEqual(events[index]);
      }
    });

    it('are listed under their resource name, as many as the file has', async () => {
      const counts = Map.groupBy(events, ({ resource }) => resource.name);
      for (const [name, ofName] of counts) {
        if (name === undefined) continue;
        const page = await api(
          `/audit/org/acme/resource/name/${encodeURIComponent(name)}?pageSize=1000&contextName=real`,
        );
        expect([name, (page.items as Json[]).length]).toEqual([name, ofName.length]);
      }
    });

    it('are not duplicated when the file is published again', async () => {
      expect(await publish(0)).toEqual(ids);
      const { items } = await api('/audit/org/acme/auditctx');
      expect(items).toContainEqual(expect.objectContaining({ name: 'real', count: events.length }));
    });
  });
}

/** The event without what the service assigns, and without the defaults of what was not sent. */
function asSent(kept: Json, sent: Json): Json {
  const { id: _id, postedTime: _posted, receivedTime: _received, ...rest } = kept;
  const context = { ...(rest.context as Json) };
  expect(context).toMatchObject({ org: 'acme', name: 'real' });
  delete context.org;
  delete context.name;
  delete context.publisher;
  const sentContext = sent.context as Json | undefined;
  if (sentContext?.remoteIp === undefined) delete context.remoteIp;
  const filled: Json = { ...rest, context };
  for (const name of ['eventTime', 'requestId', 'subject']) if (sent[name] === undefined) delete filled[name];
  if (sentContext === undefined) delete filled.context;
  return filled;
}
