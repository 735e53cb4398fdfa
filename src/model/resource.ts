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

/** Groups, service accounts, policies and organizations: 2 to 63 characters. */
export const NAME_PATTERN = '^[a-z][-a-z0-9]*[a-z0-9]$';
