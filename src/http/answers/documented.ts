import { SetMetadata } from '@nestjs/common';
import type { ErrorCode } from '../../contract/errors.js';
import type { PathParameters } from './paths.js';

type Schema = Record<string, unknown>;

/** What the OpenAPI document says of a route, beside what the route itself says. */
export interface Documentation {
  readonly summary: string;
  readonly path?: PathParameters;
  /** The shape of the query parameters. What the path fixes is not among them, though it is in the shape. */
  readonly query?: new () => object;
  /** Takes an `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** Takes `If-Match`. */
  readonly conditional?: boolean;
  /** Whether `If-None-Match` is answered with 304. */
  readonly revalidated?: boolean;
  /** The body by media type: the name of a schema, or a schema. */
  readonly body?: Readonly<Record<string, string | Schema>>;
  /** The body may be left out. */
  readonly bodyOptional?: boolean;
  /** Success responses by status: the name of a schema in `answers/schemas.ts`, or such names by media type. */
  readonly answers: Readonly<Record<number, string | Readonly<Record<string, string>>>>;
  /** Headers of the success responses. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors: readonly ErrorCode[];
  /** In place of the Error body: names of schemas by media type. */
  readonly refusals?: Readonly<Record<string, string>>;
}

/** Under which a handler keeps its documentation, with `open`: the route needs no key. */
export const DOCUMENTATION = Symbol('Documentation');

export interface RouteDocumentation extends Documentation {
  /** The name of the operation, and of the method that generated clients have for it: it never changes. */
  readonly operation: string;
  readonly open: boolean;
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Documents a route. `open`: it needs no key. Only the generator of the OpenAPI document reads it. */
export function Documented(operation: string, documentation: Documentation, open = false): MethodDecorator {
  return SetMetadata(DOCUMENTATION, { ...documentation, operation, open } satisfies RouteDocumentation);
}
