import { FULL } from '../../hardening/scale.js';
import { answer, closeServers, type SeenRequest, scriptedServer } from '../support/scripted-server.js';
import { svc } from '../support/svc.js';
import { Tmux, withTmux } from '../support/tmux.js';

/** What the service is at the moment; a test changes it. */
interface Service {
  events: object[];
  /** Those that came after the list was read, for who follows. */
  received: object[];
  down: boolean;
  refusal: { status: number; code: string; message: string } | undefined;
  /** Pages take so long. */
  delayMs: number;
}

const CRASHING = `data:text/javascript,${encodeURIComponent('process.on("SIGUSR2", () => { throw new Error("crashed here") })')}`;

const PAGE = 200;
let service: Service;
let seen: SeenRequest[];
let env: Record<string, string>;
const terminals: Tmux[] = [];

const event = (n: number, more: object = {}) => ({
  id: `01890a5d-ac96-774b-bcce-${String(n).padStart(12, '0')}`,
  eventTime: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
  resource: { type: 'order', name: `o${n}` },
  action: { type: n % 2 ? 'create' : 'ship' },
  subject: { email: 'ann@example.com' },
  result: n % 3 ? { status: 'OK' } : { status: 'DENIED', message: `may not ${n}` },
  context: { name: 'shop' },
  ...more,
});
const events = (count: number) => Array.from({ length: count }, (_, index) => event(count - index));

const page = (items: readonly object[], links: Record<string, string>) => ({
  ...{ kind: 'queryresult', itemKind: 'auditevent', items },
  links: Object.entries(links).map(([rel, href]) => ({ rel, href })),
});

/** One page of what is asked for: of the order received, or of the list, newest first. */
function pageFor(url: string): object {
  const { searchParams } = new URL(url, 'http://x');
  const at = Number(searchParams.get('cursor') ?? 0);
  if (searchParams.get('order') === 'received') {
    const items = service.received.slice(at);
    return page(searchParams.has('last') ? [] : items, {
      resume: `/audit/org/acme?order=received&cursor=${searchParams.has('last') ? service.received.length : at + items.length}`,
    });
  }
  const action = searchParams.get('actionType');
  const all = service.events.filter((one) => !action || (one as { action: { type: string } }).action.type === action);
  const next = new URLSearchParams(searchParams);
  next.set('cursor', `${at + PAGE}`);
  return page(all.slice(at, at + PAGE), at + PAGE < all.length ? { next: `/audit/org/acme?${next}` } : {});
}

