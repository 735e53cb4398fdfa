import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export const RULES = 'infra/monitoring/rules.yml';
export const RULES_TEST = 'infra/monitoring/rules.test.yml';
const DASHBOARD = 'infra/monitoring/dashboard.json';

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
}

export const alerts = () => (parse(readFileSync(RULES, 'utf8')) as Rules).groups.flatMap(({ rules }) => rules);

export const dashboard = () => JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard;

/** The names of all metrics that alerts and dashboard use. */
export function usedMetrics(): string[] {
  const { panels, templating } = dashboard();
  const queries = templating.list.map(({ query }) => (typeof query === 'string' ? '' : query.query));
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const texts = [...alerts().map(({ expr }) => expr), ...shown, ...queries];
  return [...new Set(texts.flatMap((text) => text.match(/\b(control|nodejs|process)_\w+/g) ?? []))].sort();
}

/** The names of the series of an exposition, those without a sample included. */
export function seriesOf(exposition: string): Set<string> {
  const types = [...exposition.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  );
}
