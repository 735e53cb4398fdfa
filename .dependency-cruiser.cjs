/** Which folder may import which others, top to bottom as in `docs/architecture.md`. What is not listed is forbidden. */
const layers = {
  contract: [],
  platform: ['contract'],
  model: ['contract'],
  tlog: ['contract'],
  'event-log': ['model', 'platform', 'contract'],
  'read-model': ['event-log', 'model', 'platform', 'contract'],
  'tree-store': ['tlog', 'platform', 'contract'],
  control: ['event-log', 'model', 'platform', 'contract'],
  progress: ['event-log', 'platform', 'contract'],
  sealing: ['control', 'progress', 'tree-store', 'tlog', 'event-log', 'model', 'platform', 'contract'],
  shapes: ['model', 'platform', 'contract'],
  kinds: ['shapes', 'model', 'platform', 'contract'],
  // The read model says what became of a record when nobody is left who saw it indexed.
  commands: ['kinds', 'sealing', 'control', 'progress', 'read-model', 'event-log', 'model', 'platform', 'contract'],
  queries: ['sealing', 'tree-store', 'tlog', 'control', 'read-model', 'model', 'platform', 'contract'],
  projections: ['control', 'progress', 'read-model', 'event-log', 'model', 'platform', 'contract'],
  http: ['commands', 'queries', 'kinds', 'shapes', 'tlog', 'control', 'model', 'platform', 'contract'],
  client: [],
  cli: ['client', 'tlog', 'contract'],
};

/** The adapters: only the composition root makes them. */
const adapters = '^src/(event-log|read-model|tree-store)/(embedded|kafka|elasticsearch)/';

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'one-loose-file',
      comment: 'Every file but the entry point belongs to a folder that says what it is for.',
      severity: 'error',
      from: { path: '^src/[^/]+$', pathNot: '^src/main\\.ts$' },
      to: {},
    },
    {
      name: 'model-imports-nothing-outside',
      comment: 'A digest is a pure function of its text.',
      severity: 'error',
      from: { path: '^src/model/' },
      to: { pathNot: '^src/(model|contract)/|^(node:)?crypto$' },
    },
    {
      name: 'contract-imports-nothing',
      severity: 'error',
      from: { path: '^src/contract/' },
      to: { pathNot: '^src/contract/' },
    },
    ...Object.entries(layers).map(([layer, allowed]) => ({
      name: `${layer}-sees-its-own-layers`,
      severity: 'error',
      from: { path: `^src/${layer}/` },
      to: { path: '^src/', pathNot: `^src/(${[layer, ...allowed].join('|')})/` },
    })),
    {
      name: 'adapters-only-from-the-composition-root',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/composition/|^src/operator/restore\\.ts$|${adapters}` },
      to: { path: adapters },
    },
    {
      name: 'adapters-apart',
      comment: 'An adapter of one store knows nothing of another.',
      severity: 'error',
      from: { path: '^src/(event-log|read-model|tree-store)/(embedded|kafka|elasticsearch)/' },
      to: { path: '^src/(event-log|read-model|tree-store)/(embedded|kafka|elasticsearch)/', pathNot: '^src/$1/$2/' },
    },
    {
      name: 'cli-starts-fast',
      comment: 'svc runs on its own: no framework, no store.',
      severity: 'error',
      from: { path: '^src/(cli|client|contract)/', pathNot: '^src/client/nest\\.ts$' },
      to: { path: 'node_modules/(@nestjs|fastify|pino|rxjs|class-validator|ajv|kafkajs|@elastic)' },
    },
    {
      name: 'client-without-dependencies',
      comment: 'The package @control-service/client has no dependencies; only its entry for Nest imports Nest.',
      severity: 'error',
      from: { path: '^src/client/', pathNot: '^src/client/nest\\.ts$' },
      to: { path: 'node_modules|^src/client/nest\\.ts$' },
    },
    {
      name: 'one-file-knows-sqlite',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(platform/sqlite|(event-log|read-model|tree-store)/embedded/)' },
      to: { path: '^node:sqlite$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/client/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
