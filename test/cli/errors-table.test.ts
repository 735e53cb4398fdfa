import { readFileSync, writeFileSync } from 'node:fs';
import { type ErrorRow, SECTIONS } from './errors-table.js';
import { normalized, Operator } from './support/operator.js';
import { newClient, openHouse, type TestHouse } from './support/org.js';

const PAGE = 'docs/svc-errors.md';

let house: TestHouse;
let who: Operator;
let org: string;

beforeAll(async () => {
  house = await openHouse();
  const client = await newClient(house);
  org = client.org.name;
  await client.run(['group', 'create', '--name', 'devs']);
  await client.run(['serviceaccount', 'create', '--name', 'ci']);
  const { key } = await client.json<{ key: string }>('serviceaccount', 'add-key', 'ci', '--description', 'x');
  who = new Operator({ ...client.env, CI_KEY: key });
});
afterAll(() => house.close());

const wrong: string[] = [];

/** What it says on standard error, a line each. */
async function said({ command }: ErrorRow): Promise<string[]> {
  const { code, stderr } = await who.run(command);
  if (code === 0 || !/^error: /m.test(stderr)) wrong.push(`${command} is no error: ${code} ${stderr}`);
  // Pointers are for programs, and what svc does not expect is a fault of its own.
  if (/(^|\s)\/\w+(\/\w+)*:|unexpected:/m.test(stderr)) wrong.push(`${command} is not told in plain words: ${stderr}`);
  const lines = normalized(stderr.replaceAll(org, 'acme'), who.folder).trimEnd().split('\n');
  return lines.map((line) => line.replace(/, request [-0-9a-f]+\)/, ')'));
}

test('the page of errors says what svc says', async () => {
  const parts: string[] = [];
  let count = 0;
  for (const [title, rows] of SECTIONS) {
    const lines: string[] = [];
    for (const row of rows) {
      count += 1;
      const cells = [code([row.command]), code(await said(row)), row.why, row.next];
      lines.push(`| ${cells.join(' | ')} |`);
    }
    parts.push(
      `## ${title}\n\n| command | what svc says | why | what next |\n|---|---|---|---|\n${lines.join('\n')}\n`,
    );
  }
  const page = `# Errors of svc

What \`svc\` says when something goes wrong, why, and what to do next. The test of this page runs each command, in the organization
\`acme\` with its group \`devs\` and its service account \`ci\`, whose key is \`$CI_KEY\`. After the code of an error comes the
identifier of the request, which is left out here; the service's log has it, too. \`svc help exit-codes\` explains exit codes, and
[errors.md](errors.md) the codes of the service.

${parts.join('\n')}`;
  if (process.env.UPDATE_TRANSCRIPTS === '1') writeFileSync(PAGE, page);
  else expect(readFileSync(PAGE, 'utf8')).toBe(page);
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThanOrEqual(50);
});

/** Text of a table's cell, whatever is in it. */
function code(lines: readonly string[]): string {
  const safe = (line: string) => line.replace(/[&<>|`*_\\[\]]/g, (char) => `&#${char.charCodeAt(0)};`);
  return lines.map((line) => `<code>${safe(line.trim())}</code>`).join('<br>');
}
