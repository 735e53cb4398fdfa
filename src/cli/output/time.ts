import type { TimeStyle } from '../command.js';

const UNITS = [
  ['y', 31_536_000],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** An instant of the service in the style that `--ts` names; what is no instant is shown as it is. */
export function formatTime(instant: string, style: TimeStyle, now: number): string {
  const time = Date.parse(instant);
  if (style === 'iso' || Number.isNaN(time)) return instant;
  return style === 'age' ? age(now - time) : local(new Date(time));
}

/** The largest whole unit of a span: `5m`, `3h`; `in 2m` for what is yet to come. */
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
