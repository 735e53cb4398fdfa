/** What help explains besides commands. */
export interface Topic {
  readonly summary: string;
  /** What a row is about, and what it says. */
  readonly rows: readonly (readonly [left: string, right: string])[];
  readonly more?: string;
}

const ENVIRONMENT: Topic = {
  summary: 'the variables that svc reads; options win over them, and they win over the profile',
  rows: [
    ['SVC_ORG', 'the organization, as --org'],
    ['SVC_TOKEN', 'the key, as --token'],
    ['SVC_ENDPOINT', 'the address of the service, as --endpoint'],
    ['SVC_AUDIT_ENDPOINT', 'the address for audit events, if it is another one'],
    ['SVC_PROFILE', 'the profile, as --profile'],
    ['SVC_CONFIG_DIR', 'where profiles are stored; default: svc in $XDG_CONFIG_HOME or ~/.config'],
    [
      'SVC_STATE_DIR',
      'where checkpoints of proven histories are pinned; default: svc in $XDG_STATE_HOME or ~/.local/state',
    ],
    ['EDITOR, VISUAL', 'what `svc ... edit` opens; default: vi'],
    ['NO_COLOR', 'if set: no colours, unless --color is given'],
    ['TERM', 'if dumb: neither colours nor other sequences'],
    ['NODE_EXTRA_CA_CERTS', 'a file with certificates of your own authority'],
  ],
};

const EXIT_CODES: Topic = {
  summary: 'what the exit code of svc says',
  rows: [
    ['0', 'done'],
    ['1', 'failed: the service refused it, could not be reached, or what was verified is not so'],
    ['2', 'the command line is wrong; nothing was sent'],
    ['4', 'not logged in, the key is not valid, or its owner may not do this'],
    ['130', 'interrupted with Ctrl-C'],
  ],
  more: 'Of several references all are tried: the exit code is 0 only if each succeeded.',
};

const FILTERS: Topic = {
  summary: 'how events and resources are chosen',
  rows: [
    ['--resource-name web', 'events: exactly this name; all filters of a command must hold'],
    ['--subject-email, --action-type, ...', 'events: exactly this value; upper and lower case differ'],
    ['--publisher serviceaccount/ci', 'events: whose key they were sent with, whatever they say of their subject'],
    ['--since 7d --until 2024-05-01', 'events: from the first moment on, and before the second'],
    ['90m, 7d, 1h30m', 'a span back from now; units are ms, s, m, h, d and w'],
    ['2024-05-01, 2024-05-01T12:00:00Z', 'a day (in UTC) or a moment'],
    ['--property email=ann@example.com', 'resources: also !=, <, <=, >, >= and ~ (contains, in any case)'],
    ['--tag team=core', 'resources: a tag'],
    ['--rel group=devs', 'resources: a relation; of users group, of groups member'],
    ['--match any', 'resources: one term is enough; none: no term holds; default: all'],
    ['--max 0', 'all that match; default: 50'],
    ['099a8057', 'the short identifier of an event, its last 8, 10 or 12 digits, wherever one is asked for'],
  ],
};

const OUTPUT: Topic = {
  summary: 'what each --output is for',
  rows: [
    [
      'text',
      'for people: a table, or one thing with all that it has; in a pipe a row each, with tabs between full values',
    ],
    ['names', 'one name or identifier a line, for xargs'],
    ['json, yaml', 'what the service answers, digit for digit'],
    ['json-slim, yaml-slim', 'without what the service assigned, to store or to create copies from'],
    ['tf', 'Terraform blocks of type svc_KIND, to start a configuration from; svc reads no Terraform'],
    ['crd', 'Kubernetes documents of the group control.svc.dev/v1, to keep in a repository'],
    ['csv, cef, ocsf, cloudevents', 'events, for spreadsheets and security tools'],
  ],
};

/** By the words that follow `svc help`. */
export const TOPICS: ReadonlyMap<string, Topic> = new Map([
  ['environment', ENVIRONMENT],
  ['exit-codes', EXIT_CODES],
  ['filters', FILTERS],
  ['output', OUTPUT],
]);
