import { ControlRefusal } from './refusal.js';

/** What every control resource has. `version` counts its changes from 1. */
export interface Resource {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
}

/** Tags of this prefix are the service's own. Throws `builtin_tag`, naming them. */
export function refuseBuiltinTags(tags: Resource['tags']): void {
  const builtin = Object.keys(tags).filter((key) => key.startsWith('svc/'));
  if (builtin.length === 0) return;
  throw new ControlRefusal(
    'builtin_tag',
    `tags beginning with svc/ are set by the service only: ${builtin.join(', ')}`,
  );
}

/** Groups, service accounts, policies and organizations: 2 to 63 characters. */
export const NAME_PATTERN = '^[a-z][-a-z0-9]*[a-z0-9]$';
