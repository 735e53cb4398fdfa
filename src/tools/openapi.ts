import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule, type Parts } from '../composition/app.module.js';
import { packageVersion } from '../platform/config/config.js';
import { openApiDocument } from './openapi-document.js';
import { describeRoutes } from './openapi-routes.js';

/** The OpenAPI document as text, made from the routes without starting anything. */
export async function openApiPage(): Promise<string> {
  // In preview mode nothing is instantiated, so the parts need to be nothing but what the routes depend on.
  const module = AppModule.of({ config: { roles: new Set(['api']) } } as unknown as Parts);
  for (const controller of module.controllers ?? []) describeRoutes(controller);
  const app = await NestFactory.create(module, new FastifyAdapter({ skipMiddie: true } as object), {
    preview: true,
    logger: false,
  });
  const document = openApiDocument(app, packageVersion());
  await app.close();
  return `${JSON.stringify(withNamedWildcards(document), null, 2)}\n`;
}

/** OpenAPI has no wildcard; the name of the parameter says what it stands for. */
function withNamedWildcards<Document extends { paths: Record<string, unknown> }>(document: Document): Document {
  const names: Readonly<Record<string, string>> = { name: 'resourceName', id: 'resourceId' };
  const rename = (path: string) =>
    path.replace(/\/resource\/(name|id)\/.*$/, (_, by) => `/resource/${by}/{${names[by]}}`);
  const paths = Object.fromEntries(Object.entries(document.paths).map(([path, item]) => [rename(path), item]));
  return { ...document, paths };
}
