import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FULL, tell } from '../../hardening/scale.js';
import type { Org } from '../../support/api.js';
import { freePort } from '../../support/containers.js';
import { Link } from '../../support/link.js';
import { randomFor } from '../../support/random.js';
import { withTool } from '../../support/tools.js';
import { Receiver } from './receiver.js';
import { Shipper } from './shipper.js';

const LINES = FULL ? 10_000 : 1_000;
const KILLS = FULL ? 5 : 2;
const LONGEST_MS = 400;

const infra = (path: string) => new URL(`../../../infra/shippers/${path}`, import.meta.url);
const random = randomFor('shippers');

/** How a shipper of `infra/shippers` is started with a folder of its own. */
type Start = (folder: string) => { commands: string[][]; env: Record<string, string> };

const SYSLOG_NG: Start = (folder) => {
  const own = ['-R', 'persist', '-p', 'pid', '-c', 'ctl'].map((one) => (one.startsWith('-') ? one : join(folder, one)));
  const config = fileURLToPath(infra('syslog-ng/control.conf'));
  return { commands: [['syslog-ng', '-F', '-e', '--no-caps', '-f', config, ...own]], env: { BUFFER_DIR: folder } };
};

const RSYSLOG: Start = (folder) => {
  const [config, ship] = [fileURLToPath(infra('rsyslog/control.conf')), fileURLToPath(infra('rsyslog/ship.py'))];
  const spool = join(folder, 'spool');
  mkdirSync(spool, { recursive: true });
  const rsyslogd = ['rsyslogd', '-n', '-f', config, '-i', join(folder, 'pid')];
  return { commands: [rsyslogd, ['python3', ship]], env: { WORK_DIR: folder, SPOOL_DIR: spool } };
};

const folder = mkdtempSync(join(tmpdir(), 'control-shipper-'));
let receiver: Receiver;
let link: Link;
let shipped = 0;

beforeAll(async () => {
  receiver = await Receiver.start();
  link = await Link.start(new URL(receiver.url).host);
  link.lostEvery = 2;
  link.set('lossy');
  receiver.through = `http://${link.address}`;
});

afterAll(async () => {
  await link?.close();
  await receiver?.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe.each([
  { name: 'syslog-ng', tool: 'syslog-ng', probe: '--version', start: SYSLOG_NG, refused: /status_code='401'/ },
  { name: 'rsyslog', tool: 'rsyslogd', probe: '-v', start: RSYSLOG, refused: /not recorded.*401/ },
] as const)('$name', ({ name, tool, probe, start, refused }) => {
  withTool(tool, probe)('as infra/shippers configures it', () => {
    let shipper: Shipper | undefined;

    afterEach(() => shipper?.kill());

    /** A new file of lines, and how the shipper of it is started with a key. */
    async function shipping(): Promise<{ org: Org; file: string; begin: (key?: string) => void }> {
      shipped += 1;
      const org = await receiver.org(`org-${shipped}`, infra(`${name}/context.json`));
      const own = join(folder, String(shipped));
      mkdirSync(own);
      const file = join(own, 'audit.log');
      writeFileSync(file, '');
      const port = String(await freePort());
      const begin = (key = org.key) => {
        const { commands, env } = start(own);
        const control = { CONTROL_INGEST_URL: receiver.ingestUrl(org), CONTROL_KEY: key };
        shipper = new Shipper(commands, { ...env, ...control, AUDIT_FILE: file, SYSLOG_PORT: port });
      };
      return { org, file, begin };
    }

    test(`ships ${LINES} lines, each once, while the service is killed ${KILLS} times and answers are lost`, async () => {
      const { org, file, begin } = await shipping();
      const lostBefore = link.lost;
      begin();
      const sent = Array.from({ length: LINES }, (_, at) => `line ${at} of "the audit" \\ ünïcode\t{}`);
      const rounds = KILLS + 1;
      for (let round = 0; round < rounds; round += 1) {
        const lines = sent.slice((round * LINES) / rounds, ((round + 1) * LINES) / rounds);
        appendFileSync(file, `${lines.join('\n')}\n`);
        if (round === KILLS) break;
        await delay(random() * LONGEST_MS);
        await receiver.kill();
        await receiver.start();
      }
      // Both send in order: once the last is there, nothing of what is before it waits.
      appendFileSync(file, 'the last\n');
      const recorded = await receiver.messagesUntil(org, 'the last');
      expect(recorded.toSorted()).toEqual([...sent, 'the last'].toSorted());
      const lost = link.lost - lostBefore;
      expect(lost).toBeGreaterThan(0);
      tell(`${name}: ${recorded.length} events of ${LINES + 1} lines, ${KILLS} kills, ${lost} lost answers`);
    });

    test('keeps what is refused, over a kill of its own, until it has the right key', async () => {
      const { org, file, begin } = await shipping();
      appendFileSync(file, 'first\nsecond\n');
      begin(`${org.key}x`);
      await shipper?.says(refused);
      await shipper?.kill();
      appendFileSync(file, 'third\n');
      begin();
      expect((await receiver.messagesUntil(org, 'third')).toSorted()).toEqual(['first', 'second', 'third']);
    });
  });
});
