import { StoreUnusable } from '../../platform/store-unusable.js';
import { canServe } from '../kinds.js';
import { type Identity, kindsIn } from './mapping.js';

/** Whether a generation that was made so serves: from this log, by this version, or by one that differs only in fields. */
export function isUsable(found: Partial<Identity>, own: Identity): boolean {
  return found.logId === own.logId && canServe(kindsIn(found.version) ?? 0);
}

/** Why a generation that was made so does not serve, and what to do. */
export function unusable(indexPrefix: string, found: Partial<Identity>, own: Identity): StoreUnusable {
  const why =
    found.logId === own.logId
      ? `has the layout ${found.version} of another version of the program, not ${own.version}`
      : `was filled from the log ${found.logId}, not from ${own.logId}`;
  return new StoreUnusable(
    `Elasticsearch, indices ${indexPrefix}*: the read model ${why}. ` +
      'Fill a new one beside it and put it in its place with `svc rebuild`, or name another CONTROL_ELASTICSEARCH_INDEX_PREFIX',
  );
}
