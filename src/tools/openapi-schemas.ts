type Schema = Readonly<Record<string, unknown>>;

/** The schemas that the paths refer to, and those that these refer to. */
export function usedSchemas(paths: object, all: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const used: Record<string, Schema> = {};
  const collect = (part: object) => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = all[name];
      if (schema === undefined || used[name] !== undefined) continue;
      used[name] = schema;
      collect(schema);
    }
  };
  collect(paths);
  return used;
}

/** The document, with every schema written as generators of clients understand it. */
export function forGenerators(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(forGenerators);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).map(([name, value]) => [name, isValue(name) ? value : forGenerators(value)]);
  return [withType, withWidth, withoutTypeLists, withoutRulesBesideRef, withoutArraysAsAlternatives].reduce(
    (schema, rewrite) => rewrite(schema),
    Object.fromEntries(members) as Schema,
  );
}

/** Whether the keyword has values and no schemas. */
function isValue(keyword: string): boolean {
  return keyword === 'enum' || keyword === 'const' || keyword === 'examples';
}

/** Names the type of what is one of some values, which is implied. */
function withType(schema: Schema): Schema {
  const { enum: values = 'const' in schema ? [schema.const] : undefined } = schema;
  if (!Array.isArray(values) || schema.type !== undefined) return schema;
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  return { type: types.length === 1 ? types[0] : types, ...schema };
}

/** Go and Java have integers of 32 bits unless a schema says otherwise. */
function withWidth(schema: Schema): Schema {
  const { type, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const isWide = [type].flat().includes('integer') && Number(maximum) > 2 ** 31 - 1;
  return isWide ? { ...schema, format: 'int64' } : schema;
}

const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'propertyNames'],
  array: ['items', 'minItems', 'maxItems'],
};

/** Objects and arrays among several types become alternatives. */
function withoutTypeLists(schema: Schema): Schema {
  const { type: types, ...rest } = schema;
  if (!Array.isArray(types) || !types.some((type) => type in OF_TYPE)) return schema;
  const anyOf = types.map((type: string) => {
    const own = Object.entries(rest).filter(([keyword]) => OF_TYPE[type]?.includes(keyword));
    return { type, ...Object.fromEntries(own) };
  });
  const others = Object.entries(rest).filter(([keyword]) => !Object.values(OF_TYPE).flat().includes(keyword));
  return { ...Object.fromEntries(others), anyOf };
}

/** A rule besides the schema that is referred to would become a type of its own. Its description says it. */
function withoutRulesBesideRef(schema: Schema): Schema {
  const { anyOf: _rule, ...rest } = schema;
  return schema.$ref === undefined ? schema : rest;
}

/** Java and Go have no type for an array or something else: then it is of any type, and its description says of which. */
function withoutArraysAsAlternatives(schema: Schema): Schema {
  const { oneOf, anyOf, ...rest } = schema;
  const alternatives = [oneOf, anyOf].flat() as readonly (Schema | undefined)[];
  return alternatives.some((one) => one?.type === 'array') ? rest : schema;
}
