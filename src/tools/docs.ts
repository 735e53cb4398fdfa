import 'reflect-metadata';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { ERRORS, type ErrorCode } from '../contract/errors.js';
import { STATUSES } from '../http/errors/statuses.js';
import { cliPages } from './cli-pages.js';
import { clientTypes } from './client-types.js';
import { crds } from './crds.js';
import { openApiPage } from './openapi.js';

/** Folders that hold generated files only. */
const CLI_FOLDER = 'docs/cli';
const CRD_FOLDER = 'infra/crds';

/** The generated pages of `docs/`, types of the client and definitions for Kubernetes, by path. */
async function generatedPages(): Promise<ReadonlyMap<string, string>> {
  const openApi = await openApiPage();
  return new Map([
    ['docs/errors.md', errorsPage()],
    ['docs/openapi.json', openApi],
    ['src/client/api-types.ts', clientTypes(openApi)],
    ...(await cliPages(CLI_FOLDER)),
    ...crds(CRD_FOLDER, openApi),
  ]);
}

function errorsPage(): string {
  const rows = (Object.keys(ERRORS) as ErrorCode[])
    .sort((a, b) => STATUSES[a] - STATUSES[b])
    .map((code) => `| ${STATUSES[code]} | \`${code}\` | ${ERRORS[code].when} | ${ERRORS[code].remedy} |`);
  return `# Errors

Generated from \`src/contract/errors.ts\` and \`src/http/errors/statuses.ts\` by \`npm run docs\`; do not edit.

Every answer that is not a success carries this body, whoever gives it:

\`\`\`json
{ "status": 404, "message": "no such route exists", "code": "not_found", "details": {}, "id": "<request id>" }
\`\`\`

\`id\` is the request's id, also in the \`x-request-id\` header and in the service's log. \`message\` is for people and may
change; \`code\` is for programs and does not. 503 carries \`Retry-After\`.

| status | code | when | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** Writes the pages. With `--check` it writes nothing, and fails if one is not as it would be. */
async function main(check: boolean): Promise<void> {
  const pages = await generatedPages();
  const files = new Set([...pages.keys(), ...filesIn(CLI_FOLDER), ...filesIn(CRD_FOLDER)]);
  const stale = [...files].filter((path) => contentOf(path) !== pages.get(path));
  if (!check) for (const path of stale) write(path, pages.get(path));
  if (!check || stale.length === 0) return;
  process.stderr.write(`not up to date: ${stale.join(', ')}; run "npm run docs" and commit what it writes\n`);
  process.exitCode = 1;
}

const fileOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);

function filesIn(folder: string): string[] {
  if (!existsSync(fileOf(folder))) return [];
  return readdirSync(fileOf(folder)).map((name) => `${folder}/${name}`);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(fileOf(path), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A page that is generated no longer is removed. */
function write(path: string, text: string | undefined): void {
  if (text === undefined) return rmSync(fileOf(path));
  mkdirSync(new URL('.', fileOf(path)), { recursive: true });
  writeFileSync(fileOf(path), text);
}

await main(process.argv.includes('--check'));
