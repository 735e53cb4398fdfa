import { RESOURCE_KINDS } from '../../kinds/kinds.js';
import type { ShapedKind } from '../../kinds/shaped-kind.js';
import { shapeSchemas } from '../../shapes/compiled.js';
import { shownKey } from './keys.js';
import { array, emailText, list, object, origin, readBefore, resource, text } from './parts.js';

type Schema = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, Schema>>;

/** The schemas of each kind's responses, patches and replacements, derived from the shape of its documents. */
export function kindSchemas(shapes: ReturnType<typeof shapeSchemas>): Record<string, Record<string, unknown>> {
  return Object.assign({}, ...RESOURCE_KINDS.map((of) => schemasOf(of, shapes[of.shape.name] as Schema)));
}

/** Members that the service sets: as responses show them, and as a request may repeat them. */
const SHOWN: Members = { email: emailText, idp: text, origin, keys: array(shownKey()) };
const REPEATED: Members = { name: text, email: text, idp: text, origin, keys: array({}) };

function schemasOf(of: ShapedKind, shape: Schema): Record<string, Record<string, unknown>> {
  const { name, schema, ref, assigned, shown } = of.kind;
  const sent = shape.properties as Members;
  const required = (shape.required ?? []) as readonly string[];
  const kind = { kind: { const: name } };
  const whole = Object.fromEntries(Object.entries(sent).map(([member, one]) => [member, unbounded(one)]));
  const patched = Object.entries(whole).map(([member, one]) => [
    member,
    of.patched?.[member] ?? (required.includes(member) ? anyObject(one) : nullable(one)),
  ]);
  const read: Members = { ...readBefore, ...kind, ...chosen(REPEATED, [ref, ...assigned, ...shown]) };
  const besides = chosen(SHOWN, [ref, ...assigned, ...shown]);
  const patch: Members = { ...read, ...Object.fromEntries(patched) };
  const replacement: Members = { ...read, ...whole };
  return {
    [schema]: object({ ...kind, ...resource, ...besides, ...whole }, of.optional),
    [`${schema}List`]: list(name, schema),
    [`${schema}Patch`]: object(patch, Object.keys(patch)),
    [`${schema}Replacement`]: object(
      replacement,
      Object.keys(replacement).filter((member) => !required.includes(member)),
    ),
  };
}

function chosen(members: Members, names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.includes(name)));
}

/** The schema without limits: a response may show values that an earlier version accepted. */
function unbounded(schema: Schema): Schema {
  const { $ref, type, items, additionalProperties } = schema;
  if ($ref !== undefined) return { $ref };
  if (Array.isArray(schema.enum)) return schema.enum.length === 1 ? { const: schema.enum[0] } : { enum: schema.enum };
  if (items !== undefined) return array(unbounded(items as Schema));
  return {
    type,
    ...(additionalProperties !== undefined && { additionalProperties: unbounded(additionalProperties as Schema) }),
  };
}

/** A patch merges objects, so they need not be complete. */
function anyObject(schema: Schema): Schema {
  return '$ref' in schema ? { type: 'object' } : schema;
}

/** In a patch, `null` resets a member to its default. */
function nullable(schema: Schema): Schema {
  if ('const' in schema) return { enum: [schema.const, null] };
  if (Array.isArray(schema.enum)) return { enum: [...schema.enum, null] };
  const { type, additionalProperties, ...rest } = anyObject(schema);
  const members = additionalProperties as Schema | undefined;
  return { type: [type, 'null'], ...rest, ...(members && { additionalProperties: nullable(members) }) };
}
