const LINK = /^\/org\/[^/]+\/([^/]+)\/([^/]+)$/;

/** What a link names: a kind and what the resource is called; all else is its own name. */
export function refOf(link: string): { kind: string; ref: string } {
  const [, kind, encoded] = LINK.exec(link) ?? [];
  if (kind === undefined || encoded === undefined) return { kind: '', ref: link };
  try {
    return { kind, ref: decodeURIComponent(encoded) };
  } catch {
    return { kind: '', ref: link };
  }
}

/** What people call the resource of a link: a user by the e-mail address, others as `kind/name`; all else as it is. */
export function shortName(link: string): string {
  const { kind, ref } = refOf(link);
  return kind === '' || kind === 'user' ? ref : `${kind}/${ref}`;
}
