/**
 * Bundles the service into a few files beside the compiled modules: a start then reads 10 files and not 2,300. `svc` stays
 * as it was compiled, because each of its verbs needs only a few modules.
 *
 *     node scripts/bundle.ts FOLDER    the folder that `compile` filled
 */
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

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

/** `main.js` becomes the program that starts the bundle. */
export async function bundle(folder: string): Promise<void> {
  await build({
    absWorkingDir: folder,
    entryPoints: ['main.js'],
    outdir: 'bundle',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Nest and the shapes go by the names of classes.
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    external: ABSENT.flatMap((name) => [name, `${name}/*`]),
    banner: { js: REQUIRE },
    plugins: [nodeParts, ownPlaces(folder)],
    logLevel: 'error',
  });
  copyFileSync(join(import.meta.dirname, 'starter.js'), join(folder, 'main.js'));
  removeMaps(folder);
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

const [, script, folder] = process.argv;
if (script === import.meta.filename && folder !== undefined) await bundle(folder);
