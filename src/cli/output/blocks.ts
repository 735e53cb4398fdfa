const LEVELS = '▁▂▃▄▅▆▇█';
const EIGHTHS = '▏▎▍▌▋▊▉█';

/** A column for each count, in eighths of a character; none is as low as nothing that is there. */
export function columnsOf(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts.map((count) => (count === 0 ? ' ' : (LEVELS[Math.ceil((count / most) * 8) - 1] ?? ''))).join('');
}

/** A bar, as long as `width` for the share 1. */
export function barOf(share: number, width: number): string {
  const eighths = Math.max(share > 0 ? 1 : 0, Math.round(share * width * 8));
  const rest = eighths % 8;
  return '█'.repeat(Math.floor(eighths / 8)) + (rest === 0 ? '' : (EIGHTHS[rest - 1] ?? ''));
}
