import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';

const MINUTES = 10 * 60_000;

interface Keys {
  readonly items: readonly { readonly lastUsed?: string }[];
}

const instances = new Instances();

afterAll(() => instances.remove());

test(
  'the day of the last use of a key is the same on every instance, and one that joins later knows it',
  async () => {
    const [first = '', second = ''] = await instances.start(2);
    const key = await instances.org(first, 'acme');
    const days = async (url: string) => {
      const { body } = await new Api(url, key).get<Keys>('/org/acme/serviceaccount/admin/-keys');
      return body.items.map(({ lastUsed }) => lastUsed);
    };
    const today = new Date().toISOString().slice(0, 10);
    const deadline = Date.now() + 20_000 * PATIENCE;
    while ((await days(first))[0] === undefined && Date.now() < deadline) await delay(100);
    expect(await days(first)).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/)]);
    const [known = ''] = await days(first);
    expect(known >= today).toBe(true);
    expect(await days(second)).toEqual([known]);
    const later = await instances.startOne();
    expect(await days(later)).toEqual([known]);
  },
  MINUTES,
);
