import { applyDecorators, type INestApplication, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiSecurity,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { AppModule, type Parts } from '../composition/app.module.js';
import type { ErrorCode } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { DOCUMENTATION, type RouteDocumentation, ref } from '../http/answers/documented.js';
import { schemas } from '../http/answers/schemas.js';
import { retryAfter, STATUSES } from '../http/errors/statuses.js';
import { packageVersion } from '../platform/config/config.js';
import { shapeSchemas } from '../shapes/compiled.js';
import { forGenerators, usedSchemas } from './openapi-schemas.js';

/** The OpenAPI document as text, made from the routes without starting anything. */
export async function openApiPage(): Promise<string> {
  // In preview mode nothing is instantiated, so the parts need to be nothing but what the routes depend on.
  const module = AppModule.of({ config: { roles: new Set(['api']), tlog: {} } } as unknown as Parts);
  for (const controller of module.controllers ?? []) describeRoutes(controller);
  const app = await NestFactory.create(module, new FastifyAdapter({ skipMiddie: true } as object), {
    preview: true,
    logger: false,
  });
  const document = openApiDocument(app, packageVersion());
  await app.close();
  return `${JSON.stringify(withNamedWildcards(document), null, 2)}\n`;
}

/** OpenAPI has no wildcards, so each becomes a named parameter. */
function withNamedWildcards<Document extends { paths: Record<string, unknown> }>(document: Document): Document {
  const names: Readonly<Record<string, string>> = { name: 'resourceName', id: 'resourceId' };
  const rename = (path: string) =>
    path
      .replace(/\/resource\/(name|id)\/.*$/, (_, by) => `/resource/${by}/{${names[by]}}`)
      .replace(/\/tile\/.*$/, '/tile/{tile}');
  const paths = Object.fromEntries(Object.entries(document.paths).map(([path, item]) => [rename(path), item]));
  return { ...document, paths };
}

/** The OpenAPI document of the routes of an application. */
function openApiDocument(app: INestApplication, version: string): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Control Service')
    .setDescription('An organization-scoped audit log and control API. `docs/errors.md` describes the error codes.')
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'The service that shows this document')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'A key. It may also stand alone.' }, 'key')
    .build();
  const document = SwaggerModule.createDocument(app, config);
  type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
  const components = { ...document.components, schemas: usedSchemas(document.paths, schemas()) as Schemas };
  return forGenerators({ ...document, components }) as OpenAPIObject;
}

type Schema = Record<string, unknown>;

/** Errors of every route. */
const ALWAYS: readonly ErrorCode[] = ['request_timeout', 'uri_too_long', 'headers_too_large', 'not_ready', 'internal'];
/** Errors of every route with a body. */
const OF_A_BODY: readonly ErrorCode[] = [
  'validation_failed',
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
];
const GUARDED: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'state_unconfirmed',
  'read_model_unavailable',
];

/** Passes the documentation of a controller's routes to the generator. */
function describeRoutes({ prototype }: Type): void {
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const documentation: RouteDocumentation | undefined =
      typeof descriptor.value === 'function' ? Reflect.getMetadata(DOCUMENTATION, descriptor.value) : undefined;
    if (documentation) decorated(documentation)(prototype, name, descriptor);
  }
}

function decorated(documentation: RouteDocumentation): MethodDecorator {
  const {
    operation,
    summary,
    path = {},
    query,
    idempotent,
    conditional,
    revalidated,
    body,
    answers,
    headers = {},
    errors,
    open,
  } = documentation;
  const { bodyOptional = false, refusals = { 'application/json': 'Error' } } = documentation;
  const json = (schema: string) => ({ 'application/json': { schema: ref(schema) } });
  const answerHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
  const parts: MethodDecorator[] = [
    ApiOperation({
      operationId: operation,
      summary,
      ...(body && { requestBody: bodyOf(body, !bodyOptional) }),
      ...(open && { security: [] }),
    }),
  ];
  for (const [name, { description, example }] of Object.entries(path)) {
    parts.push(ApiParam({ name, description, schema: { type: 'string', examples: [example] } }));
  }
  if (query) parts.push(...queryParameters(query, Object.keys(path)));
  if (idempotent)
    parts.push(ApiHeader({ name: 'Idempotency-Key', required: false, schema: KEY, description: KEY_USE }));
  if (conditional) parts.push(ApiHeader({ name: 'If-Match', required: false, schema: TAG, description: TAG_USE }));
  if (revalidated) {
    parts.push(ApiHeader({ name: 'If-None-Match', required: false, schema: KNOWN, description: KNOWN_USE }));
    parts.push(ApiResponse({ status: 304, description: 'The caller has this version', headers: answerHeaders }));
  }
  for (const [status, answer] of Object.entries(answers)) {
    const content = typeof answer === 'string' ? json(answer) : byType(answer);
    const shown = { status: Number(status), description: summary, headers: answerHeaders };
    parts.push(ApiResponse(answer === NO_CONTENT ? shown : { ...shown, content }));
  }
  const all = [...(body ? OF_A_BODY : []), ...errors, ...ALWAYS, ...(open ? [] : GUARDED)];
  for (const [status, codes] of byStatus(all)) {
    const description = codes.map((code) => `\`${code}\``).join(', ');
    const isTemporary = codes.every((code) => retryAfter(code) !== undefined);
    parts.push(
      ApiResponse({ status, description, content: byType(refusals), ...(isTemporary && { headers: RETRY_AFTER }) }),
    );
  }
  if (!open) parts.push(ApiSecurity('key'));
  return applyDecorators(...parts);
}

/** In place of a schema: the response has no body. */
const NO_CONTENT = 'Nothing';

function byType(answer: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(answer).map(([type, name]) => [type, { schema: ref(name) }]));
}

const RETRY_AFTER = {
  'Retry-After': {
    description: 'After how many seconds to try again.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
};
const KEY = { type: 'string', minLength: 1, maxLength: LIMITS.idempotencyKey, examples: ['order-4711-cancelled'] };
const TAG = { type: 'string', pattern: '^("[0-9]{1,15}(-[0-9]{1,15})?"|\\*)$', examples: ['"3"'] };
const TAG_USE = 'The ETag of the version that was read: refused with 412 when the resource has another.';
const KNOWN = { type: 'string', examples: ['"3"'] };
const KNOWN_USE = 'ETags of versions that the caller has: 304 and no body if the resource has one of them.';
const KEY_USE =
  'The same key identifies the same request: a retry returns the first response, and another body is refused. Keys of events are known for as long as the event is kept, others for 24 hours.';

function bodyOf(body: NonNullable<RouteDocumentation['body']>, required: boolean) {
  const content = Object.entries(body).map(([type, schema]) => [
    type,
    { schema: typeof schema === 'string' ? ref(schema) : schema },
  ]);
  return { required, content: Object.fromEntries(content) };
}

/** Of the shape, but for what the path fixes. */
function queryParameters(shape: new () => object, fixed: readonly string[]): MethodDecorator[] {
  const { properties = {} } = shapeSchemas('#/components/schemas/')[shape.name] as {
    properties?: Record<string, Schema>;
  };
  return Object.entries(properties)
    .filter(([name]) => !fixed.includes(name))
    .map(([name, { description, examples, textOf, ...text }]) => {
      const schema = { ...((textOf as Schema | undefined) ?? text), ...(Array.isArray(examples) && { examples }) };
      return ApiQuery({ name, required: false, description: description as string, schema });
    });
}

function byStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of codes) statuses.set(STATUSES[code], [...(statuses.get(STATUSES[code]) ?? []), code]);
  return statuses;
}
