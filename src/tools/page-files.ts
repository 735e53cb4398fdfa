import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';

/**
 * Copies what the page at `/docs` is made of from its package, with its licence, into the build. The package itself stays
 * a tool of the build: it brings along another one that reports every installation to a third party.
 */
const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'];

const packages = createRequire(import.meta.url);
const folder = new URL('../swagger-ui/', import.meta.url);

mkdirSync(folder, { recursive: true });
for (const name of FILES) copyFileSync(packages.resolve(`swagger-ui-dist/${name}`), new URL(name, folder));
