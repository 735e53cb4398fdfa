import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let house: TestHouse;
let client: Client;

const LONG = 'the role may not restart what belongs to another team '.repeat(8);
const EVENTS = [
  {
    resource: { type: 'workload', name: 'web' },
    action: { type: 'restart' },
    result: { status: 'OK', message: 'done' },
  },
  { resource: { name: 'db' }, action: { type: 'drop' }, result: { status: 'DENIED', message: LONG } },
  { resource: { type: 'pod', id: 'p-1' }, result: { status: '201' }, subject: { email: 'ann@example.com' } },
  { resource: { name: 'x' }, result: { status: 'pending' } },
  { resource: { name: 'no result' } },
  {
    resource: { type: '資源'.repeat(30), name: 'n'.repeat(90) },
    action: { type: '\u202eevil' },
    result: { status: 'FAILED', message: '\u001b[31mred\u001b[0m\n2030-01-01' },
    subject: { name: '漢字'.repeat(40) },
  },
];

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  const items = EVENTS.map((event, at) => ({ ...event, eventTime: `2024-05-0${1 + (at >> 1)}T1${at}:00:00Z` }));
  const { body, text } = await client.org.bulk(items, { context: 'app' });
  if (body.succeeded !== EVENTS.length) throw new Error(text);
});
afterAll(() => house.close());

async function onTerminal(args: string, columns: number, env: Record<string, string> = {}): Promise<string[]> {
  const screen = await svcOnTerminal(args, { ...client.env, ...env }, '', 'Key: ', columns);
  return screen.split('\n').slice(0, -2);
}

const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters);

describe('a list of events on a terminal', () => {
  withTerminal.each([80, 200])('fits %d columns, whatever events say', async (columns) => {
    for (const args of ['audit list', 'audit list --ts local', 'audit list --ts iso', 'audit tail -n 20']) {
      const lines = plain(await onTerminal(args, columns));
      expect(lines.length).toBeGreaterThan(2);
      expect(lines.filter((line) => stringWidth(line) > columns)).toEqual([]);
    }
  });

  withTerminal('names days, signs of results, and below the row what is not good', async () => {
    const lines = plain(await onTerminal('audit list --context app --ts local', 80));
    const days = lines.filter((line) => /^\d{4}-\d\d-\d\d$/.test(line));
    expect(days).toEqual(['2024-05-03', '2024-05-02', '2024-05-01']);
    const rowOf = (text: string) => lines.findIndex((line) => line.includes(text));
    expect(lines[rowOf('workload/web')]).toMatch(/^10:00:00 {2}✓ {2}restart +workload\/web .* app +[0-9a-f]{8}$/);
    expect(lines[rowOf('pod/p-1')]).toMatch(/^12:00:00 {2}✓ {2}- +pod\/p-1 +\*ann@/);
    expect(lines[rowOf(' no result')]).toMatch(/^14:00:00 {5}- /);
    expect(lines[rowOf(' x ')]).toMatch(/ • /);
    expect(lines[rowOf(' x ') + 1]).toBe('      pending');
    expect(lines[rowOf(' db ')]).toMatch(/ ✗ {2}drop /);
    const below = lines.slice(rowOf(' db ') + 1, rowOf(' db ') + 4);
    expect(below[0]).toMatch(/^ {6}DENIED: the role may not/);
    expect(below[2]).toMatch(/…$/);
    expect(lines[rowOf('FAILED')]).toBe('      FAILED: \\u001b[31mred\\u001b[0m\\n2030-01-01');
    expect(lines.filter((line) => line.includes('done'))).toEqual([]);
  });

  withTerminal('marks what the service itself says, as no publisher can', async () => {
    const lines = plain(await onTerminal('audit list --context svc', 80));
    expect(lines.filter((line) => line.includes(' [svc] '))).toHaveLength(lines.length - 2);
    const refused = await client.run(['audit', 'publish', '--context', '[svc]', '--resource-name', 'a']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('context')]);
  });

  withTerminal('is plain text on a terminal that is dumb, or without colours', async () => {
    for (const env of [{ TERM: 'dumb' }, { NO_COLOR: '1' }]) {
      const lines = await onTerminal('audit list', 80, env);
      expect(lines).toEqual(plain(lines));
    }
  });

  withTerminal('keeps its columns while it is followed', async () => {
    let hasEnded = false;
    const following = onTerminal('audit tail -f -n 1 --max 4 --context steady', 80).finally(() => {
      hasEnded = true;
    });
    for (let length = 1; !hasEnded; length += 15) {
      await client.org.publish({ resource: { type: 'workload', name: 'x'.repeat(length) } }, { context: 'steady' });
      await delay(50);
    }
    const rows = plain(await following).filter((line) => line.includes('workload/'));
    expect(rows).toHaveLength(4);
    expect(new Set(rows.map((row) => row.indexOf('workload/'))).size).toBe(1);
    expect(new Set(rows.map((row) => row.indexOf('steady'))).size).toBe(1);
  });

  withTerminal('has all columns and whole values with --wide', async () => {
    const lines = plain(await onTerminal('audit list --context app --wide', 80));
    expect(lines[0]).toMatch(/^TIME +ACTION +RESULT +RESOURCE TYPE +RESOURCE +WHO +FROM +CONTEXT +ID$/);
    expect(lines.join('\n')).toContain((await client.names('audit', 'list', '--context', 'app'))[0] ?? '-');
  });
});

describe('a list of events in a pipe', () => {
  it('has a row an event, whole values, and tabs between them', async () => {
    const { stdout } = await client.run(['audit', 'list', '--context', 'app']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split('\t'));
    expect(rows.map((row) => row.length)).toEqual(EVENTS.map(() => 9));
    const [first] = rows;
    expect(first?.[4]).toBe('n'.repeat(90));
    expect(rows.at(-1)?.slice(0, 5)).toEqual(['2024-05-01T10:00:00.000Z', 'restart', 'OK', 'workload', 'web']);
    expect(rows.at(-1)?.[7]).toBe('app');
  });

  it('is tab-separated for resources, too', async () => {
    const { stdout } = await client.run(['serviceaccount', 'list']);
    expect(stdout.split('\n')[0]?.split('\t').length).toBeGreaterThan(2);
    expect(stdout).not.toContain('  ');
  });
});
