import { describe, type ErrorBody } from '../../client/errors.js';

/** A failure as it is shown: what happened, and further lines below it. */
interface Told {
  readonly message: string;
  readonly lines: readonly string[];
}

/** The options of the command line, by which the fields of a request are named. */
export type Given = readonly { readonly name: string; readonly value: string | boolean }[];

const MOST_SHOWN = 60;

/** What a refusal says, once, in the words of the command line: no JSON pointers. */
export function tellRefusal(body: ErrorBody, given: Given = []): Told {
  const fields = body.details?.fields;
  if (!Array.isArray(fields) || fields.length === 0) return { message: describe(body), lines: [] };
  const lines = fields.map(({ pointer, reason }) => `${fieldName(pointer, given)}: ${reason}`);
  // The service's own message of faults repeats the first.
  if (body.code !== 'validation_failed') return { message: describe(body), lines };
  const [only = ''] = lines;
  return lines.length === 1
    ? { message: describe({ ...body, message: only }), lines: [] }
    : { message: describe({ ...body, message: `there are ${lines.length} faults` }), lines };
}

/** The option that a field came from, with its value; otherwise the field's path, such as `bindings[1].permissions[0]`. */
export function fieldName(pointer: string, given: Given): string {
  // Of a parameter `?NAME`, of a part of the path `path:NAME`, else a JSON pointer (RFC 6901).
  const [, ...raw] = pointer.replace(/^(\?|path:)/, '/').split('/');
  const steps = raw.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  for (let count = steps.length; count > 0; count -= 1) {
    const option = optionOf(steps.slice(0, count), steps[count], given);
    if (option !== undefined) return option;
  }
  const path = steps.reduce((text, step) => (/^\d+$/.test(step) ? `${text}[${step}]` : `${text}.${step}`), '').slice(1);
  const set = given.find(
    ({ name, value }) => name === '--set' && isWithin(path, String(value).split(/[+-]?=/)[0] ?? ''),
  );
  return set ? shown(set) : path || 'the body';
}

/** The option of this name, or the one of a list's items at the place, or with the key, that is the next step. */
function optionOf(steps: readonly string[], next: string | undefined, given: Given): string | undefined {
  const wanted = `--${steps.map(kebab).join('-')}`;
  const options = given.filter(({ name }) => name === wanted || `${name}s` === wanted);
  const [first, ...others] = options;
  if (!first || others.length === 0) return first && shown(first);
  const one = options[Number(next)] ?? options.find(({ value }) => String(value).startsWith(`${next}=`));
  return one ? shown(one) : first.name;
}

/** Whether the path is this one, or goes on from it. */
const isWithin = (path: string, whole: string): boolean =>
  path.startsWith(whole) && ['', '.', '['].includes(path.charAt(whole.length));

/** Long values are cut: they are in the command line. */
function shown({ name, value }: Given[number]): string {
  if (typeof value !== 'string') return name;
  return `${name} ${value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}…` : value}`;
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
