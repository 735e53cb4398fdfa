import type { Kind } from '../../contract/kinds.js';
import { parseLink } from '../../contract/links.js';
import type { TimeStyle } from '../command.js';

// What the service sent, as the text format shows it. A member of any type may be there, or none.

export type Shown = Readonly<Record<string, unknown>>;

export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : String(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const objectOf = (value: unknown): Shown =>
  typeof value === 'object' && value !== null ? (value as Shown) : {};

/** What a resource is called in commands. */
export const nameOf = ({ ref }: Kind, resource: Shown): string => textOf(resource[ref]);

/** `KEY=VALUE, KEY=VALUE`. */
export const tagsText = (tags: unknown): string =>
  Object.entries(objectOf(tags))
    .map(([key, value]) => `${key}=${textOf(value)}`)
    .join(', ');

/** What a link names: a kind and the resource's reference. Any other text has no kind and is its own reference. */
export function refOf(link: string): { kind: string; ref: string } {
  return parseLink(link) ?? { kind: '', ref: link };
}

/** What people call the resource of a link: a user by the e-mail address, others as `kind/name`; other texts as they are. */
export function shortName(link: string): string {
  const { kind, ref } = refOf(link);
  return kind === '' || kind === 'user' ? ref : `${kind}/${ref}`;
}

const UNITS = [
  ['y', 31_536_000],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** A time in the style that `--ts` names; a text that is no time is shown as it is. */
export function timeText(time: unknown, style: TimeStyle): string {
  const text = textOf(time);
  const ms = Date.parse(text);
  if (style === 'iso' || Number.isNaN(ms)) return text;
  return style === 'age' ? age(Date.now() - ms) : local(new Date(ms));
}

/** As `timeText`, below a heading that names the day. */
export function timeOfDay(time: unknown, style: TimeStyle): string {
  const text = timeText(time, style);
  return style === 'local' && dayOf(time) !== undefined ? text.slice(text.indexOf(' ') + 1) : text;
}

/** The day here, of a time; undefined for a text that is none. */
export function dayOf(time: unknown): string | undefined {
  const ms = Date.parse(textOf(time));
  return Number.isNaN(ms) ? undefined : local(new Date(ms)).split(' ')[0];
}

/** The largest whole unit of a span: `5m`, `3h`; `in 2m` for the future. */
function age(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[4];
  const text = `${Math.floor(seconds / size)}${unit}`;
  return ms < -1000 ? `in ${text}` : text;
}

function local(time: Date): string {
  const pad = (value: number) => String(value).padStart(2, '0');
  const day = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
  return `${day} ${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}
