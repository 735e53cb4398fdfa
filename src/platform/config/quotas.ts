import { QUOTA_KINDS, QUOTAS, type Quotas } from '../../contract/limits.js';
import type { Env } from '../env.js';

const MOST = 10_000_000;

export function readQuotas(env: Env): Quotas {
  const read = QUOTA_KINDS.map((kind) => {
    const { setting, usual } = QUOTAS[kind];
    return [kind, env.whole(setting, usual, 1, MOST)];
  });
  return Object.fromEntries(read) as Quotas;
}
