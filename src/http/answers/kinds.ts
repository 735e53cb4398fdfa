import { RESOURCE_KINDS } from '../../kinds/kinds.js';
import type { ShapedKind } from '../../kinds/shaped-kind.js';
import { shapeSchemas } from '../../shapes/compiled.js';
import { ref } from './documented.js';
import { array, emailText, kind, list, object, origin, readBefore, resource, text } from './parts.js';

type Schema = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, Schema>>;

/** The schemas of each kind's responses, patches and replacements, derived from the shape of its documents. */
export function kindSchemas(shapes: ReturnType<typeof shapeSchemas>): Record<string, Record<string, unknown>> {
  return Object.assign({}, ...RESOURCE_KINDS.map((of) => schemasOf(of, shapes)));
}

/** Members that the service sets: as responses show them, and as a request may repeat them. */
const SHOWN: Members = {
  email: emailText('E-mail address, in lower case.'),
  idp: text('Identity provider of the user.'),
  origin,
  keys: array(ref('ShownKey'), 'Its keys, the oldest first, without their secrets.'),
};
const AS_READ = 'As it was read: refused if different.';
const REPEATED: Members = {
  name: text(AS_READ),
  email: text(AS_READ),
  idp: text(AS_READ),
  origin,
  keys: array({}, 'Ignored.'),
};

function schemasOf(of: ShapedKind, shapes: Readonly<Record<string, Schema>>): Record<string, Record<string, unknown>> {
  const shape = shapes[of.shape.name] as Schema;
  const { name, schema, plural, ref: named, assigned, shown } = of.kind;
  const sent = shape.properties as Members;
  const required = (shape.required ?? []) as readonly string[];
  const whole = Object.fromEntries(Object.entries(sent).map(([member, one]) => [member, unbounded(one)]));
  const patched = Object.entries(whole).map(([member, one]) => [
    member,
    of.patched?.[member] ?? (required.includes(member) ? anyObject(one) : nullable(one)),
  ]);
  const read: Members = { ...readBefore, ...kind(name), ...chosen(REPEATED, [named, ...assigned, ...shown]) };
  const items = array(ref(schema), `The ${plural}.`);
  const besides = chosen(SHOWN, [named, ...assigned, ...shown]);
  const patch: Members = { ...read, ...Object.fromEntries(patched) };
  const replacement: Members = { ...read, ...whole };
  return {
    [schema]: object({ ...kind(name), ...resource, ...besides, ...whole }, of.optional),
    [`${schema}List`]: list(name, items),
    [`${schema}Found`]: list(
      name,
      array({ anyOf: [ref(schema), { type: 'string' }] }, `The ${plural}, or with \`fetch=links\` their links.`),
    ),
    [`${schema}Patch`]: { ...object(patch, Object.keys(patch)), examples: [{ tags: { team: 'payments' } }] },
    [`${schema}Replacement`]: {
      ...object(
        replacement,
        Object.keys(replacement).filter((member) => !required.includes(member)),
      ),
      examples: [exampleOf(sent, required, shapes[of.creation?.name ?? ''])],
    },
  };
}

/** A replacement: what the example of a creation has of it, else its required members. */
function exampleOf(sent: Members, required: readonly string[], creation: Schema = {}): object {
  const [created = {}] = (creation.examples ?? []) as readonly Schema[];
  const shown = Object.entries(sent).map(([name, { examples }]) => [
    name,
    created[name] ?? (required.includes(name) ? (examples as readonly unknown[])[0] : undefined),
  ]);
  return Object.fromEntries(shown.filter(([, value]) => value !== undefined));
}

function chosen(members: Members, names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.includes(name)));
}

/** The schema without limits: a response may show values that an earlier version accepted. */
function unbounded(schema: Schema): Schema {
  const { $ref, type, items, additionalProperties, description, examples } = schema;
  const says = { ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) };
  if ($ref !== undefined) return { ...says, $ref };
  if (Array.isArray(schema.enum)) {
    return { ...says, ...(schema.enum.length === 1 ? { const: schema.enum[0] } : { enum: schema.enum }) };
  }
  if (items !== undefined) return { ...says, type, items: unbounded(items as Schema) };
  return {
    ...says,
    type,
    ...(additionalProperties !== undefined && { additionalProperties: ofMembers(additionalProperties, unbounded) }),
  };
}

/** A patch merges objects, so they need not be complete. */
function anyObject(schema: Schema): Schema {
  const { $ref, ...rest } = schema;
  return $ref === undefined ? schema : { ...rest, type: 'object', additionalProperties: true };
}

/** In a patch, `null` resets a member to its default. */
function nullable(schema: Schema): Schema {
  const { const: only, enum: words = only === undefined ? undefined : [only], ...others } = schema;
  if (Array.isArray(words)) return { ...others, enum: [...words, null] };
  const { type, additionalProperties, ...rest } = anyObject(schema);
  const members = additionalProperties !== undefined && {
    additionalProperties: ofMembers(additionalProperties, nullable),
  };
  return { type: [type, 'null'], ...rest, ...members };
}

/** What `additionalProperties` becomes: `true` stays. */
function ofMembers(members: unknown, change: (schema: Schema) => Schema): unknown {
  return members === true ? true : change(members as Schema);
}
