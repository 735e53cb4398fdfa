const LINK = /^\/org\/[^/]+\/([^/]+)\/([^/]+)$/;

/** What people call the resource of a link: a user by the e-mail address, others as `kind/name`; all else as it is. */
export function shortName(link: string): string {
  const [, kind, encoded] = LINK.exec(link) ?? [];
  if (kind === undefined || encoded === undefined) return link;
  try {
    const ref = decodeURIComponent(encoded);
    return kind === 'user' ? ref : `${kind}/${ref}`;
  } catch {
    return link;
  }
}
