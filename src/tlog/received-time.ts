/** `,"receivedTime":"` and behind it 24 characters and `"}`. */
const PREFIX = Buffer.from(',"receivedTime":"');
const SUFFIX = Buffer.from('"}');
const TIME_CHARS = '2026-01-01T00:00:00.000Z'.length;
const SECOND_CHARS = '2026-01-01T00:00:00'.length;

let second = { text: '', ms: 0 };

/** When the log took the event of an export line, in milliseconds; undefined if the line does not end with it. */
export function receivedTimeOf(line: Buffer): number | undefined {
  const end = line.length - SUFFIX.length;
  const start = end - TIME_CHARS;
  if (start < PREFIX.length || line.compare(SUFFIX, 0, SUFFIX.length, end) !== 0) return undefined;
  if (line.compare(PREFIX, 0, PREFIX.length, start - PREFIX.length, start) !== 0) return undefined;
  const text = line.toString('latin1', start, end);
  // Nearly all lines are of the second of the line before.
  if (!text.startsWith(second.text) || !second.text) second = readSecond(text);
  const fraction = /^\.(\d{3})Z$/.exec(text.slice(SECOND_CHARS));
  return second.text && fraction ? second.ms + Number(fraction[1]) : undefined;
}

/** Without text unless it is a time as this service writes it. */
function readSecond(text: string): { text: string; ms: number } {
  const ms = Date.parse(text);
  const isTime = Number.isFinite(ms) && ms >= 0 && new Date(ms).toISOString() === text;
  return isTime ? { text: text.slice(0, SECOND_CHARS), ms: Math.floor(ms / 1000) * 1000 } : { text: '', ms: 0 };
}
