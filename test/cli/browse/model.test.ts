import { matcher, parseFilter } from '../../../src/cli/browse/filter.js';
import { failed, heightOf, loaded, resized } from '../../../src/cli/browse/model.js';
import { MOST, rowsOf } from '../../../src/cli/browse/window.js';
import { FULL } from '../../hardening/scale.js';
import fc from '../../support/fast-check.js';
import { RULES, row, Service, Viewer } from './world.js';

const MANY = FULL ? 100_000 : 20_000;

const KEYS = [
  ...['up', 'down', 'pageup', 'pagedown', 'home', 'end', 'return', 'escape', 'backspace', 'left', 'tab'],
  ...['/', 'd', 'f', 'n', 'p', 'r', '?', 'q', 'w', 'e1', 'result:denied ', 'action:ship ', 'since:7', ' ', '"'],
  ...['ctrl-u', 'ctrl-w', 'ctrl-z'],
] as const;

type Step = { key: string } | { answer: 1 } | { arrives: number } | { size: [number, number] } | { fails: 1 };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KEYS).map((key) => ({ key })) },
  { weight: 4, arbitrary: fc.constant({ answer: 1 as const }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 30 }).map((arrives) => ({ arrives })) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 60 })).map((size) => ({ size })),
  },
  { weight: 1, arbitrary: fc.constant({ fails: 1 as const }) },
);

function take(viewer: Viewer, taken: Step): void {
  const { state, service } = viewer;
  if ('key' in taken) viewer.press(taken.key);
  else if ('answer' in taken) viewer.answer();
  else if ('arrives' in taken) viewer.follow(Array.from({ length: taken.arrives }, () => service.receive()));
  else if ('size' in taken) viewer.state = resized(state, { columns: taken.size[0], rows: taken.size[1] }, RULES);
  else if (state.want) viewer.state = failed(state, state.want, 'nothing listens');
}

describe('the state of svc audit browse', () => {
  it('keeps its invariants, whatever is pressed, answered and received', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9_000 }),
        fc.constantFrom(1, 7, 200, 1_000),
        fc.array(step, { maxLength: 60 }),
        (count, size, steps) => {
          const viewer = new Viewer(new Service(count, size));
          for (const taken of steps) {
            take(viewer, taken);
            const { state } = viewer;
            const all = rowsOf(state.window);
            const height = heightOf(state);
            expect(all.length).toBeLessThanOrEqual(Math.max(MOST.events, size));
            expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
            const matching = all.filter(matcher(parseFilter(state.typed)));
            expect(state.rows.length === matching.length && state.rows.every((one, n) => one === matching[n])).toBe(
              true,
            );
            expect(state.cursor).toBeGreaterThanOrEqual(0);
            expect(state.cursor).toBeLessThan(Math.max(1, state.rows.length));
            expect(state.cursor - state.top).toBeGreaterThanOrEqual(0);
            expect(state.cursor - state.top).toBeLessThan(height);
            expect(state.scroll).toBeLessThanOrEqual(Math.max(0, state.pane.length - height));
            expect(state.view === 'list').toBe(state.pane.length === 0);
          }
        },
      ),
      { numRuns: FULL ? 1_000 : 25 },
    );
  }, 60_000);

  it('shows every event once, in order, on the way down and up again, however much was dropped on the way', () => {
    const service = new Service(MOST.events * 2 + 77, 500);
    const viewer = new Viewer(service);
    const ids = service.rows.map(({ id }) => id);
    const walk = (key: string) => {
      const seen = [viewer.at];
      for (let quiet = 0; quiet < 2; ) {
        const before = viewer.at;
        viewer.press(key).answer();
        quiet = viewer.at === before ? quiet + 1 : 0;
        if (viewer.at !== before) seen.push(viewer.at);
      }
      return seen;
    };
    expect(walk('down')).toEqual(ids);
    expect(viewer.ids.length).toBeLessThanOrEqual(MOST.events);
    expect(walk('up')).toEqual(ids.toReversed());
  });

  it('End reads to the last event in bounded memory, and any key stops it', () => {
    const viewer = new Viewer(new Service(MANY, 1_000));
    viewer.press('end').answer().answer().press('up').answer();
    expect(viewer.state.want).toBeUndefined();
    expect(viewer.state.rows.length).toBe(4_000);
    viewer.press('end').answerAll();
    expect(viewer.at).toBe('e1');
    expect(viewer.ids.length).toBeLessThanOrEqual(MOST.events);
    viewer.press('home').answerAll();
    expect([viewer.at, viewer.ids.length]).toEqual([`e${MANY}`, 1_000]);
  });

  it('reads the pages below anew after events came into a page above', () => {
    const viewer = new Viewer(new Service(9_000, 1_000));
    viewer.press('end').answerAll();
    const late = row(8_500.5);
    viewer.service.rows.splice(500, 0, late);
    for (let n = 0; n < 9_000 && viewer.state.window.above.length > 0; n += 1) viewer.press('pageup').answer();
    while (viewer.state.cursor > 0) viewer.press('pageup').answer();
    const seen = new Set<string>();
    for (let n = 0; n < 800; n += 1) {
      for (const id of viewer.ids) seen.add(id);
      viewer.press('pagedown').answer();
    }
    expect(seen.size).toBe(9_001);
  });

  it('following puts new events on top, each once, and keeps a reader below where he is', () => {
    const viewer = new Viewer(new Service(500, 200));
    viewer.press('f');
    const first = viewer.service.receive();
    viewer.follow([first]).follow([first]);
    expect([viewer.at, viewer.ids.filter((id) => id === first.id).length]).toEqual([first.id, 1]);
    viewer.press('down').press('down');
    const reading = viewer.at;
    viewer.follow([viewer.service.receive(), viewer.service.receive()]);
    expect([viewer.at, viewer.state.cursor]).toEqual([reading, 4]);
    expect(viewer.ids.slice(0, 3)).toEqual(['e503', 'e502', 'e501']);
  });

  it('following for long keeps the newest, and older ones are read again', () => {
    const viewer = new Viewer(new Service(1_000, 200)).press('f');
    for (let n = 0; n < 60; n += 1) viewer.follow(Array.from({ length: 100 }, () => viewer.service.receive()));
    expect(viewer.ids.length).toBeLessThanOrEqual(MOST.events);
    expect(viewer.at).toBe('e7000');
    viewer.press('f').press('end').answerAll();
    expect(viewer.at).toBe('e1');
  });

  it('drops the answer to what is no longer wanted', () => {
    const viewer = new Viewer(new Service(500, 200)).press('end');
    const { want } = viewer.state;
    viewer.press('r').answerAll();
    const before = viewer.state;
    if (!want) throw new Error('End wanted nothing');
    expect(loaded(before, want, viewer.service.page(want.at))).toBe(before);
    expect(failed(before, want, 'late')).toBe(before);
  });

  it('a failed call leaves what is shown, and r tries again', () => {
    const viewer = new Viewer(new Service(500, 200)).press('end');
    const { want } = viewer.state;
    if (!want) throw new Error('End wanted nothing');
    viewer.state = failed(viewer.state, want, 'nothing listens at x');
    expect(viewer.state.notice).toEqual({ text: 'nothing listens at x; r tries again', bad: true });
    expect(viewer.ids).toHaveLength(200);
    expect(viewer.press('r').answerAll().ids).toHaveLength(200);
    expect(viewer.state.notice).toBeUndefined();
  });
});

