import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { draw, type Look } from '../../../src/cli/browse/draw.js';
import { type Size, said, waiting } from '../../../src/cli/browse/model.js';
import { rowOf } from '../../../src/cli/browse/row.js';
import { cellsOf, cut, lastCells, pad, wrap } from '../../../src/cli/browse/text.js';
import { isUnsafe } from '../../../src/cli/output/escape.js';
import { FULL } from '../../hardening/scale.js';
import fc from '../../support/fast-check.js';
import { RULES, Service, Viewer } from './world.js';

const PAINT = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, inverse: 7 };
const look: Look = {
  org: 'acme',
  timeStyle: 'iso',
  paint: (style, text) => `\u001b[${PAINT[style]}m${text}\u001b[0m`,
};
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\r\n\tx\u202e\u2066\u0000👩‍👩‍👧‍👦日本語e\u0301\u200d🇩🇪\ud800"\\';
const SIZES: Size[] = [
  { columns: 40, rows: 10 },
  { columns: 80, rows: 24 },
  { columns: 120, rows: 12 },
  { columns: 200, rows: 60 },
];

/** An event all of whose texts are this one. */
const saying = (text: string) =>
  rowOf(
    JSON.stringify({
      ...{ id: text, eventTime: text, requestId: text, resource: { name: text, type: text, data: { [text]: text } } },
      ...{ context: { name: text, publisher: { link: text } }, subject: { email: text, name: text } },
      ...{ action: { type: text, data: { before: { a: text }, after: { a: `${text}!` } } } },
      result: { status: text, message: text },
    }),
  );

function expectFits(lines: readonly string[], { columns, rows }: Size): void {
  expect(lines).toHaveLength(rows);
  for (const line of lines) {
    expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(isUnsafe(line.replaceAll(/\u001b\[\d+m/g, ''))).toBe(false);
  }
}

const screen = (viewer: Viewer): string[] => draw(viewer.state, look, RULES);
const text = (viewer: Viewer): string => screen(viewer).map(stripVTControlCharacters).join('\n');

describe('the screen of svc audit browse', () => {
  it('has exactly its lines, none too wide, nothing raw, at any size, in any view, whatever the events say', () => {
    const texts = fc.oneof(fc.constant(HOSTILE), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
    const keys = fc.constantFrom(['return'], ['d'], ['?'], ['/', HOSTILE], ['down'], ['/', 'nothing'], ['f']);
    const size = fc.record({ columns: fc.integer({ min: 1, max: 200 }), rows: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 3 }), keys, size, texts, (said_, pressed, at, note) => {
        const service = new Service(3, 10);
        service.rows.unshift(...said_.map(saying));
        const viewer = new Viewer(service, at);
        for (const key of pressed) viewer.press(key);
        expectFits(screen(viewer), at);
        viewer.state = waiting(viewer.state, viewer.state.run, note);
        expectFits(screen(viewer), at);
        viewer.state = said(viewer.state, note, true);
        expectFits(screen(viewer), at);
      }),
      { numRuns: FULL ? 2_000 : 40 },
    );
  });

  it.each(SIZES)('fits $columns x $rows, and shows events, columns and keys', (size) => {
    const service = new Service(100, 50);
    service.rows.unshift(saying(HOSTILE), saying('x'.repeat(1024 * 1024)), saying(`a${'\u0301'.repeat(5_000)}`));
    const viewer = new Viewer(service, size);
    expectFits(screen(viewer), size);
    for (const word of ['svc audit browse', 'TIME', 'RESOURCE', '[service]', 'Enter detail'])
      expect(text(viewer)).toContain(word);
    expect(text(viewer)).toContain('order/r100');
    expect(text(viewer)).toContain('\\u001b');
  });

  it('says which of the two is shown', () => {
    const viewer = new Viewer(new Service(100, 50));
    expect(text(viewer)).toContain('[service] all events: 50 loaded, more exist');
    viewer.press('/').press('action:ship denied');
    expect(text(viewer)).toContain('[loaded] action:ship denied: 8 of 50 loaded of all events, more exist');
    expect(text(viewer)).toContain('/action:ship denied_  Enter asks the service');
    viewer.press('ctrl-u').press('action:ship').press('return').answerAll();
    expect(text(viewer)).toContain('[loaded] action:ship: 25 of 50 loaded of action:ship, more exist');
  });

  it('shows the message of the event at the cursor, its difference, and all of it', () => {
    const service = new Service(1, 10);
    service.rows.unshift(
      rowOf(
        '{"id":"e9","result":{"status":"DENIED","message":"may not"},"action":{"data":{"before":{"a":1},"after":{"a":2}}}}',
      ),
    );
    const viewer = new Viewer(service);
    expect(text(viewer)).toContain('DENIED: may not');
    expect(text(viewer.press('d'))).toMatch(/- a: 1\n {4}\+ a: 2/);
    expect(text(viewer.press('return'))).toContain('may not');
    expect(text(viewer.press('n').press('d'))).toContain('no before and after');
  });

  it('names an empty organization, and what nothing matches', () => {
    expect(text(new Viewer(new Service(0, 10)))).toContain('No events yet');
    const viewer = new Viewer(new Service(0, 10)).press('/').press('action:x').press('return').answerAll();
    expect(text(viewer)).toContain('No events match action:x');
    expect(text(new Viewer(new Service(50, 10)).press('/').press('zz'))).toContain(
      'None of the 10 loaded events matches zz; down loads more.',
    );
  });
});

describe('text', () => {
  it('is cut, padded and wrapped to cells, and nothing is lost by wrapping', () => {
    const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string());
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 30 }), (any, width) => {
        expect(cellsOf(cut(any, width))).toBeLessThanOrEqual(width);
        expect(cellsOf(pad(any, width))).toBe(width);
        const lines = wrap(any, width);
        expect(lines.join('')).toBe(any);
        for (const line of lines) expect(cellsOf(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('keeps graphemes whole at the begin of its last cells', () => {
    expect(lastCells('ab👩‍👩‍👧c', 3)).toBe('👩‍👩‍👧c');
    expect(lastCells('ab👩‍👩‍👧c', 2)).toBe('c');
  });

  it('keeps its paint from line to line, and ends each without', () => {
    expect(wrap('\u001b[31mabcd\u001b[39mef', 3)).toEqual(['\u001b[31mabc\u001b[0m', '\u001b[31md\u001b[39mef']);
  });
});
