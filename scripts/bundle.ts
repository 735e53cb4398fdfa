/**
 * Bundles the service into a few files beside the compiled modules: a start then reads 10 files and not 2,300. `svc` is
 * bundled too, in as many files as it has commands, each of which reads only what it needs.
 *
 *     node scripts/bundle.ts FOLDER               the folder that `compile` filled
 *     node scripts/bundle.ts --commands FOLDER    also `control-service`, into FOLDER/bin: it then runs without any package
 */
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** Packages that Nest loads only for what this service does not use; they are not installed. */
const ABSENT = [
  '@as-integrations/fastify',
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'class-transformer/storage',
];

/** Packages in CommonJS ask for parts of Node with `require`. */
const REQUIRE = `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);`;

/**
 * Takes parts of Node with `require`. An `import` reads every export once, which makes Node load its WebSocket, and a
 * fifth of the start, for `node:http` alone.
 */
const nodeParts: Plugin = {
  name: 'node-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?[a-z_/]+$/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'node' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/** Lets each module of `folder` find files relative to its own place, as if it had not been bundled. */
function ownPlaces(folder: string): Plugin {
  return {
    name: 'own-places',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const place = relative(folder, path);
        if (place.startsWith('..')) return undefined;
        const text = readFileSync(path, 'utf8');
        if (!text.includes('import.meta.')) return undefined;
        const url = `new URL(${JSON.stringify(`../${place}`)}, import.meta.url)`;
        const file = `process.getBuiltinModule('url').fileURLToPath(${url})`;
        const contents = text
          .replaceAll('import.meta.url', `${url}.href`)
          .replaceAll('import.meta.filename', file)
          .replaceAll('import.meta.dirname', `process.getBuiltinModule('path').dirname(${file})`);
        return { contents };
      });
    },
  };
}

const optionsFor = (folder: string): BuildOptions => ({
  absWorkingDir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Nest and the shapes go by the names of classes.
  keepNames: true,
  // For the profiler, beside the bundle. Node does not read them: with them, the first stack trace would take 85 MB for good.
  sourcemap: 'external',
  sourcesContent: false,
  external: ABSENT.flatMap((name) => [name, `${name}/*`]),
  banner: { js: REQUIRE },
  plugins: [nodeParts, ownPlaces(folder)],
  logLevel: 'error',
});

/** `main.js` becomes the program that starts the bundle. */
export async function bundle(folder: string): Promise<void> {
  await build({
    ...optionsFor(folder),
    entryPoints: ['main.js'],
    outdir: 'bundle',
  });
  await bundleSvc(folder);
  copyFileSync(join(import.meta.dirname, 'starter.js'), join(folder, 'main.js'));
  removeMaps(folder);
}

/** `cli/main.js` becomes the program, and `svc` has its parts. It runs without any package, on every Node that is maintained. */
async function bundleSvc(folder: string): Promise<void> {
  await build({
    ...optionsFor(folder),
    entryPoints: { 'cli/main': 'cli/main.js' },
    outdir: '.',
    allowOverwrite: true,
    chunkNames: 'svc/[name]-[hash]',
    target: 'node20',
    keepNames: false,
    sourcemap: false,
  });
}

/** Those of single modules, which those of the bundle contain. */
function removeMaps(folder: string): void {
  for (const map of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!map.endsWith('.js.map') || map.startsWith('bundle')) continue;
    const file = join(folder, map.slice(0, -'.map'.length));
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''));
    rmSync(join(folder, map));
  }
}

/** In a folder as deep as its own, so that `../main.js` is the service for it too. */
async function bundleCommands(folder: string): Promise<void> {
  const options = optionsFor(folder);
  await build({
    ...options,
    entryPoints: { 'control-service': 'operator/main.js' },
    outdir: 'bin',
    external: [...(options.external ?? []), '../main.js'],
  });
  chmodSync(join(folder, 'bin/control-service.js'), 0o755);
}

const [, script, ...args] = process.argv;
const folder = args.at(-1);
if (script === import.meta.filename && folder !== undefined) {
  await (args[0] === '--commands' ? bundleCommands(folder) : bundle(folder));
}
