import { parse, parseAllDocuments } from 'yaml';
import { parseTerraform } from '../support/hcl.js';
import { type Group, Live } from '../support/live.js';
import { PAYLOADS, RAW, SYNTAX } from '../support/payloads.js';
import { svcOnTerminal, withTerminal } from '../support/terminal.js';

const FORMATS = ['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const;
const HOSTILE = [...PAYLOADS, ...SYNTAX];

/** What a payload becomes where the service takes it: in a description, in a tag's key and in its value. */
const fieldsOf = (payload: string) => ({ description: `a${payload}b`, tags: { [`k${payload}`]: `v${payload}w` } });

let live: Live;
/** By payload. */
const names = new Map<string, string>();

beforeAll(async () => {
  live = await Live.start();
  for (const payload of HOSTILE) names.set(payload, (await live.group(fieldsOf(payload))).name);
});
afterAll(() => live.remove());

type Fields = Pick<Group, 'name' | 'description' | 'tags'>;

/** The resources that a text of the format stands for, as another program reads it. */
async function read(format: string, text: string): Promise<Fields[]> {
  if (format.startsWith('json')) return JSON.parse(text).items;
  if (format.startsWith('yaml')) return parse(text).items;
  if (format === 'tf') return (await parseTerraform(text)).map(({ values }) => values as unknown as Fields);
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    const { metadata, spec } = document.toJS();
    return { name: metadata.name, ...spec };
  });
}

it('there are sixty payloads', () => {
  expect([PAYLOADS.length, new Set(PAYLOADS).size]).toEqual([60, 60]);
});

/** Rows have tabs between their cells, and each as many. */
function cellsOf(text: string): string[][] {
  const rows = text
    .trimEnd()
    .split('\n')
    .map((row) => row.split('\t'));
  expect(new Set(rows.map((row) => row.length))).toEqual(new Set([6]));
  return rows;
}

describe('what the service took of sixty payloads, in a pipe', () => {
  it.each(FORMATS)('-o %s: writes no control character raw', async (format) => {
    const text = await live.out(['group', 'get', '--max', '0', '-o', format]);
    expect(PAYLOADS.filter((payload) => text.includes(names.get(payload) ?? '?'))).toHaveLength(60);
    expect(RAW.exec(format === 'text' ? cellsOf(text).flat().join() : text)).toBeNull();
  });

  it.each(['text', 'names'])('-o %s: each resource keeps to its line', async (format) => {
    const lines = (await live.out(['group', 'get', '--max', '0', '-o', format])).trimEnd().split('\n');
    const { items } = (await live.groups.list('?limit=1000')).body;
    expect(lines.map((line) => line.split('\t')[0])).toEqual(items.map(({ name }) => name));
  });

  it.each(['json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd'])(
    '-o %s: read again it is the same',
    async (format) => {
      const items = await read(format, await live.out(['group', 'get', '--max', '0', '-o', format]));
      for (const payload of HOSTILE) {
        expect(items.find(({ name }) => name === names.get(payload))).toMatchObject(fieldsOf(payload));
      }
    },
  );
});

describe('on a terminal', () => {
  for (const format of FORMATS) {
    withTerminal(`-o ${format}: no control character leaves as such`, async () => {
      const screen = await svcOnTerminal(`group get --max 0 --no-color -o ${format}`, live.env);
      expect(PAYLOADS.filter((payload) => screen.includes(names.get(payload) ?? '?'))).toHaveLength(60);
      expect(RAW.exec(screen)).toBeNull();
      expect(screen).toMatch(/code 0\n$/);
    });
  }
});

withTerminal('aligns columns by display cells', async () => {
  const widths = { plain: 5, 東京: 4, '👩‍👩‍👧': 2, 'e\u0301': 1, '🇯🇵': 2, ｆｕｌｌ: 8 };
  const groups: Group[] = [];
  for (const description of Object.keys(widths)) groups.push(await live.group({ description, tags: {} }));
  const names = groups.map(({ name }) => name).join(' ');
  const [, ...lines] = (await svcOnTerminal(`group get ${names} --ts iso --no-color`, live.env)).split('\n');
  const rows = lines.slice(0, groups.length);
  const nameWidth = Math.max(...groups.map(({ name }) => name.length));
  expect(rows).toEqual(
    Object.entries(widths).map(([description, width], index) => {
      const { name = '', created = '' } = groups[index] ?? {};
      return `${name.padEnd(nameWidth)}  ${description}${' '.repeat(11 - width)}  ${created}  links   default  -`;
    }),
  );
});

describe('other commands accept what get writes', () => {
  const patched = ['json', 'yaml', 'json-slim', 'yaml-slim'];

  it.each(patched)('-o %s is accepted by patch and changes nothing', async (format) => {
    for (const payload of SYNTAX.slice(0, 8)) {
      const name = names.get(payload) ?? '';
      const before = (await live.groups.get(name)).body;
      const text = await live.out(['group', 'get', name, '-o', format]);
      await live.out(['group', 'patch', name, '--file', '-'], { input: text });
      expect((await live.groups.get(name)).body).toEqual(before);
    }
  });

  it.each(patched)('-o %s is accepted by create under another name', async (format) => {
    const account = await live.account();
    const terms = HOSTILE.slice(0, 40).map((payload) => ({ op: '=', tag: `k${payload}`, value: `v${payload}` }));
    const memberQuery = { kind: 'user', fetch: 'items', spec: { match: 'any', terms } };
    const tags = Object.fromEntries(HOSTILE.slice(-49).map((payload) => [`k${payload}`, `v${payload}`]));
    const group = await live.group({ ...fieldsOf('\u001b]0;x\u0007'), tags, memberLinks: [account], memberQuery });
    const text = await live.out(['group', 'get', group.name, '-o', format]);
    const name = live.name('again');
    await live.out(['group', 'create', '--file', '-', '--name', name], { input: text });
    const { description, memberLinks, ...again } = (await live.groups.get(name)).body;
    expect([description, memberLinks]).toEqual([group.description, group.memberLinks]);
    expect([again.tags, again.memberQuery]).toEqual([group.tags, group.memberQuery]);
  });
});
