import { readFileSync, writeFileSync } from 'node:fs';
import { Api, type OrgBody } from '../support/api.js';
import { type Mailbox, openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';
import { normalized, Operator } from './support/operator.js';
import { UPDATES } from './transcripts/transcript.js';

/** What a new operator does first, as the README shows it: commands behind `$ `, below each what comes back. */
const README = 'README.md';
const BLOCK = /(?<=\n```console\n)\$ [\s\S]*?(?=```\n)/;
const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

let mailbox: Mailbox;
let service: TestService;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
});
afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

interface Step {
  readonly command: string;
  readonly output: string;
}

const stepsOf = (block: string): Step[] =>
  block
    .split(/^\$ /m)
    .filter(Boolean)
    .map((step) => {
      const end = step.indexOf('\n');
      return { command: step.slice(0, end), output: step.slice(end + 1) };
    });

const textOf = (steps: readonly Step[]): string =>
  steps.map(({ command, output }) => `$ ${command}\n${output}`).join('');

it('the walk-through of the README does what it shows, from the login to the event log of a group', async () => {
  const readme = readFileSync(README, 'utf8');
  const [block = ''] = BLOCK.exec(readme) ?? [];
  const shown = stepsOf(block);
  expect(shown[0]?.command).toContain('svc login');
  expect(shown.at(-1)?.command).toContain('svc group eventlog');

  const { body } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name: 'acme' });
  const operator = new Operator({ SVC_ENDPOINT: service.url, KEY: body.key });
  /** What the README's identifiers are in this run. */
  const ids = new Map<string, string>();
  const done: Step[] = [];
  for (const { command, output } of shown) {
    const typed = command.replace(ID, (id) => ids.get(id) ?? id);
    const CODE = typed.includes('$CODE') ? mailbox.code('ann@example.com') : '';
    const { code, stdout, stderr } = await operator.runOnTerminal(typed, { CODE, NO_COLOR: '1' });
    expect([command, code, stderr]).toEqual([command, 0, '']);
    const [before, now] = [output.match(ID) ?? [], stdout.match(ID) ?? []];
    before.forEach((id, index) => {
      ids.set(id, now[index] ?? id);
    });
    done.push({ command: typed, output: stdout });
  }

  const plain = (text: string) => normalized(text, operator.folder);
  const [before, after] = [plain(block), plain(textOf(done))];
  // What was real before stays, unless it says something else.
  if (UPDATES && after !== before)
    writeFileSync(
      README,
      readme.replace(BLOCK, () => textOf(done)),
    );
  if (!UPDATES) expect(after).toBe(before);
});