beforeAll(async () => {
  const server = await scriptedServer((request, response) => {
    if (service.down) return void response.destroy();
    if (service.refusal) return answer(response, service.refusal.status, service.refusal);
    setTimeout(() => answer(response, 200, pageFor(request.url)), service.delayMs).unref();
  });
  seen = server.seen;
  env = { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
});
afterAll(closeServers);
beforeEach(() => {
  service = { events: events(450), received: [], down: false, refusal: undefined, delayMs: 0 };
  seen.length = 0;
});
afterEach(() => {
  for (const terminal of terminals.splice(0)) terminal.close();
});

/** The viewer in a terminal, with its first page. */
async function browse(
  args = '',
  [columns, rows]: readonly [number, number] = [80, 24],
  more: Record<string, string> = {},
) {
  const tmux = new Tmux(columns, rows, { ...env, ...more });
  terminals.push(tmux);
  await tmux.until('$>');
  tmux.svc(`audit browse ${args}`);
  await tmux.until('[service]');
  return tmux;
}

/** The line of the cursor. */
const cursor = (screen: string) => /^> .*$/m.exec(screen)?.[0] ?? '';

async function quits(tmux: Tmux, key = 'q'): Promise<number> {
  tmux.press(key);
  return tmux.restored();
}

describe('svc audit browse on a terminal', () => {
  withTmux.each([
    [40, 10],
    [80, 24],
    [200, 50],
  ] as const)('1: shows the list at %d x %d, and q restores the terminal', async (...size) => {
    const tmux = await browse('', size);
    expect(tmux.modes()).toEqual({ alternate: true, cursor: false });
    const screen = tmux.screen();
    for (const text of ['svc audit browse  acme', 'TIME', 'order/o450', 'ship', '[service] all events'])
      expect(screen).toContain(text);
    expect(cursor(screen)).toContain('order/o450');
    expect(await quits(tmux)).toBe(0);
    expect(tmux.screen()).not.toContain('order/');
  });

  withTmux('2: moves by event, by screen and to both ends', async () => {
    const tmux = await browse();
    const at = (n: number) => tmux.until((screen) => cursor(screen).includes(`order/o${n} `), `o${n}`);
    tmux.press('Down', 'j');
    await at(448);
    tmux.press('Up');
    await at(449);
    tmux.press('PageDown');
    await at(431);
    tmux.press('End');
    await at(1);
    expect(tmux.screen()).toContain('450 loaded, no more');
    tmux.press('g');
    await at(450);
  });

  withTmux('3: shows all of an event and its difference, and goes back', async () => {
    service.events = [
      event(2, { action: { type: 'edit', data: { before: { a: 'old' }, after: { a: 'new' } } } }),
      event(1),
    ];
    const tmux = await browse();
    tmux.press('Enter');
    await tmux.until('000000000002');
    expect(tmux.screen()).toContain('ann@example.com');
    tmux.press('d');
    await tmux.until(/- a: "old"\s+\+ a: "new"/);
    tmux.press('n');
    await tmux.until('no before and after');
    tmux.press('Escape');
    await tmux.until((screen) => cursor(screen).includes('order/o1 '));
  });

  withTmux('4: filters what is loaded as one types, without a call', async () => {
    const tmux = await browse();
    const calls = seen.length;
    tmux.type('/').type('denied o45');
    const screen = await tmux.until('[loaded] denied o45: 1 of 200 loaded');
    expect(screen.match(/order\//g)).toHaveLength(1);
    expect(seen).toHaveLength(calls);
    tmux.press('Escape');
    await tmux.until('[service] all events: 200 loaded');
  });

  withTmux('5: Enter asks the service, and Escape asks it for all again', async () => {
    const tmux = await browse();
    tmux.type('/').type('action:SHIP').press('Enter');
    await tmux.until('[service] action:ship: 200 loaded, more exist');
    expect(seen.at(-1)?.url).toContain('actionType=ship');
    tmux.press('Escape');
    await tmux.until('[service] all events');
  });

  withTmux('6: follows: new events come on top, each once, and a reader below stays where he is', async () => {
    const tmux = await browse();
    tmux.press('f');
    await tmux.until('following');
    service.received.push(event(450), event(500));
    await tmux.until((screen) => cursor(screen).includes('order/o500'));
    tmux.press('Down', 'Down');
    service.received.push(event(501));
    expect(cursor(await tmux.until('4/202'))).toContain('order/o449');
    const screen = tmux.press('Home') && (await tmux.until('order/o501'));
    expect(screen.match(/order\/o450 /g)).toHaveLength(1);
    tmux.press('f');
    await tmux.until((text) => !text.includes('following'));
  });

  withTmux('7: following starts where the list was read, however late f is pressed', async () => {
    const tmux = await browse();
    service.received.push(event(600), event(601));
    tmux.press('f');
    const screen = await tmux.until('order/o601');
    expect(screen).toContain('order/o600');
  });

  withTmux(
    '8: a service that goes down is reported, what is shown stays, and following goes on when it is back',
    async () => {
      const tmux = await browse();
      tmux.press('f');
      await tmux.until('following');
      service.down = true;
      await tmux.until('waiting for the service');
      expect(tmux.screen()).toContain('order/o450');
      service.received.push(event(700));
      service.down = false;
      await tmux.until((screen) => screen.includes('order/o700') && !screen.includes('waiting'));
      expect(await quits(tmux)).toBe(0);
    },
  );

  withTmux('9: a page that cannot be read is reported, and r tries again', async () => {
    const tmux = await browse();
    service.refusal = { status: 500, code: 'internal', message: 'something broke' };
    tmux.press('End');
    await tmux.until('something broke');
    expect(tmux.screen()).toContain('200 loaded');
    service.refusal = undefined;
    tmux.press('r');
    await tmux.until((screen) => screen.includes('[service]') && !screen.includes('something broke'));
  });

  withTmux('10: 401 in the middle says so, and leaves what is shown', async () => {
    const tmux = await browse();
    service.refusal = { status: 401, code: 'unauthenticated', message: 'the key is unknown' };
    tmux.press('f');
    const screen = await tmux.until('the key is unknown');
    expect(screen).toContain('order/o450');
    expect(screen).not.toContain('following');
    expect(await quits(tmux)).toBe(0);
  });

  withTmux('11: 401 at the start is an error like any other, and the screen is never taken', async () => {
    service.refusal = { status: 401, code: 'unauthenticated', message: 'the key is unknown' };
    const tmux = new Tmux(80, 24, env);
    terminals.push(tmux);
    tmux.svc('audit browse');
    expect(await tmux.restored()).toBe(4);
    expect(tmux.screen()).toContain('the key is unknown');
  });

  withTmux('12: an empty organization says so, and shows what comes', async () => {
    service.events = [];
    const tmux = await browse();
    expect(tmux.screen()).toContain('No events yet');
    tmux.press('Down', 'Enter', 'd', 'End', 'f');
    service.received.push(event(1));
    await tmux.until((screen) => cursor(screen).includes('order/o1 '));
  });

  withTmux('13: hostile texts are shown escaped, and every line stays in its place', async () => {
    const text = '\u001b[2J\u001b]0;owned\u0007\r\n\t日本語👩‍👩‍👧e\u0301\u202e';
    const hostile = { resource: { type: text, name: text }, subject: { email: text }, action: { type: text } };
    service.events = [event(3), event(2, { ...hostile, result: { status: text, message: text } }), event(1)];
    const tmux = await browse('', [120, 24]);
    const lines = tmux.screen().split('\n');
    expect([lines[2], lines[4]].map((line) => /order\/o\d/.exec(line ?? '')?.[0])).toEqual(['order/o3', 'order/o1']);
    expect(lines[3]).toContain('\\u001b[2J');
    tmux.press('Down', 'Enter');
    await tmux.until('u001b]0;owned');
    expect(await quits(tmux, 'C-c')).toBe(130);
  });

  withTmux('14: a message of 1 MB can be opened and read to its end', async () => {
    const message = `${'long '.repeat(200_000)}the end`;
    service.events = [event(1, { result: { status: 'DENIED', message } })];
    const tmux = await browse();
    expect(tmux.screen()).toContain('DENIED: long long');
    tmux.press('Enter');
    await tmux.until('lines 1-19 of');
    tmux.press('End');
    await tmux.until('the end');
  });

  withTmux('15: another size is drawn anew, also one that is too small', async () => {
    const tmux = await browse();
    tmux.resize(40, 10);
    await tmux.until((screen) => screen.includes('[service]') && !screen.includes('WHO'));
    tmux.resize(20, 5);
    await tmux.until('too small');
    tmux.resize(200, 50);
    const screen = await tmux.until('MESSAGE');
    expect(screen).toContain('order/o420');
    expect(await quits(tmux)).toBe(0);
  });

  withTmux('16: Ctrl-C restores the terminal and ends with 130, also while a page is on its way', async () => {
    const tmux = await browse();
    service.delayMs = 60_000;
    tmux.press('End');
    await tmux.until('loading...');
    expect(await quits(tmux, 'C-c')).toBe(130);
  });

  withTmux('17: Ctrl-Z gives the terminal back, and fg comes back to the same place', async () => {
    const tmux = await browse();
    tmux.press('Down', 'Down');
    await tmux.until((screen) => cursor(screen).includes('o448'));
    tmux.press('C-z');
    await tmux.until('Stopped');
    expect(tmux.modes()).toEqual({ alternate: false, cursor: true });
    tmux.type('fg').press('Enter');
    await tmux.until((screen) => cursor(screen).includes('o448'));
    tmux.press('Down');
    await tmux.until((screen) => cursor(screen).includes('o447'));
    tmux.press('q');
    await tmux.until('$>');
    expect(tmux.modes()).toEqual({ alternate: false, cursor: true });
  });

  withTmux.each(['TERM', 'HUP', 'QUIT', 'INT'])('18: SIG%s restores the terminal', async (signal) => {
    const tmux = await browse();
    process.kill(tmux.child(), `SIG${signal}`);
    expect(await tmux.restored()).toBe({ TERM: 143, HUP: 129, QUIT: 131, INT: 130 }[signal]);
  });

  withTmux('19: a crash restores the terminal and shows what happened', async () => {
    const tmux = await browse('', [80, 24], { NODE_OPTIONS: `--import=${CRASHING}` });
    process.kill(tmux.child(), 'SIGUSR2');
    expect(await tmux.restored()).not.toBe(0);
    expect(tmux.screen()).toContain('crashed here');
  });

  withTmux('20: reads many events by need, in bounded memory', async () => {
    const many = FULL ? 100_000 : 10_000;
    service.events = events(many);
    const tmux = await browse('', [80, 24], { NODE_OPTIONS: '--max-old-space-size=64' });
    expect(seen).toHaveLength(2);
    tmux.press('End');
    await tmux.until((screen) => cursor(screen).includes('order/o1 '), 'the last event', 90_000);
    expect(seen).toHaveLength(many / PAGE + 1);
    tmux.press('Home');
    await tmux.until((screen) => cursor(screen).includes(`order/o${many} `));
    expect(await quits(tmux)).toBe(0);
  });

  withTmux('21: shows the keys, and takes pasted text for text', async () => {
    const tmux = await browse();
    tmux.type('?');
    await tmux.until('Ctrl-Z');
    tmux.press('Escape');
    await tmux.until('svc audit browse  acme');
    tmux.paste('q');
    await tmux.until('press / before');
    tmux.type('/');
    tmux.paste('o450\nq');
    await tmux.until('/o450 q_');
  });

  withTmux('22: obeys NO_COLOR, and paints otherwise', async () => {
    const [plain, coloured] = [await browse('', [80, 24], { NO_COLOR: '1' }), await browse()];
    expect(plain.painted()).not.toContain('\u001b[');
    expect(coloured.painted()).toContain('\u001b[');
    expect(cursor(plain.screen())).toContain('order/o450');
  });
});

describe('svc audit browse without a terminal', () => {
  it('is a usage error that names svc audit list', async () => {
    const { code, stderr } = await svc(['audit', 'browse'], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('svc audit list')]);
    expect(seen).toHaveLength(0);
  });

  withTmux('TERM=dumb, --max and --debug are usage errors, too', async () => {
    const tmux = new Tmux(100, 24, env);
    terminals.push(tmux);
    for (const [before, args] of [
      ['TERM=dumb', ''],
      ['', '--max 5'],
      ['', '--debug'],
      ['', '-o json'],
    ] as const) {
      tmux.svc(`audit browse ${args}`, before);
      expect(await tmux.restored()).toBe(2);
    }
  });
});
