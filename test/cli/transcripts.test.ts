import { FAMILIES } from '../../src/cli/commands/families.js';
import { Api, type OrgBody } from '../support/api.js';
import { openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';
import { Operator } from './support/operator.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { withTerminal } from './support/terminal.js';
import { entriesOf, perform, readTranscript, UPDATES, writeTranscript } from './transcripts/transcript.js';

const FILES = [
  'apply',
  'audit',
  'domain',
  'group',
  'invitation',
  'org',
  'policy',
  'profile',
  'serviceaccount',
  'user',
  'usage',
  'whoami',
];
/** These show what the service as a whole has: they get one that nobody else uses. */
const ALONE = ['maintenance'];
/** What is the same on both stores. */
const ON_BOTH_STORES = ['group', 'user'];
const PERFORMED = process.env.TEST_STORE === 'cluster' ? ON_BOTH_STORES : [...FILES, ...ALONE];

let made = 0;
const removals: (() => Promise<void>)[] = [closeServers];
afterAll(async () => {
  for (const remove of removals.toReversed()) await remove();
});

interface Stage {
  readonly service: TestService;
  /** Where the codes of invitations are to be had. */
  readonly letters: string;
}

async function open(): Promise<Stage> {
  const mailbox = await openMailbox();
  // Cuts would come at any time: only the proofs of `test/cli/verify` need them.
  const service = await startService({ env: { ...mailbox.env, CONTROL_TLOG_INTERVAL_MS: '3600000' } });
  removals.push(mailbox.close, () => service.remove());
  const { url: letters } = await scriptedServer(({ url }, response) => {
    const [, org = '', email = ''] = decodeURIComponent(url).split('/');
    const letter = mailbox.mails.findLast(({ to, text }) => to.includes(email) && text.includes(`accept ${org}/`));
    const [, ref = '', code = ''] = /accept (\S+) --code (\S+)/.exec(letter?.text ?? '') ?? [];
    answer(response, 200, { ref, code });
  });
  return { service, letters };
}

/** Somebody with an organization of their own; its name is as long as `acme`, which stands for it. */
async function operator({ service, letters }: Stage): Promise<{ who: Operator; org: string }> {
  made += 1;
  const name = `q${String(made).padStart(3, '0')}`;
  const { body } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name });
  const who = new Operator({
    ...{ SVC_ENDPOINT: service.url, SVC_ORG: name, SVC_TOKEN: body.key },
    ...{ ROOT_KEY: service.rootKey, LETTERS: letters },
  });
  const read = 'fetch(process.argv[1]).then((a) => a.json()).then((letter) => console.log(letter[process.argv[2]]))';
  // `letter ref ann@example.com`, `letter code ann@example.com`: what the mail to her says.
  who.program('letter', `exec '${process.execPath}' -e '${read}' "$LETTERS/$SVC_ORG/$2" "$1"`);
  return { who, org: name };
}

describe('what svc writes, in a pipe and on a terminal', () => {
  let shared: Stage;
  beforeAll(async () => {
    shared = await open();
  });

  for (const name of PERFORMED) {
    withTerminal(name, async () => {
      const stage = () => (ALONE.includes(name) ? open() : shared);
      const player = async () => operator(await stage());
      const before = readTranscript(name);
      const after = await perform(entriesOf(before), [await player(), await player(), await player()]);
      if (UPDATES) writeTranscript(name, after);
      else expect(after).toBe(before);
    });
  }
});

it('every command has a transcript', async () => {
  const commands = [...FILES, ...ALONE].flatMap((name) =>
    entriesOf(readTranscript(name)).map(({ command }) => command),
  );
  const families = await Promise.all([...FAMILIES.values()].map((family) => family.load()));
  const paths = families.flat().map(({ paths }) => paths?.[0]?.join(' ') ?? '');
  const missing = paths.filter((path) => !commands.some((command) => command.includes(`svc ${path}`)));
  expect(missing).toEqual([]);
});
