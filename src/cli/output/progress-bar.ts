const BAR = 30;

/** How much of a work is done, how fast, and when it will be: `share` is undefined where nobody knows how much there is. */
export function progressBar(share: number | undefined, events: number, ms: number): string {
  const rate = ms > 0 ? Math.round((events * 1000) / ms) : 0;
  const count = `${events} events, ${rate} a second`;
  if (share === undefined) return count;
  const done = Math.min(1, share);
  const left = done > 0 ? `, ${timeText((ms * (1 - done)) / done)} left` : '';
  return `[${'#'.repeat(Math.round(done * BAR)).padEnd(BAR, '.')}] ${Math.floor(done * 100)} %  ${count}${left}`;
}

/** As a clock shows it: `0:07`, `12:30`, `1:02:03`. */
function timeText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const padded = (number: number) => String(number).padStart(2, '0');
  return `${hours > 0 ? `${hours}:${padded(minutes)}` : minutes}:${padded(seconds % 60)}`;
}
