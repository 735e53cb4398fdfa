import { UsageError } from '../output/failures.js';
import type { Profile } from './store.js';

const DEFAULT_ENDPOINT = 'http://127.0.0.1:8080';

/** The options of one call. */
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

/** Settings, and where they are from, for messages. */
type Level = { from: string } & { [Member in keyof Profile]?: string | undefined };

type FindProfile = (name: string | undefined) => Promise<{ name: string; profile: Profile } | undefined>;

/**
 * The command line before the environment before the profile before the default. The profile is read only when something
 * is left to find, so that a call which is complete without it also works without a readable profile file.
 *
 * Within one level the audit endpoint defaults to that level's endpoint: `--endpoint` moves audit calls too, whatever
 * the profile says about them.
 */
export async function resolveSettings(
  { profile, org, token, endpoint }: RequestFlags,
  env: NodeJS.ProcessEnv,
  find: FindProfile,
): Promise<Settings> {
  const { SVC_ORG, SVC_TOKEN, SVC_ENDPOINT, SVC_AUDIT_ENDPOINT } = env;
  refuseEmpty({ '--profile': profile, '--org': org, '--token': token, '--endpoint': endpoint });
  refuseEmpty({ SVC_PROFILE: env.SVC_PROFILE, SVC_ORG, SVC_TOKEN, SVC_ENDPOINT, SVC_AUDIT_ENDPOINT });
  const levels: Level[] = [
    { from: 'the command line', org, token, endpoint },
    {
      from: 'the environment',
      org: SVC_ORG,
      token: SVC_TOKEN,
      endpoint: SVC_ENDPOINT,
      auditEndpoint: SVC_AUDIT_ENDPOINT,
    },
  ];
  const named = profile ?? env.SVC_PROFILE;
  const isComplete = (['org', 'token', 'endpoint'] as const).every((key) => levels.some((level) => level[key]));
  const found = named !== undefined || !isComplete ? await find(named) : undefined;
  if (found) levels.push({ ...found.profile, from: `profile ${found.name}` });
  levels.push({ from: 'the default', endpoint: DEFAULT_ENDPOINT });
  const first = (read: (level: Level) => string | undefined, check?: (value: string, from: string) => string) => {
    const level = levels.find(read);
    const value = level && read(level);
    return value && check ? check(value, level.from) : value;
  };
  return {
    profile: found?.name,
    org: first((level) => level.org),
    token: first((level) => level.token, checkToken),
    endpoint: first((level) => level.endpoint, checkEndpoint) ?? DEFAULT_ENDPOINT,
    auditEndpoint: first((level) => level.auditEndpoint || level.endpoint, checkEndpoint) ?? DEFAULT_ENDPOINT,
  };
}

/** An empty text is a variable of a script that was not set: to go on as somebody else would be a surprise. */
function refuseEmpty(given: Readonly<Record<string, string | undefined>>): void {
  const name = Object.keys(given).find((one) => given[one] === '');
  if (name === undefined) return;
  throw new UsageError(`${name} is empty`, [
    name.startsWith('-') ? 'give a value, or leave it out' : `set it, or \`unset ${name}\``,
  ]);
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
export function checkToken(text: string, from: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return text;
  throw new UsageError(`the token of ${from} is not a key: it holds white space or characters beyond ASCII`);
}
