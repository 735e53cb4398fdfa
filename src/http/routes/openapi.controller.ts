import { readFileSync } from 'node:fs';
import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';

/** Pages come from this process alone: no script, style or call may lead elsewhere. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Control Service API</title><link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="page"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/page.js"></script></body>
</html>
`;

const SCRIPT = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#page', validatorUrl: null });\n";

/** Reads a file when it is first asked for, and keeps it. */
function once(read: () => string): () => string {
  let text: string | undefined;
  return () => {
    text ??= read();
    return text;
  };
}

/** The files of the page. */
const ASSETS: Readonly<Record<string, { readonly type: string; readonly text: () => string }>> = {
  'page.js': { type: 'text/javascript', text: () => SCRIPT },
  'swagger-ui.css': { type: 'text/css', text: once(() => pageFile('swagger-ui.css')) },
  'swagger-ui-bundle.js': { type: 'text/javascript', text: once(() => pageFile('swagger-ui-bundle.js')) },
};

/** The API's description, for programs and for people. */
@Controller()
export class OpenApiController {
  @Get('openapi.json')
  @Guarded('public')
  @Documented('getOpenApi', { summary: 'This document', answers: { 200: 'OpenApi' }, errors: [] }, true)
  document(@Res() reply: FastifyReply): void {
    reply.header('content-type', 'application/json; charset=utf-8').send(committedDocument());
  }

  @Get('docs')
  @Guarded('public')
  @Documented(
    'getDocs',
    { summary: 'This document as a page', answers: { 200: { 'text/html': 'Text' } }, errors: [] },
    true,
  )
  page(@Res() reply: FastifyReply): void {
    sendText(reply, 'text/html', PAGE);
  }

  @Get('docs/:asset')
  @Guarded('public')
  @Documented(
    'getDocsAsset',
    {
      summary: 'A file of the page',
      path: { asset: { description: 'name of the file', example: 'page.js' } },
      answers: { 200: { 'text/css': 'Text', 'text/javascript': 'Text' } },
      errors: ['not_found'],
    },
    true,
  )
  asset(@Param('asset') name: string, @Res() reply: FastifyReply): void {
    const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (!asset) throw new ControlError('not_found', 'no such file exists for this page');
    sendText(reply, asset.type, asset.text());
  }
}

/** The document as it is committed: the check that it is what the routes say is made before a change is taken. */
const committedDocument = once(() => readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));

/** The build copies the files of the page beside the program (`scripts/build.ts`). */
function pageFile(name: string): string {
  return readFileSync(new URL(`../../../dist/swagger-ui/${name}`, import.meta.url), 'utf8');
}

function sendText(reply: FastifyReply, type: string, text: string): void {
  reply.header('content-type', `${type}; charset=utf-8`).header('content-security-policy', POLICY).send(text);
}
