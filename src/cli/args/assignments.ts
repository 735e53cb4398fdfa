import { UsageError } from '../output/failures.js';

/** `KEY=VALUE` texts as a map; a value may hold further equals signs. Throws `UsageError` for any other text. */
export function parseTags(tags: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    tags.map((tag) => {
      const equals = tag.indexOf('=');
      if (equals < 1) throw new UsageError(`--tag is KEY=VALUE, not \`${tag}\``);
      return [tag.slice(0, equals), tag.slice(equals + 1)];
    }),
  );
}

/** A list in a merge patch: replaced, then without some elements, then with more. */
interface ListChange {
  $replace?: string[];
  $drop?: string[];
  $append?: string[];
}

const OPERATORS = { '=': '$replace', '-=': '$drop', '+=': '$append' } as const;

/**
 * The merge patch of `--set` options: `description=TEXT`, `tags.KEY=VALUE`, and with `memberLink`, which turns a written
 * member into a link, `memberLinks=`, `memberLinks+=` and `memberLinks-=` with elements separated by commas. Throws
 * `UsageError` for a property that cannot be set, or is set twice.
 */
export function patchOf(
  assignments: readonly string[],
  memberLink?: (written: string) => string,
): Record<string, unknown> {
  let description: string | undefined;
  const tags = new Map<string, string>();
  const members: ListChange = {};
  for (const assignment of assignments) {
    const [, key = '', operator, value = ''] = /^([^=]*?)(=|\+=|-=)(.*)$/s.exec(assignment) ?? [];
    if (operator === undefined) throw new UsageError(`--set is PROPERTY=VALUE, not \`${assignment}\``);
    const tag = /^tags\.(.+)$/s.exec(assignment.slice(0, assignment.indexOf('=')))?.[1];
    if (tag !== undefined) {
      if (tags.has(tag)) throw twice(`tags.${tag}`);
      tags.set(tag, assignment.slice(assignment.indexOf('=') + 1));
    } else if (key === 'description' && operator === '=') {
      if (description !== undefined) throw twice(key);
      description = value;
    } else if (key === 'memberLinks' && memberLink) {
      const list = OPERATORS[operator as keyof typeof OPERATORS];
      members[list] = [...(members[list] ?? []), ...elementsOf(value).map(memberLink)];
    } else {
      const known = ['description=TEXT', 'tags.KEY=VALUE', ...(memberLink ? ['memberLinks=, += or -='] : [])];
      throw new UsageError(`--set takes ${known.join(', ')}, not \`${assignment}\``);
    }
  }
  return {
    ...(description !== undefined && { description }),
    ...(tags.size > 0 && { tags: Object.fromEntries(tags) }),
    ...(Object.keys(members).length > 0 && { memberLinks: members }),
  };
}

/** Elements separated by commas, or a JSON array of texts. Nothing at all is the empty list. */
function elementsOf(value: string): string[] {
  if (!value.startsWith('[')) return value.split(',').filter((element) => element !== '');
  let list: unknown;
  try {
    list = JSON.parse(value);
  } catch {
    list = undefined;
  }
  if (Array.isArray(list) && list.every((element) => typeof element === 'string')) return list;
  throw new UsageError(`memberLinks is a list of texts, not \`${value}\``);
}

const twice = (key: string): UsageError => new UsageError(`--set gives ${key} twice`);
