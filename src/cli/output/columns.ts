import type { Kind } from '../args/kinds.js';
import type { TimeStyle } from '../command.js';
import { shortName } from './short-name.js';
import type { Column } from './table.js';
import { formatTime } from './time.js';

/** A resource as the service sent it. Nothing is believed to be what it should be. */
export type Shown = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : String(value));

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const shown = (value: unknown): Shown => (typeof value === 'object' && value !== null ? (value as Shown) : {});

/** `KEY=VALUE, KEY=VALUE`. */
export const tagsText = (tags: unknown): string =>
  Object.entries(shown(tags))
    .map(([key, value]) => `${key}=${text(value)}`)
    .join(', ');

const linksText = (links: unknown): string =>
  list(links)
    .map((link) => shortName(text(link)))
    .join(',');

/** How members come to a group: `links`, `query` or both; `links` also where there are none yet. */
function filterText({ memberLinks, memberQuery }: Shown): string {
  if (memberQuery === undefined) return 'links';
  return list(memberLinks).length > 0 ? 'links,query' : 'query';
}

/** As `--binding` takes it. */
function bindingsText(bindings: unknown): string {
  return list(bindings)
    .map(shown)
    .map(({ permissions, principalLinks }) => `${list(permissions).map(text).join(',')}=${linksText(principalLinks)}`)
    .join('; ');
}

const portsText = (spec: unknown): string =>
  list(shown(spec).ports)
    .map(shown)
    .map(({ number, protocol }) => `${text(number)}/${text(protocol)}`)
    .join(', ');

/** The columns of a kind's text format. What people copy is never cut. */
export function columnsOf({ name }: Kind, style: TimeStyle): readonly Column<Shown>[] {
  const plain = (header: string, member: string): Column<Shown> => ({ header, value: (one) => text(one[member]) });
  const time = (header: string, member: string): Column<Shown> => ({
    header,
    value: (one) => formatTime(text(one[member]), style, Date.now()),
  });
  const described: Column<Shown>[] = [
    plain('NAME', 'name'),
    { ...plain('DESCRIPTION', 'description'), shrinks: true },
    time('CREATED', 'created'),
  ];
  const origin = plain('ORIGIN', 'origin');
  const tags: Column<Shown> = { header: 'TAGS', value: (one) => tagsText(one.tags), shrinks: true };
  switch (name) {
    case 'user':
      return [
        plain('ID', 'id'),
        { ...plain('FULL NAME', 'name'), shrinks: true },
        plain('EMAIL', 'email'),
        time('CREATED', 'created'),
        plain('IDENTITY PROVIDER', 'idp'),
        tags,
      ];
    case 'group':
      return [...described, { header: 'FILTER', value: filterText }, origin, tags];
    case 'serviceaccount':
      return [...described, { header: 'KEYS', value: ({ keys }) => String(list(keys).length) }, origin, tags];
    case 'policy':
      return [
        ...described,
        plain('TARGET KIND', 'targetKind'),
        {
          header: 'TARGET',
          value: ({ target, targetLinks }) => text(target) || linksText(targetLinks),
          shrinks: true,
        },
        { header: 'BINDINGS', value: ({ bindings }) => bindingsText(bindings), shrinks: true },
        origin,
        tags,
      ];
    case 'domain':
      return [
        ...described,
        { header: 'DNS MODE', value: ({ spec }) => text(shown(spec).dnsMode) },
        { header: 'PORTS', value: ({ spec }) => portsText(spec), shrinks: true },
        tags,
      ];
    case 'invitation':
      return [
        plain('ID', 'id'),
        plain('EMAIL', 'email'),
        plain('GROUP', 'group'),
        time('CREATED', 'created'),
        time('EXPIRES', 'expires'),
      ];
  }
}

/** What a resource is called in commands. */
export function nameOf({ name: kind }: Kind, { email, id, name }: Shown): string {
  if (kind === 'user') return text(email);
  return text(kind === 'invitation' ? id : name);
}