describe('the filter', () => {
  it('narrows what is loaded at each key, without a call', () => {
    const viewer = new Viewer(new Service(300, 200)).press('/').press('DENIED');
    expect(viewer.ids.length).toBe(67);
    expect(viewer.state.want).toBeUndefined();
    expect(viewer.press(' action:sh').ids.length).toBe(34);
    expect(viewer.press('ctrl-w').ids.length).toBe(67);
    expect(viewer.press('escape').ids.length).toBe(200);
    expect([viewer.state.typed, viewer.state.typing]).toEqual(['', undefined]);
  });

  it('Enter asks the service for each key:value, in the case of a loaded event', () => {
    const viewer = new Viewer(new Service(300, 200)).press('/').press('result:denied r1').press('return');
    expect(viewer.state.want).toMatchObject({ what: 'anew', at: '/list?{"resultStatus":"DENIED"}' });
    // What the screen says was asked is what it shows, until the answer is there.
    expect(viewer.state.asked).toEqual({});
    expect(viewer.answerAll().state.asked).toEqual({ resultStatus: 'DENIED' });
    expect(viewer.press('escape').answerAll().state.asked).toEqual({});
  });

  it('Enter on words alone asks nothing, and says why', () => {
    const viewer = new Viewer(new Service(300, 200)).press('/').press('r1').press('return');
    expect(viewer.state.want).toBeUndefined();
    expect(viewer.state.notice?.text).toContain('key:value only');
  });

  it('a filter that the service cannot understand is reported, and nothing is asked', () => {
    for (const wrong of ['since:yesterday', 'publisher:nobody']) {
      const viewer = new Viewer(new Service(10, 200)).press('/').press(wrong).press('return');
      expect([viewer.state.want, viewer.state.notice?.bad]).toEqual([undefined, true]);
    }
  });

  it('the cursor stays on its event while the filter changes', () => {
    const viewer = new Viewer(new Service(300, 200)).press('down').press('down').press('down').press('/');
    const { at } = viewer;
    expect(viewer.press('create').at).toBe(at);
    expect(viewer.ids.length).toBe(100);
    expect(viewer.press('ctrl-u').at).toBe(at);
  });

  it('pasted text is text: outside of the filter it is no key, inside its line ends are blanks', () => {
    const viewer = new Viewer(new Service(10, 200));
    viewer.press('paste-start');
    viewer.press('q');
    viewer.press('paste-end');
    expect([viewer.state.over, viewer.state.notice?.bad]).toEqual([undefined, true]);
    viewer.press('/');
    viewer.press('paste-start');
    viewer.press('r1').press('return').press('r2');
    viewer.press('paste-end');
    expect([viewer.state.typed, viewer.state.typing]).toEqual(['r1 r2', '']);
  });

  it('reads words, quotes and keys', () => {
    expect(parseFilter(' web  type:"a b" "two words" action:restart 12:30 foo:bar result: since:7d')).toEqual([
      { value: 'web' },
      { key: 'type', value: 'a b' },
      { value: 'two words' },
      { key: 'action', value: 'restart' },
      { value: '12:30' },
      { value: 'foo:bar' },
      { key: 'since', value: '7d' },
    ]);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => void matcher(parseFilter(text))(row(1))));
  });

  it('compares times that are whole, and lets all pass while they are typed', () => {
    const old = row(1, { eventTime: '2001-01-01T00:00:00.000Z' });
    const matches = (filter: string) => matcher(parseFilter(filter))(old);
    expect(['since:7d', 'since:7', 'until:7d', 'since:2000-01-01', 'until:2000-01-01'].map(matches)).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
  });
});
