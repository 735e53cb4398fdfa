import type { Kind } from '../../contract/kinds.js';

/** A parameter of a path, as the OpenAPI document shows it. */
interface PathParameter {
  readonly description: string;
  readonly example: string;
}

export type PathParameters = Readonly<Record<string, PathParameter>>;

export const ORG_PATH = { org: { description: 'name of the organization', example: 'acme' } };
export const CONTEXT_PATH = {
  ...ORG_PATH,
  contextName: { description: 'name of the audit context', example: 'orders' },
};
export const EVENT_PATH = {
  ...ORG_PATH,
  id: { description: 'identifier of the event', example: '01890a5d-ac96-774b-bcce-b302099a8057' },
};

/** Of a path to one resource of the kind. */
export function refPathOf({ ref, noun, example }: Kind): PathParameters {
  const named = ref === 'email' ? `e-mail address of the ${noun}, in any case, or its id` : `${ref} of the ${noun}`;
  return { ...ORG_PATH, ref: { description: named, example } };
}
