import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { ERRORS, type ErrorCode } from '../errors.js';
import { STATUSES } from '../http/statuses.js';
import { cliPage } from './cli-page.js';
import { openApiPage } from './openapi.js';

/**
 * Writes the generated pages of `docs/`. With `--check` it writes nothing, and fails where a page differs from what it
 * would write.
 */
const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/errors.md': errorsPage,
  'docs/cli.md': cliPage,
  'docs/openapi.json': openApiPage,
};

function errorsPage(): string {
  const rows = (Object.keys(ERRORS) as ErrorCode[])
    .sort((a, b) => STATUSES[a] - STATUSES[b])
    .map((code) => `| ${STATUSES[code]} | \`${code}\` | ${ERRORS[code].when} | ${ERRORS[code].remedy} |`);
  return `# Errors

Generated from \`src/errors.ts\` and \`src/http/statuses.ts\` by \`npm run docs\`; do not edit.

Every answer that is not a success carries this body, whoever gives it:

\`\`\`json
{ "status": 404, "message": "there is no such route", "code": "not_found", "details": {}, "id": "<request id>" }
\`\`\`

\`id\` is the request's id, also in the \`x-request-id\` header and in the service's log. \`message\` is for people and may
change; \`code\` is for programs and does not. 503 carries \`Retry-After\`.

| status | code | when | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

async function main(check: boolean): Promise<void> {
  const stale: string[] = [];
  for (const [path, render] of Object.entries(PAGES)) {
    const file = new URL(`../../${path}`, import.meta.url);
    const text = await render();
    if (!check) writeFileSync(file, text);
    else if (readFileSync(file, 'utf8') !== text) stale.push(path);
  }
  if (stale.length === 0) return;
  process.stderr.write(`not up to date: ${stale.join(', ')}; run "npm run docs" and commit what it writes\n`);
  process.exitCode = 1;
}

await main(process.argv.includes('--check'));
