import { Ajv } from 'ajv';
import { schemas } from '../../src/http/answers/schemas.js';

const FORMATS: Readonly<Record<string, true>> = {
  'date-time': true,
  date: true,
  uuid: true,
  email: true,
  line: true,
  trimmed: true,
  instant: true,
  'no-control-characters': true,
};

/** What of the value is not as the API's description of this name says. */
export function undocumented(name: string, value: unknown): readonly string[] {
  const ajv = new Ajv({ allErrors: true, strict: false, formats: FORMATS });
  ajv.addSchema({ $id: 'api', components: { schemas: pointed(schemas()) } });
  const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` });
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** References as they are within the schema that holds them all. */
function pointed(all: object): object {
  return JSON.parse(JSON.stringify(all).replaceAll('"#/components/', '"api#/components/')) as object;
}
