import { Slots } from '../../src/platform/slots.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work that notes when it begins, and ends when it is told. */
function work() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const of = (name: string) => () => {
    begun.push(name);
    const end = Promise.withResolvers<void>();
    ends.set(name, end);
    return end.promise;
  };
  return {
    begun,
    of,
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error('failed')),
  };
}

describe('places', () => {
  it('let so many of an organization run at once, and the others in their order, whatever becomes of each', async () => {
    const places = new Slots({ perOrg: 2, inAll: 10 });
    const { begun, of, end, fail } = work();
    const settled = Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => places.run('acme', of(name))));
    await turn();
    expect(begun).toEqual(['a', 'b']);
    fail('b');
    await turn();
    expect(begun).toEqual(['a', 'b', 'c']);
    end('a');
    end('c');
    await turn();
    end('d');
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    await expect(places.run('acme', async () => 'free again')).resolves.toBe('free again');
  });

  it('give organizations their turns where all are taken, and each one place in any case', async () => {
    const places = new Slots({ perOrg: 3, inAll: 3 });
    const { begun, of, end } = work();
    const runs = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => places.run('a', of(name)));
    runs.push(...['b1', 'b2', 'b3'].map((name) => places.run('b', of(name))));
    await turn();
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
    for (const name of ['a1', 'a2']) end(name);
    await turn();
    expect(begun.slice(4)).toEqual(['a4']);
    for (const name of ['a3', 'b1', 'a4']) end(name);
    await turn();
    await turn();
    for (const name of ['a5', 'b2', 'b3']) end(name);
    await turn();
    end('b3');
    await Promise.all(runs);
    expect([...begun].sort()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3']);
  });

  it('refuse with rate_limited who comes when too many wait, and who waited too long', async () => {
    const places = new Slots({ perOrg: 1, inAll: 1, mostWaiting: 1, longestWaitMs: 5 });
    const place = await places.take('acme');
    const late = places.take('acme');
    expect(place.isWanted).toBe(true);
    await expect(places.take('acme')).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(late).rejects.toMatchObject({ code: 'rate_limited' });
    expect(place.isWanted).toBe(false);
    place.release();
    place.release();
    const next = await places.take('acme');
    const other = await places.take('other');
    next.release();
    other.release();
  });

  it('are not kept for who has gone', async () => {
    const places = new Slots({ perOrg: 1, inAll: 1 });
    const place = await places.take('acme');
    const gone = new AbortController();
    const left = places.take('acme', gone.signal);
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(place.isWanted).toBe(false);
  });
});
