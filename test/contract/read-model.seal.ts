import { settled, sleep } from './harness.js';
import {
  codes,
  event,
  events,
  found,
  generationOf,
  LEASE_MS,
  type ModelCases,
  nextOf,
  promote,
  put,
  store,
} from './read-model.harness.js';

const SEALED = { error: { name: 'GenerationSealed' } };

/** Long enough for what a case does meanwhile, on a store that is slow too. */
const SHORT_LEASE_MS = 500;
const lapse = () => sleep(SHORT_LEASE_MS + 100);

export function sealCases({ it }: ModelCases): void {
  it('ends writing to the live one, and says how far that got', async ({ model }) => {
    await model.apply('audit', events(0, 3), { 0: 3, 2: 7 });
    await model.apply('control', [put('robot', 4)], { 0: 5 });
    await model.refresh();
    const next = await model.begin();
    const sealed = await next.seal(LEASE_MS);

    expect(await settled(model.apply('audit', [event(3)], { 0: 4 }))).toMatchObject(SEALED);
    expect(await settled(model.apply('control', [put('robot', 6)], { 0: 7 }))).toMatchObject(SEALED);
    expect([sealed.audit?.[0], sealed.audit?.[2], sealed.control?.[0]]).toEqual([3, 7, 5]);
    expect(nextOf(await model.progress('audit'), 0, 2)).toEqual([3, 7]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([5]);
    await model.refresh();
    expect(await found(model)).toEqual([0, 1, 2]);
  });

  it('is written to itself while the live one is sealed, and takes writes as the live one', async ({ model }) => {
    await store(model, events(0, 3));
    const next = await model.begin();
    await next.seal(LEASE_MS);
    await store(next, events(0, 4));
    await next.promote();
    await model.progress('audit');

    expect(codes(await model.apply('audit', [event(4)], { 0: 5 }))).toEqual(['applied']);
    await model.refresh();
    expect(await found(model)).toEqual([0, 1, 2, 3, 4]);
  });

  it('lets writing go on when the seal lapses', async ({ model }) => {
    await store(model, events(0, 3));
    const next = await model.begin();
    await next.seal(SHORT_LEASE_MS);
    const refused = await settled(model.apply('audit', [event(3)], { 0: 4 }));
    await lapse();
    await model.progress('audit');

    expect(refused).toMatchObject(SEALED);
    expect(codes(await model.apply('audit', [event(3)], { 0: 4 }))).toEqual(['applied']);
    await model.refresh();
    expect(await found(model)).toEqual([0, 1, 2, 3]);
  });

  it('is not promoted without a seal, nor after it lapsed', async ({ model }) => {
    await store(model, events(0, 3));
    const { generation } = await model.progress('audit');
    const next = await model.begin();
    await store(next, events(0, 5));
    const unsealed = await settled(next.promote());
    await next.seal(SHORT_LEASE_MS);
    await lapse();
    const lapsed = await settled(next.promote());

    expect([unsealed, lapsed]).toEqual([{ error: expect.anything() }, { error: expect.anything() }]);
    expect(await found(model)).toEqual([0, 1, 2]);
    expect(await generationOf(model)).toBe(generation);
    await promote(next);
    expect(await found(model)).toEqual([0, 1, 2, 3, 4]);
  });

  it('leaves the live one to its writers once it is gone and the seal has lapsed', async ({ model }) => {
    await store(model, events(0, 3));
    const next = await model.begin();
    await next.seal(SHORT_LEASE_MS);
    await next.discard();
    await lapse();
    await model.progress('audit');

    expect(codes(await model.apply('audit', [event(3)], { 0: 4 }))).toEqual(['applied']);
  });
}
