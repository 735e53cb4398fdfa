import { untilDone } from '../../src/platform/retry.js';
import { pause, turnOfTheLoop, within } from '../../src/platform/waiting.js';

const soon = { first: 1, most: 4 };
const never = new Promise<never>(() => undefined);

/** Work that fails so often before it succeeds. */
function failing(times: number): () => Promise<number> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
    return calls;
  };
}

describe('untilDone', () => {
  it('repeats the work until it succeeds, and doubles the wait up to the longest', async () => {
    const waits: number[] = [];
    const result = await untilDone(undefined, failing(5), (_error, wait) => void waits.push(wait), soon);
    expect(result).toBe(6);
    expect(waits).toEqual([1, 2, 4, 4, 4]);
  });

  it('rejects with the last error after the last attempt', async () => {
    const errors: string[] = [];
    const note = (error: unknown) => void errors.push((error as Error).message);
    await expect(untilDone(undefined, failing(9), note, { ...soon, attempts: 3 })).rejects.toThrow('failure 3');
    expect(errors).toEqual(['failure 1', 'failure 2', 'failure 3']);
  });

  it('ends with what the callback throws, a TypeError of the work included', async () => {
    const refuse = (error: unknown) => {
      throw error;
    };
    const work = () => Promise.reject(new TypeError('final'));
    await expect(untilDone(undefined, work, refuse, soon)).rejects.toThrow('final');
  });

  it('resolves with undefined as soon as the signal aborts, also while it waits', async () => {
    const stop = new AbortController();
    const result = untilDone(stop.signal, failing(1), () => stop.abort(), { first: 3_600_000, most: 3_600_000 });
    expect(await result).toBeUndefined();
    expect(
      await untilDone(
        AbortSignal.abort(),
        () => Promise.resolve(1),
        () => undefined,
      ),
    ).toBeUndefined();
  });
});

describe('within', () => {
  it('gives what the work gives, or the substitute when that takes too long', async () => {
    expect(await within(3_600_000, Promise.resolve('done'), 'late')).toBe('done');
    expect(await within(1, never, 'late')).toBe('late');
  });

  it('rejects as the work does', async () => {
    await expect(within(3_600_000, Promise.reject(new Error('broken')), 'late')).rejects.toThrow('broken');
  });
});

it('pauses until the signal aborts', async () => {
  const stop = new AbortController();
  const paused = pause(3_600_000, stop.signal);
  stop.abort();
  await paused;
  await pause(3_600_000, AbortSignal.abort());
});

it('lets waiting callbacks of the event loop run first', async () => {
  let ran = false;
  setImmediate(() => {
    ran = true;
  });
  await turnOfTheLoop();
  expect(ran).toBe(true);
});
