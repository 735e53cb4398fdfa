import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { type ServiceProcess, spawnService } from '../faults/process.js';
import { alerts, dashboard, RULES, RULES_TEST, seriesOf, usedMetrics } from '../support/monitoring.js';
import { runTool, withTool } from '../support/tools.js';

withTool('promtool', '--version')('the alerts', () => {
  test.each([
    ['are valid', ['check', 'rules', RULES]],
    ['fire when they should, and only then', ['test', 'rules', RULES_TEST]],
  ])('%s', (_title, args) => {
    const { code, out, err } = runTool('promtool', ...args);
    expect(`${out}${err}`).not.toContain('FAILED');
    expect(code).toBe(0);
  });
});

test('every alert is tested, and fires in its test', () => {
  interface Case {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[];
  }
  const { tests } = parse(readFileSync(RULES_TEST, 'utf8')) as { tests: readonly Case[] };
  const cases = tests.flatMap((one) => one.alert_rule_test);
  const fired = new Set(cases.filter(({ exp_alerts }) => exp_alerts.length > 0).map(({ alertname }) => alertname));
  expect([...fired].sort()).toEqual(
    alerts()
      .map(({ alert }) => alert)
      .sort(),
  );
});

describe('the metrics of a process', () => {
  let folder: string;
  let service: ServiceProcess;
  let exposition: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'control-metrics-'));
    service = spawnService(resolve('dist/main.js'), join(folder, 'data'));
    exposition = await (await fetch(`${await service.listening}/metrics`)).text();
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  it('have every metric that alerts and dashboard name', () => {
    const there = seriesOf(exposition);
    expect(usedMetrics().filter((name) => !there.has(name))).toEqual([]);
    expect(usedMetrics().length).toBeGreaterThan(25);
  });

  it('show lag by partition, readiness, dead letters, jobs, heap and the delay of the event loop', () => {
    expect(exposition).toContain('control_ready 1');
    expect(exposition).toContain('control_partition_lag_records{topic="audit",partition="0"} 0');
    expect(exposition).toContain('control_partition_indexed_offset{topic="control",partition="0"} 0');
    expect(exposition).toContain('control_dead_letters_open 0');
    expect(exposition).toContain('control_job_state{name="rebuild",state="idle"} 1');
    expect(exposition).toMatch(/^control_heap_limit_bytes \d{8,}$/m);
    expect(exposition).toMatch(/^nodejs_heap_size_used_bytes \d{7,}$/m);
    expect(exposition).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
  });
});

test('every panel of the dashboard has a title and a query of one installation', () => {
  for (const { title, targets } of dashboard().panels) {
    expect(title).not.toBe('');
    for (const { expr } of targets) expect(expr).toContain('{job="$job"}');
  }
});
