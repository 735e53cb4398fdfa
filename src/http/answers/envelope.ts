/** A path on this API; its creator percent-encodes every part. */
export interface Link {
  readonly rel: 'self' | 'next' | 'resume';
  readonly href: string;
}

/**
 * The audit query result envelope of the specification, in parts. Items are JSON texts and are put in as they are, so that
 * what was recorded comes back digit for digit.
 */
export function eventsEnvelope(
  items: readonly string[],
  query: Readonly<Record<string, string>>,
  links: readonly Link[],
): string[] {
  const head = '{"kind":"queryresult","itemKind":"auditevent","items":[';
  return [head, ...withCommas(items), `],"query":${JSON.stringify(query)},"links":${JSON.stringify(links)}}`];
}

export function withCommas(items: readonly string[]): string[] {
  return items.flatMap((item, at) => (at === 0 ? [item] : [',', item]));
}

export function eventEnvelope(item: string, query: Readonly<Record<string, string>>, links: readonly Link[]): string {
  const head = '{"kind":"auditevent","itemKind":"auditevent","item":';
  return `${head}${item},"query":${JSON.stringify(query)},"links":${JSON.stringify(links)}}`;
}

/** What the `link` header of the answer about one event is for. */
export const LINKED_PROOF = 'the path of the proof that the event is in the history, `rel="proof"`';

/** The `link` header; the path is that of the event. */
export function proofLink(event: string): string {
  return `<${event}/-proof>; rel="proof"`;
}
