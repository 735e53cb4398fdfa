import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { runTool, withTool } from '../support/tools.js';

const CHART = 'infra/chart';

/** The process ends within this time after its drain time: `STOP_MS` in src/main.ts. */
const STOP_SECONDS = 8;

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly resources: { readonly requests: object; readonly limits: { readonly memory: string } };
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

interface Pod {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly securityContext: object;
    readonly terminationGracePeriodSeconds: number;
    readonly containers: readonly [Container];
    readonly volumes: readonly { readonly name: string }[];
  };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: object;
    readonly template: Pod;
    readonly selector: { readonly matchLabels: Record<string, string> };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly maxUnavailable?: number;
  };
}

const CLUSTER = [
  ...['store=cluster', 'secretName=own', 'tlsSecretName=tls', 'cluster.kafka.brokers=kafka:9093'],
  ...['cluster.kafka.username=control', 'cluster.kafka.passwordSecretName=kafka', 'cluster.kafka.caSecretName=ca'],
  ...['cluster.elasticsearch.url=https://es:9200', 'cluster.elasticsearch.apiKeySecretName=es'],
];

const template = (settings: readonly string[]) =>
  runTool(
    'helm',
    'template',
    'control',
    CHART,
    '--kube-version',
    '1.31.0',
    ...settings.flatMap((one) => ['--set', one]),
  );

function render(...settings: string[]): Manifest[] {
  const { code, out, err } = template(settings);
  expect(err).toBe('');
  expect(code).toBe(0);
  return parseAllDocuments(out)
    .filter(({ contents }) => contents !== null)
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Manifest;
    });
}

const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((one) => one.kind === kind);
const envOf = ({ spec }: Pod) => new Map(spec.containers[0].env.map(({ name, value }) => [name, value]));

/** By a Service, which has the labels right in its selector, or by anything else. */
const isSelected = ({ spec }: Manifest, { metadata }: Pod) =>
  Object.entries(spec.selector.matchLabels ?? spec.selector).every(([name, value]) => metadata.labels[name] === value);

