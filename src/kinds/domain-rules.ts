import type { FieldFault } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { isObject } from '../model/merge-patch.js';
import { escapePointer } from '../platform/json-pointer.js';
import { type RegexCheck, regexFaults } from '../platform/regex/regex.js';
import { FORMATS } from '../shapes/shape.js';

/** What the shape does not say. Looks at a document of any shape, so that all faults are told at once. */
export function specFaults(spec: unknown, regexes: RegexCheck): FieldFault[] {
  const ports = items(member(spec, 'ports'));
  const faults: FieldFault[] = [];
  const numbers = new Map<unknown, number>();
  for (const [index, port] of ports.entries()) {
    const pointer = `/spec/ports/${index}`;
    const number = member(port, 'number');
    const first = number === undefined ? undefined : numbers.get(number);
    if (first === undefined) numbers.set(number, index);
    else faults.push({ pointer: `${pointer}/number`, reason: `is already used by port ${first}; use another` });
    faults.push(...portFaults(port, pointer, regexes));
  }
  return faults;
}

function portFaults(port: unknown, pointer: string, regexes: RegexCheck): FieldFault[] {
  const routes = items(member(port, 'routes')).flatMap((route, index) =>
    routeFaults(route, `${pointer}/routes/${index}`, regexes),
  );
  const origins = items(member(member(port, 'cors'), 'allowOrigins')).flatMap((origin, index) => {
    const at = `${pointer}/cors/allowOrigins/${index}`;
    const [exact, regex] = [member(origin, 'exact'), member(origin, 'regex')];
    if (isObject(origin) && exact === undefined && regex === undefined) {
      return [{ pointer: at, reason: 'requires exact or regex' }];
    }
    return regexFaults(regexes, regex, `${at}/regex`);
  });
  return [...routes, ...origins];
}

function routeFaults(route: unknown, pointer: string, regexes: RegexCheck): FieldFault[] {
  const set = member(member(member(route, 'headers'), 'request'), 'set');
  const unsound = Object.keys(isObject(set) ? set : {}).filter((name) => !FORMATS['http-token']?.(name));
  return [
    ...regexFaults(regexes, member(route, 'regex'), `${pointer}/regex`),
    ...regexFaults(regexes, member(route, 'hostRegex'), `${pointer}/hostRegex`),
    ...unsound.map((name) => ({
      pointer: `${pointer}/headers/request/set/${escapePointer(name)}`,
      reason: 'must be an HTTP header name: letters, digits and hyphens',
    })),
  ];
}

export function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function distinct(faults: readonly FieldFault[]): FieldFault[] {
  const byText = new Map(faults.map((fault) => [`${fault.pointer} ${fault.reason}`, fault]));
  return [...byText.values()].slice(0, LIMITS.faults);
}
