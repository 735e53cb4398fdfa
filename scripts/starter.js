// The build copies this to `dist/main.js`. It starts the bundled service (`scripts/bundle.ts`).
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Only this user may write what will be run.
process.umask(0o077);
// The first start leaves the compiled code here for the next ones. Where the folder cannot be written, nothing is kept.
enableCompileCache(fileURLToPath(new URL('../.compile-cache', import.meta.url)));
await import('./bundle/main.js');
