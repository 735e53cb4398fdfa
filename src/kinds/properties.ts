import { shapeSchemas } from '../shapes/compiled.js';
import type { ShapedKind } from './shaped-kind.js';

type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

/** Members of every resource, besides those of its shape and kind. */
const OF_EVERY_KIND = ['kind', 'id', 'version', 'created', 'lastModified', 'links'];
/** Members outside the shapes that have members themselves. */
const WITH_MEMBERS = ['links', 'keys'];

let known: Schemas | undefined;

/** Why a resource of the kind never has a property at this path, such as `spec.ports.0.number`; undefined if it can. */
export function propertyFault({ kind, shape }: Pick<ShapedKind, 'kind' | 'shape'>, path: string): string | undefined {
  known ??= shapeSchemas('');
  const schemas = known[shape.name] === undefined ? shapeSchemas('') : known;
  const sent = membersOf(schemas[shape.name] ?? {});
  const others = [...OF_EVERY_KIND, kind.ref, ...kind.assigned, ...kind.shown];
  const [first = '', ...rest] = path.split('.');
  const exists = Object.hasOwn(sent, first)
    ? leads(sent[first] as Schema, rest, schemas)
    : others.includes(first) && (rest.length === 0 || WITH_MEMBERS.includes(first));
  if (exists) return undefined;
  const names = [...new Set([...others, ...Object.keys(sent)])].sort();
  return `is no property of a ${kind.noun}; paths begin with ${names.join(', ')}`;
}

function membersOf(schema: Schema): Schemas {
  return (schema.properties ?? {}) as Schemas;
}

/** Whether a value of the schema can have a member at the path. */
function leads(schema: Schema, path: readonly string[], schemas: Schemas): boolean {
  const { $ref, type, items, additionalProperties } = schema;
  if (typeof $ref === 'string') return leads(schemas[$ref] ?? {}, path, schemas);
  const [name, ...rest] = path;
  if (name === undefined) return true;
  if (type === 'array') return /^\d+$/.test(name) && (!items || leads(items as Schema, rest, schemas));
  const members = membersOf(schema);
  if (Object.hasOwn(members, name)) return leads(members[name] as Schema, rest, schemas);
  if (typeof additionalProperties === 'object') return leads(additionalProperties as Schema, rest, schemas);
  // A schema that does not say what it is may be of anything.
  return type === undefined && schema.enum === undefined && schema.properties === undefined;
}
