import stringWidth from 'string-width';

const PLAIN = /^[\x20-\x7e]*$/;
/** The only sequences in a painted text: those of `Terminal.paint`. All others were escaped before. */
const PAINT = /(\u001b\[\d+m)/;
/** Longer graphemes are no letters of any language: a thousand accents on one letter take as many cells as it needs. */
const LONGEST_GRAPHEME = 32;

const segmenter = new Intl.Segmenter();

/** What takes one place on the screen, with its cells. */
function* graphemes(text: string): Generator<{ readonly part: string; readonly cells: number }> {
  if (PLAIN.test(text)) {
    for (const part of text) yield { part, cells: 1 };
    return;
  }
  for (const { segment } of segmenter.segment(text)) {
    if (segment.length <= LONGEST_GRAPHEME) yield { part: segment, cells: stringWidth(segment) };
    else for (const part of segment) yield { part, cells: 1 };
  }
}

/** The display cells of a text that is not painted. */
export function cellsOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let sum = 0;
  for (const { cells } of graphemes(text)) sum += cells;
  return sum;
}

/** The text cut to so many cells, ending with a mark; graphemes stay whole. */
export function cut(text: string, width: number): string {
  if (width <= 0) return '';
  if (text.length <= width && PLAIN.test(text)) return text;
  let kept = '';
  let shorter = '';
  let used = 0;
  for (const { part, cells } of graphemes(text)) {
    if (used + cells > width) return `${shorter}…`;
    kept += part;
    used += cells;
    if (used < width) shorter = kept;
  }
  return kept;
}

/** The end of a text, of at most so many cells; graphemes stay whole. */
export function lastCells(text: string, width: number): string {
  let [kept, used] = ['', 0];
  for (const { part, cells } of [...graphemes(text)].reverse()) {
    if (used + cells > width) break;
    kept = part + kept;
    used += cells;
  }
  return kept;
}

/** The text in exactly so many cells. */
export function pad(text: string, width: number): string {
  const shown = cut(text, width);
  return shown + ' '.repeat(Math.max(0, width - cellsOf(shown)));
}

/** A painted line as lines of at most so many cells. Each ends without paint and begins with that of the one before. */
export function wrap(line: string, width: number): string[] {
  const lines: string[] = [];
  let [current, used, paint] = ['', 0, ''];
  for (const piece of line.split(PAINT)) {
    if (PAINT.test(piece)) {
      current += piece;
      paint = /\[(?:22|27|39)m/.test(piece) ? '' : paint + piece;
      continue;
    }
    for (const { part, cells } of graphemes(piece)) {
      if (used + cells > width && used > 0) {
        lines.push(paint === '' ? current : `${current}\u001b[0m`);
        [current, used] = [paint, 0];
      }
      current += part;
      used += cells;
    }
  }
  return [...lines, current];
}
