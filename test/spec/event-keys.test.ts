import { setTimeout as delay } from 'node:timers/promises';
import { FormerEvents, formerEventId, keyedEventId } from '../../src/commands/event-keys.js';

const SCOPE = { org: 'acme', contextName: 'app' };
const CI = '/org/acme/serviceaccount/ci';
const by = (link: string, keyId = 'k') => ({ ...SCOPE, publisher: { link, keyId, remoteIp: '::1' } });

const event = (publisher?: object) => ({ source: JSON.stringify({ context: { ...SCOPE, publisher } }) });
const FORMER = event();
const NEW = event({ keyId: 'root', remoteIp: '::1' });

/** A read model with these events, by identifier, and this oldest one. */
class Reader {
  reads = 0;
  atOnce = 0;
  most = 0;

  constructor(
    public oldest: typeof FORMER | undefined,
    private readonly events: Readonly<Record<string, typeof FORMER>> = {},
    private readonly answers: () => Promise<unknown> = async () => undefined,
  ) {}

  async get(_kind: string, _org: string, id: string): Promise<typeof FORMER | undefined> {
    this.atOnce += 1;
    this.most = Math.max(this.most, this.atOnce);
    await this.asked();
    this.atOnce -= 1;
    return this.events[id];
  }

  async search(): Promise<{ items: (typeof FORMER)[] }> {
    await this.asked();
    return { items: this.oldest ? [this.oldest] : [] };
  }

  private async asked(): Promise<void> {
    this.reads += 1;
    await this.answers();
  }
}

const id = (key: string) => formerEventId(SCOPE, key);

describe('the identifier of a keyed event', () => {
  it('is one for a principal, whichever key it uses, and another for each context, principal and key', () => {
    expect(keyedEventId(by(CI, 'first'), 'a')).toBe(keyedEventId(by(CI, 'second'), 'a'));
    const ids = [
      keyedEventId(by(CI), 'a'),
      keyedEventId(by(`${CI}2`), 'a'),
      keyedEventId(by(CI), 'b'),
      keyedEventId({ ...by(CI), contextName: 'other' }, 'a'),
      keyedEventId({ ...by(CI), org: 'globex' }, 'a'),
      formerEventId(SCOPE, 'a'),
      formerEventId(SCOPE, `${CI}a`),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('events from before keys belonged to publishers', () => {
  it('are found by their keys, and an event with a publisher is none of them', async () => {
    const former = new FormerEvents(new Reader(FORMER, { [id('a')]: FORMER, [id('b')]: NEW }));
    expect([...(await former.among(SCOPE, ['a', 'b', 'c']))]).toEqual(['a']);
  });

  it('are not looked for again in an organization that has none', async () => {
    const reader = new Reader(NEW);
    const former = new FormerEvents(reader);
    for (let round = 0; round < 3; round += 1) expect((await former.among(SCOPE, ['a'])).size).toBe(0);
    expect(reader.reads).toBe(1);
  });

  it('are looked for while the read model shows no event of the organization yet', async () => {
    const reader = new Reader(undefined, { [id('a')]: FORMER });
    const former = new FormerEvents(reader);
    expect((await former.among(SCOPE, ['a'])).size).toBe(0);
    reader.oldest = FORMER;
    expect([...(await former.among(SCOPE, ['a']))]).toEqual(['a']);
  });

  it('are looked up once for each key of a bulk, 20 at once', async () => {
    const keys = Array.from({ length: 500 }, (_, n) => `key ${n % 250}`);
    const reader = new Reader(FORMER, {}, () => delay(0));
    await new FormerEvents(reader).among(SCOPE, keys);
    expect([reader.reads, reader.most]).toEqual([251, 20]);
  });

  it('keep nothing from being recorded while the read model fails or does not answer', async () => {
    const failing = new Reader(FORMER, {}, () => Promise.reject(new Error('away')));
    expect((await new FormerEvents(failing).among(SCOPE, ['a'])).size).toBe(0);
    const silent = new Reader(FORMER, {}, () => new Promise(() => undefined));
    expect((await new FormerEvents(silent).among(SCOPE, ['a'])).size).toBe(0);
  });
});
