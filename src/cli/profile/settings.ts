import { UsageError } from '../output/failures.js';
import type { Profile } from './store.js';

const DEFAULT_ENDPOINT = 'http://127.0.0.1:8080';

/** What the flags of one call say; an empty text counts as not given. */
export interface RequestFlags {
  profile?: string | undefined;
  org?: string | undefined;
  token?: string | undefined;
  endpoint?: string | undefined;
}

/** Where a call goes, and as whom. */
export interface Settings {
  profile: string | undefined;
  org: string | undefined;
  token: string | undefined;
  endpoint: string;
  auditEndpoint: string;
}

interface Level {
  from: string;
  org: string | undefined;
  token: string | undefined;
  endpoint: string | undefined;
  auditEndpoint: string | undefined;
}

type FindProfile = (name: string | undefined) => Promise<{ name: string; profile: Profile } | undefined>;

/**
 * Flag before environment before profile before default. The profile is read only when something is left to find, so
 * that a call which is complete without it also works without a readable profile file.
 *
 * Within one level the audit endpoint defaults to that level's endpoint: `--endpoint` moves audit calls too, whatever
 * the profile says about them.
 */
export async function resolveSettings(
  flags: RequestFlags,
  env: NodeJS.ProcessEnv,
  find: FindProfile,
): Promise<Settings> {
  const levels: Level[] = [
    {
      from: 'the command line',
      org: flags.org,
      token: flags.token,
      endpoint: flags.endpoint,
      auditEndpoint: undefined,
    },
    {
      from: 'the environment',
      org: env.SVC_ORG,
      token: env.SVC_TOKEN,
      endpoint: env.SVC_ENDPOINT,
      auditEndpoint: env.SVC_AUDIT_ENDPOINT,
    },
  ];
  const named = flags.profile || env.SVC_PROFILE || undefined;
  const complete = (['org', 'token', 'endpoint'] as const).every((key) => levels.some((level) => level[key]));
  const found = named !== undefined || !complete ? await find(named) : undefined;
  if (found) {
    const { org, token, endpoint, auditEndpoint } = found.profile;
    levels.push({ from: `profile ${found.name}`, org, token, endpoint, auditEndpoint });
  }
  const token = first(levels, (level) => level.token);
  if (token) checkToken(token.value, token.from);
  const endpoint = first(levels, (level) => level.endpoint);
  const audit = first(levels, (level) => level.auditEndpoint || level.endpoint);
  return {
    profile: found?.name,
    org: first(levels, (level) => level.org)?.value,
    token: token?.value,
    endpoint: endpoint ? checkEndpoint(endpoint.value, endpoint.from) : DEFAULT_ENDPOINT,
    auditEndpoint: audit ? checkEndpoint(audit.value, audit.from) : DEFAULT_ENDPOINT,
  };
}

function first(
  levels: Level[],
  read: (level: Level) => string | undefined,
): { value: string; from: string } | undefined {
  for (const level of levels) {
    const value = read(level);
    if (value) return { value, from: level.from };
  }
  return undefined;
}

/** An address without its trailing slash; it may have a path, as behind a gateway. */
export function checkEndpoint(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new UsageError(`the endpoint \`${text}\` of ${from} is not an address such as ${DEFAULT_ENDPOINT}`);
  }
  return url.href.replace(/\/+$/, '');
}

/** A token travels in a header: visible ASCII only. The message never repeats it. */
export function checkToken(text: string, from: string): void {
  if (!/^[\x21-\x7e]{1,4096}$/.test(text)) {
    throw new UsageError(`the token of ${from} is not a key: it holds white space or characters beyond ASCII`);
  }
}
