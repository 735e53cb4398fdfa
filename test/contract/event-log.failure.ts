import { ControlError } from '../../src/contract/errors.js';
import type { Position } from '../../src/event-log/event-log.js';
import {
  type EventLogHarness,
  entries,
  entry,
  failAppends,
  type LogCases,
  placeOf,
  readAll,
  repair,
  tail,
  textOf,
  texts,
} from './event-log.harness.js';
import { need, settled, sleep, until } from './harness.js';

/** More than any log takes in one record: Kafka's brokers stop at 1 MiB. */
const TOO_LARGE = 9 * 1024 * 1024;

export function failureCases({ it, itWith }: LogCases): void {
  for (const [what, part] of [
    ['value', { value: Buffer.alloc(TOO_LARGE, 'x') }],
    ['headers', { headers: { v: '1', big: 'x'.repeat(TOO_LARGE) } }],
  ] as const) {
    it(`refuses an entry whose ${what} alone is too large, and goes on`, async ({ log }) => {
      await expect(log.append([entry('big', part)])).rejects.toMatchObject(refused('payload_too_large'));

      await log.append([entry('small')]);
      expect(texts(await readAll(log))).toEqual(['small']);
    });
  }

  it('appends nothing of a call in which one entry is too large', async ({ log }) => {
    const call = [
      entry('first'),
      entry('big', { value: Buffer.alloc(TOO_LARGE) }),
      entry('last', { topic: 'control' }),
    ];

    await expect(log.append(call)).rejects.toMatchObject(refused('payload_too_large'));

    expect(await readAll(log, 'audit')).toEqual([]);
    expect(await readAll(log, 'control')).toEqual([]);
  });

  it('lets no caller suffer from the too large entry of another', async ({ log }) => {
    const before = log.append(entries(5, 'before'));
    const big = settled(log.append([entry('big', { value: Buffer.alloc(TOO_LARGE) })]));
    const after = log.append(entries(5, 'after'));

    expect([(await before).length, (await after).length]).toEqual([5, 5]);
    expect(await big).toMatchObject({ error: refused('payload_too_large') });
    expect((await readAll(log)).map(textOf).sort()).toEqual(texts([...entries(5, 'after'), ...entries(5, 'before')]));
  });

  itWith.failAppends('rejects with log_unavailable while it is down, and has appended nothing', async (harness) => {
    failAppends(harness, 'unavailable');
    await expect(harness.log.append(entries(3, 'lost'))).rejects.toMatchObject(refused('log_unavailable'));
    repair(harness);

    expect(await readAll(harness.log)).toEqual([]);
    expect(await readAll(await harness.reopen())).toEqual([]);
  });

  itWith.failAppends('takes appends again after it was down', async (harness) => {
    await harness.log.append([entry('before', { key: 'k' })]);
    failAppends(harness, 'unavailable');
    await expect(harness.log.append([entry('lost', { key: 'k' })])).rejects.toBeInstanceOf(ControlError);
    repair(harness);

    const [position] = await harness.log.append([entry('after', { key: 'k' })]);

    const stored = await readAll(harness.log);
    expect(texts(stored)).toEqual(['before', 'after']);
    expect(placeOf(stored[1] ?? { partition: -1, offset: -1 })).toBe(position && placeOf(position));
  });

  itWith.failAppends('tells every one of many concurrent callers that it is down', async (harness) => {
    failAppends(harness, 'unavailable');
    const outcomes = await Promise.all(entries(50, 'lost').map((one) => settled(harness.log.append([one]))));
    repair(harness);

    expect(outcomes).toEqual(
      Array.from({ length: 50 }, () => ({ error: expect.objectContaining(refused('log_unavailable')) })),
    );
    expect(await readAll(harness.log)).toEqual([]);
  });

  itWith.failAppends('rejects a call over several keys and topics as a whole', async (harness) => {
    failAppends(harness, 'unavailable');
    const call = [...entries(30, 'lost'), entry('lost', { topic: 'control' })];
    await expect(harness.log.append(call)).rejects.toMatchObject(refused('log_unavailable'));
    repair(harness);

    expect(await readAll(harness.log, 'audit')).toEqual([]);
    expect(await readAll(harness.log, 'control')).toEqual([]);
  });

  itWith.failAppends('never shows a reader a record that it refused', async (harness) => {
    const reader = tail(harness.log);
    await harness.log.append([entry('before', { key: 'k' })]);
    failAppends(harness, 'unavailable');
    await settled(harness.log.append([entry('refused', { key: 'k' })]));
    repair(harness);
    await harness.log.append([entry('after', { key: 'k' })]);

    await until(() => texts(reader.records).includes('after'), 'the reader has the last record');
    await reader.stop();
    expect(texts(reader.records)).toEqual(['before', 'after']);
  });

  itWith.failAppends(
    'rejects with outcome_unknown when it cannot tell, and keeps what it acknowledged',
    async (harness) => {
      const kept = await harness.log.append([entry('before', { key: 'k' })]);
      failAppends(harness, 'unknown');
      await expect(harness.log.append([entry('perhaps', { key: 'k' })])).rejects.toMatchObject(
        refused('outcome_unknown'),
      );
      repair(harness);
      kept.push(...(await appendAgain(harness, 'after')));

      const stored = await readAll(await harness.reopen());
      expect(texts(stored).filter((text) => text !== 'perhaps')).toEqual(['before', 'after']);
      expect(kept.every((position) => stored.some((record) => placeOf(record) === placeOf(position)))).toBe(true);
    },
  );

  itWith.failAppends('gives an entry of unknown outcome whole, or not at all', async (harness) => {
    const perhaps = entry('perhaps', { headers: { v: '7', more: 'facts' }, value: Buffer.alloc(100_000, 'p') });
    failAppends(harness, 'unknown');
    await settled(harness.log.append([perhaps]));
    repair(harness);
    await appendAgain(harness, 'after');

    for (const open of [async () => harness.log, () => harness.reopen()]) {
      const log = await open();
      const found = (await readAll(log)).filter(({ key }) => key === 'perhaps');
      expect(
        found.every(({ headers, value }) => headers.more === 'facts' && Buffer.compare(value, perhaps.value) === 0),
      ).toBe(true);
      expect(found.length).toBeLessThanOrEqual(1);
    }
  });

  itWith.failAppends('gives every reading the same answer to what was unknown', async (harness) => {
    failAppends(harness, 'unknown');
    await settled(harness.log.append(entries(4, 'perhaps')));
    repair(harness);
    await appendAgain(harness, 'after');

    const first = (await readAll(harness.log)).map(placeOf).sort();
    expect((await readAll(harness.log)).map(placeOf).sort()).toEqual(first);
    expect((await readAll(await harness.reopen())).map(placeOf).sort()).toEqual(first);
  });

  itWith.failAppends(
    'shows a waiting reader what was unknown and is there, without another append',
    async (harness) => {
      const reader = tail(harness.log);
      failAppends(harness, 'unknown');
      await settled(harness.log.append([entry('perhaps')]));
      repair(harness);
      await sleep(500);
      const seen = texts(reader.records);
      await reader.stop();

      expect(seen).toEqual(texts(await readAll(await harness.reopen())));
    },
  );

  itWith.crowd('refuses what its bounded queue cannot take, and keeps exactly what it took', async (harness) => {
    const calls = entries(need(harness.crowd, 'crowd'), 'crowd');
    const outcomes = await Promise.all(calls.map((one) => settled(harness.log.append([one]))));

    const taken = calls.filter((_, index) => 'value' in (outcomes[index] ?? {}));
    const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
    expect(errors.length).toBeGreaterThan(0);
    expect(taken.length).toBeGreaterThan(0);
    expect(errors.every((error) => error instanceof ControlError && error.code === 'log_unavailable')).toBe(true);
    expect((await readAll(harness.log)).map(textOf).sort()).toEqual(texts(taken).sort());
  });

  itWith.crowd('takes appends again when its queue has emptied', async (harness) => {
    const calls = entries(need(harness.crowd, 'crowd'), 'crowd');
    await Promise.all(calls.map((one) => settled(harness.log.append([one]))));

    const positions = await harness.log.append([entry('later')]);

    expect(positions).toHaveLength(1);
    expect(texts(await readAll(harness.log))).toContain('later');
  });

  it('refuses appends after close with log_unavailable', async (harness) => {
    await harness.log.close();

    await expect(harness.log.append([entry('late')])).rejects.toMatchObject(refused('log_unavailable'));

    expect(await readAll(await harness.reopen())).toEqual([]);
  });

  it('has settled the appends that are under way by the time that close resolves', async ({ log }) => {
    let waiting = 100;
    const calls = entries(100, 'n').map(async (one) => {
      await settled(log.append([one]));
      waiting -= 1;
    });

    await log.close();
    await new Promise<void>((resolve) => process.nextTick(resolve));

    expect(waiting).toBe(0);
    await Promise.all(calls);
  });

  it('settles the appends that are under way at close, and tells the truth about each', async (harness) => {
    const calls = entries(100, 'n').map((one) => settled(harness.log.append([one])));
    await harness.log.close();
    const outcomes = await Promise.all(calls);

    const stored = new Set(texts(await readAll(await harness.reopen())));
    for (const [index, outcome] of outcomes.entries()) {
      if ('value' in outcome) expect(stored).toContain(`n${index}`);
      else if ((outcome.error as ControlError).code === 'log_unavailable') expect(stored).not.toContain(`n${index}`);
      else expect(outcome.error).toMatchObject(refused('outcome_unknown'));
    }
  });
}

const refused = (code: ControlError['code']) => ({ name: 'ControlError', code });

/** The log goes on after a fault of unknown outcome. */
function appendAgain(harness: EventLogHarness, text: string): Promise<Position[]> {
  return harness.log.append([entry(text, { key: 'k' })]);
}