withTool('helm', 'version')('the chart', () => {
  test('passes the linter without a warning, with the values of either store', () => {
    for (const settings of [[], CLUSTER]) {
      const { code, out } = runTool('helm', 'lint', '--strict', CHART, ...settings.flatMap((one) => ['--set', one]));
      expect(out).not.toMatch(/WARNING|ERROR/);
      expect(code).toBe(0);
    }
  });

  test('the embedded store is one pod with a volume that outlives the release', () => {
    const manifests = render();
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(['Service', 'StatefulSet']);
    const [set] = ofKind(manifests, 'StatefulSet') as [Manifest];
    expect(set.spec).toMatchObject({
      replicas: 1,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    });
    const [claim] = set.spec.volumeClaimTemplates ?? [];
    const { volumeMounts } = set.spec.template.spec.containers[0];
    const mounted = volumeMounts.find(({ name }) => name === claim?.metadata.name);
    const folder = envOf(set.spec.template).get('CONTROL_DATA_DIR');
    // The mount point belongs to root: the service closes only a folder of its own to others.
    expect(folder?.startsWith(`${mounted?.mountPath}/`)).toBe(true);
  });

  test('a cluster is a Deployment for each role, each with a budget of one disrupted pod', () => {
    const manifests = render(...CLUSTER);
    const deployments = ofKind(manifests, 'Deployment');
    const roles = deployments.map(({ spec }) => envOf(spec.template).get('CONTROL_ROLES'));
    expect(roles).toEqual(['api', 'projector']);
    for (const { spec } of deployments) {
      expect(spec.replicas).toBeGreaterThan(1);
      expect(spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
      const budgets = ofKind(manifests, 'PodDisruptionBudget').filter((one) => isSelected(one, spec.template));
      expect(budgets.map((budget) => budget.spec.maxUnavailable)).toEqual([1]);
    }
    const [service] = ofKind(manifests, 'Service') as [Manifest];
    expect(deployments.map(({ spec }) => isSelected(service, spec.template))).toEqual([true, false]);
  });

  test('only projectors get the key that signs checkpoints', () => {
    const deployments = ofKind(render(...CLUSTER, 'cluster.checkpointKeySecretName=checkpoints'), 'Deployment');
    const keys = deployments.map(({ spec: { template } }) => {
      const file = envOf(template).get('CONTROL_CHECKPOINT_KEY_FILE');
      const { volumeMounts } = template.spec.containers[0];
      const mount = volumeMounts.find(({ mountPath }) => file?.startsWith(`${mountPath}/`));
      const volumes = template.spec.volumes.filter(({ name }) => name === 'checkpoint-key');
      return { file, isReadOnly: mount?.readOnly, volumes };
    });
    expect(keys).toEqual([
      { file: undefined, isReadOnly: undefined, volumes: [] },
      {
        file: '/run/control/checkpoint-key/checkpoint.key',
        isReadOnly: true,
        volumes: [{ name: 'checkpoint-key', secret: expect.objectContaining({ secretName: 'checkpoints' }) }],
      },
    ]);
  });

  test('versions that may not be mixed can be replaced at once', () => {
    const deployments = ofKind(render(...CLUSTER, 'cluster.strategy=Recreate'), 'Deployment');
    expect(deployments.map(({ spec }) => spec.strategy)).toEqual([{ type: 'Recreate' }, { type: 'Recreate' }]);
  });

  test.each([
    ['embedded', []],
    ['cluster', CLUSTER],
  ])('%s: a pod cannot do more than it needs, and is not confused by the names of Services', (_store, settings) => {
    for (const { spec } of render(...settings)) {
      if (!spec.template) continue;
      const pod = spec.template.spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const [{ resources, securityContext }] = pod.containers;
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources).toMatchObject({ requests: { cpu: expect.anything(), memory: expect.anything() } });
      expect(resources.limits.memory).toMatch(/^\d+[MG]i$/);
    }
  });

  test.each([
    ['embedded', []],
    ['cluster', CLUSTER],
    ['with a longer drain time', [...CLUSTER, 'cluster.api.drainSeconds=120']],
  ])('%s: the probes ask the routes of the service, and a pod has time to drain', (_case, settings) => {
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
    for (const { spec } of render(...settings)) {
      if (!spec.template) continue;
      const [{ startupProbe, livenessProbe, readinessProbe }] = spec.template.spec.containers;
      for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
        expect(Object.keys(paths)).toContain(httpGet.path);
        expect(httpGet.scheme).toBe(settings.includes('tlsSecretName=tls') ? 'HTTPS' : 'HTTP');
      }
      expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
        ...['/health/live', '/health/live', '/health/ready'],
      ]);
      const drainSeconds = Number(envOf(spec.template).get('CONTROL_DRAIN_MS')) / 1_000;
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds + STOP_SECONDS);
      // Whoever goes by readiness has passed the pod over before it stops.
      const noticed = readinessProbe.periodSeconds * readinessProbe.failureThreshold;
      if (drainSeconds > 0) expect(drainSeconds).toBeGreaterThan(2 * noticed);
    }
  });

  test.each([
    ['embedded', ['secretName=own', 'env.CONTROL_LOG_LEVEL=warn']],
    ['cluster', CLUSTER],
  ])('%s: the service reads every setting, and every file is in a Secret that is mounted', (_store, all) => {
    const folder = 'src/platform/config';
    const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
    const isRead = (name: string) => sources.join().includes(name.replace(/_FILE$/, ''));
    for (const { spec } of render(...all)) {
      if (!spec.template) continue;
      const { containers, volumes } = spec.template.spec;
      const [{ env, volumeMounts }] = containers;
      const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata);
      const known = [...volumes, ...claims].map(({ name }) => name);
      expect(known).toEqual(expect.arrayContaining(volumeMounts.map(({ name }) => name)));
      expect(env.filter(({ name }) => !isRead(name))).toEqual([]);
      for (const { value } of env.filter(({ name }) => name.endsWith('_FILE'))) {
        const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
        expect(mount).toMatchObject({ readOnly: true });
      }
    }
  });

  test.each([
    ['cluster.kafka.brokers', ['store=cluster', 'secretName=own']],
    ['secretName', CLUSTER.map((one) => one.replace(/^secretName=.*/, 'secretName='))],
    ['cluster.kafka.passwordSecretName', [...CLUSTER, 'cluster.kafka.passwordSecretName=']],
    ['/store', ['store=sqlite']],
    ['/cluster/api/replicas', [...CLUSTER, 'cluster.api.replicas=0']],
  ])('values that cannot work are refused by name: %s', (name, settings) => {
    const { code, err } = template(settings);
    expect(code).not.toBe(0);
    expect(err).toContain(name);
  });
});
