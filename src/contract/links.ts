export interface ParsedLink {
  readonly org: string;
  readonly kind: string;
  /** Name, or for a user the e-mail address or id. */
  readonly ref: string;
}

/** A link is the resource's path on the API, its reference percent-encoded only where a path needs it. */
export function linkTo(org: string, kind: string, ref: string): string {
  return `/org/${org}/${kind}/${encodeURIComponent(ref).replaceAll('%40', '@')}`;
}

const LINK = /^\/org\/([^/]+)\/([^/]+)\/([^/]+)$/;

/** Undefined for what is no link to a resource of an organization. */
export function parseLink(link: string): ParsedLink | undefined {
  const [, org, kind, encoded] = LINK.exec(link) ?? [];
  if (org === undefined || kind === undefined || encoded === undefined) return undefined;
  try {
    return { org, kind, ref: decodeURIComponent(encoded) };
  } catch {
    return undefined;
  }
}

/** What people call the resource of a link: its kind and reference, such as `group/devs`. */
export function nameOf(link: string): string {
  const { kind, ref } = parseLink(link) ?? {};
  return kind === undefined ? link : `${kind}/${ref}`;
}
