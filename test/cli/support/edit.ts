import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScriptedEditor } from './editor.js';
import { answer, type ScriptedServer, type SeenRequest, scriptedServer } from './scripted-server.js';
import { type Result, svc, temporaryFolder } from './svc.js';
import { svcOnTerminal } from './terminal.js';

export const DEVS = {
  kind: 'group',
  id: 'g-1',
  name: 'devs',
  description: 'who writes it',
  tags: { team: 'core', tier: '1' },
  memberLinks: ['/org/acme/user/ann@example.com', '/org/acme/serviceaccount/ci'],
  origin: 'default',
  version: 3,
  created: '2024-01-01T00:00:00.000Z',
  lastModified: '2024-01-01T00:00:00.000Z',
  links: [{ rel: 'self', href: '/org/acme/group/devs' }],
};
export const REFUSAL = {
  status: 400,
  code: 'validation_failed',
  message: '/tags/team must be a string',
  id: 'r-1',
  details: { fields: [{ pointer: '/tags/team', reason: 'must be a string' }] },
};
export const STALE = { status: 412, code: 'precondition_failed', message: 'the resource is at version 4' };

export type Refuse = (change: SeenRequest, index: number) => object | undefined;

interface Service {
  /** Which change it does not take. */
  readonly refuse?: Refuse;
  /** The group when it is first read. */
  readonly group?: string;
  /** And afterwards. */
  readonly newest?: string;
  /** To answer no change. */
  readonly hangs?: boolean;
}

/** A service with one group. */
export async function serve(service: Service = {}) {
  const { refuse = () => undefined, group = JSON.stringify(DEVS), newest = group, hangs = false } = service;
  let changes = 0;
  let reads = 0;
  const server = await scriptedServer((request, response) => {
    if (request.method === 'GET') return answer(response, 200, reads++ === 0 ? group : newest);
    if (hangs) return;
    const refusal = refuse(request, changes++);
    if (!refusal) return answer(response, 200, { ...DEVS, version: 4 });
    answer(response, (refusal as { status: number }).status, refusal);
  });
  const tmp = join(temporaryFolder(), 'tmp');
  mkdirSync(tmp);
  return { server, tmp, env: { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token', TMPDIR: tmp } };
}

export type Served = Awaited<ReturnType<typeof serve>>;

export const edit = ({ env }: Served, { program }: ScriptedEditor, ...more: string[]): Promise<Result> =>
  svc(['group', 'edit', 'devs', '-o', 'names', ...more], { env: { ...env, EDITOR: program } });

/** The same on a terminal; `after` goes on where the command line ends. The result is what the screen got. */
export const editOnTerminal = (
  { env }: Served,
  { program }: ScriptedEditor,
  more = '',
  after = '',
  keys = '',
): Promise<string> => svcOnTerminal(`group edit devs -o names ${more} ${after}`, { ...env, EDITOR: program }, keys);

export const changesOf = ({ seen }: ScriptedServer) =>
  seen
    .filter(({ method }) => method !== 'GET')
    .map(({ method, url, headers, body }) => ({ method, url, version: headers['if-match'], body: JSON.parse(body) }));

/** The text that was kept: its place is told on standard error. */
export function keptText({ stderr }: { stderr: string }): string {
  const path = /the text is kept in (\S+)/.exec(stderr)?.[1] ?? '';
  return readFileSync(path, 'utf8');
}

export const withoutComments = (text: string) => text.replaceAll(/^#.*\n/gm, '');
