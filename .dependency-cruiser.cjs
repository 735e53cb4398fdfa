/** Which folder may import which. What is not named as allowed is forbidden. */
const layers = {
  model: [],
  'event-log': ['model'],
  'read-model': ['model', 'event-log'],
  progress: ['event-log'],
  // The read model tells what became of a record when nobody is left who saw it indexed.
  commands: ['model', 'event-log', 'progress', 'read-model'],
  queries: ['model', 'read-model'],
  projections: ['model', 'event-log', 'read-model', 'progress'],
  http: ['model', 'commands', 'queries'],
  contract: [],
  client: ['contract'],
  cli: ['contract', 'client'],
};

/** Files beside the folders that any layer of the server may use. */
const shared =
  '^src/(coalesced|errors|clock|ids|tokens|config|config-cluster|config-tls|env|sqlite|readiness|retry|together|late|store|metrics|tracing|service-secret|turns|places)\\.ts$';

/** The adapters: only the composition root makes them. */
const adapters = '^src/(event-log|read-model)/(embedded|kafka|elasticsearch)|^src/progress/in-process';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-cycles-in-svc',
      comment: 'Types neither.',
      severity: 'error',
      from: { path: '^src/(contract|client|cli)/' },
      to: { circular: true },
    },
    {
      name: 'model-imports-nothing-outside',
      comment: 'A digest is a pure function of its text.',
      severity: 'error',
      from: { path: '^src/model/' },
      to: { pathNot: '^src/model/|^(node:)?crypto$' },
    },
    ...Object.entries(layers)
      .filter(([layer]) => layer !== 'model')
      .map(([layer, allowed]) => ({
        name: `${layer}-sees-its-own-layers`,
        severity: 'error',
        from: { path: `^src/${layer}/` },
        to: {
          path: '^src/',
          pathNot: [
            `^src/(${[layer, ...allowed].join('|')})/`,
            ...(['contract', 'client', 'cli'].includes(layer) ? [] : [shared]),
          ],
        },
      })),
    {
      name: 'adapters-only-from-the-composition-root',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(store-embedded|store-cluster|tools/restore)\\.ts$|${adapters}` },
      to: { path: adapters },
    },
    {
      name: 'cli-starts-fast',
      comment: 'svc runs on its own: no framework, no store.',
      severity: 'error',
      from: { path: '^src/(cli|client)/' },
      to: { path: 'node_modules/(@nestjs|fastify|pino|rxjs|class-validator|ajv|kafkajs|@elastic)' },
    },
    {
      name: 'one-file-knows-sqlite',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(sqlite|event-log/embedded|read-model/embedded)' },
      to: { path: '^node:sqlite$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
