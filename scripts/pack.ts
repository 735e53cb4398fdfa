/** Builds `dist` of the package whose folder it runs in, which `npm pack` packs: modules, their types, and the license. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';

rmSync('dist', { recursive: true, force: true });
const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
const { status } = spawnSync(process.execPath, [compiler], { stdio: 'inherit' });
copyFileSync(join(ROOT, 'LICENSE'), 'dist/LICENSE');
process.exitCode = status ?? 1;
