import type { ApiClient } from '../../client/api-client.js';
import type { Settings } from '../profile/settings.js';
import { LogReader } from './log-reader.js';
import { type Observed, observe } from './observed.js';
import { Pins, pinFolder } from './pins.js';

/** Observes the newest checkpoint of an organization's log at the address that the settings name. */
export function pinnedLog(
  client: ApiClient,
  { auditEndpoint }: Pick<Settings, 'auditEndpoint'>,
  org: string,
  env: NodeJS.ProcessEnv,
  known: { readonly vkey?: string | undefined; readonly number?: number | undefined } = {},
): Promise<Observed> {
  const source = { log: new LogReader(client, org), address: `${auditEndpoint}/audit/org/${org}`, org, ...known };
  return observe(source, new Pins(pinFolder(env)));
}
