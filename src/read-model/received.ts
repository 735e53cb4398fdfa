import { isBefore, type Point } from './document.js';
import type { Direction, Points } from './search.js';

/** The later point of each partition. */
export function laterPoints(one: Points, other: Points): Points {
  const later: Record<string, Point> = { ...one };
  for (const [partition, point] of Object.entries(other)) {
    const known = later[partition];
    if (!known || isBefore(known, point)) later[partition] = point;
  }
  return later;
}

/** The documents of one partition that are still to come, the nearest first. */
export interface Lane {
  readonly ahead: { readonly time: number }[];
}

/**
 * The lane whose next document comes first when partitions are merged by their records' time. Forward that is the
 * earliest, and of equal times the one in the first lane; backward the latest, and the one in the last lane.
 */
export function nearestLane<One extends Lane>(lanes: readonly One[], direction: Direction): One | undefined {
  let nearest: One | undefined;
  for (const lane of lanes) {
    const [next, best] = [lane.ahead[0], nearest?.ahead[0]];
    if (!next) continue;
    if (!best || (direction === 'ascending' ? next.time < best.time : next.time >= best.time)) nearest = lane;
  }
  return nearest;
}
