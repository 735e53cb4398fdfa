/** How many single-letter edits (insert, delete, change, swap of neighbours) lead from one word to the other. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const change = (last[j - 1] ?? 0) + (same ? 0 : 1);
      const swap = swapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min(change, swap, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}

/** The candidates that the user may have meant, nearest first: at most three, and none much farther than the nearest. */
export function suggest(typed: string, candidates: readonly string[]): string[] {
  const limit = Math.max(1, Math.min(3, Math.floor(typed.length / 2)));
  const near = [...new Set(candidates)]
    .map((candidate) => ({
      candidate,
      far: typed.length >= 2 && candidate.startsWith(typed) ? 0.5 : distance(typed, candidate),
    }))
    .filter(({ far }) => far <= limit)
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1));
  const nearest = near[0]?.far ?? 0;
  return near
    .filter(({ far }) => far <= nearest + 1)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** `did you mean x or y?`, or nothing to say. */
export function didYouMean(typed: string, candidates: readonly string[]): string[] {
  const near = suggest(typed, candidates);
  return near.length > 0 ? [`did you mean ${near.map((word) => `\`${word}\``).join(' or ')}?`] : [];
}
