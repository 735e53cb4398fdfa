import { type BaseContext, Command, type CommandClass, Option } from 'clipanion';
import type { ApiClient } from '../client/api-client.js';
import { ApiError, ClientError, Interrupted } from '../client/errors.js';
import { choice } from './args/choice.js';
import { CliError, EXIT, exitCodeOf, hintsOf, UsageError } from './output/failures.js';
import type { Settings } from './profile/settings.js';
import type { Terminal } from './terminal.js';

const FORMATS = ['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const;
export type Format = (typeof FORMATS)[number];

const TIME_STYLES = ['iso', 'local', 'age'] as const;
export type TimeStyle = (typeof TIME_STYLES)[number];

export interface SvcContext extends BaseContext {
  terminal: Terminal;
  /** Aborted when the user interrupts. */
  signal: AbortSignal;
  /** While this runs another program on the terminal, Ctrl-C is for that program, not for `svc`. */
  foreground<Result>(run: () => Promise<Result>): Promise<Result>;
}

export type Commands = readonly CommandClass<SvcContext>[];

/** The formats that data has no form in, and what to call that data. */
export interface Unavailable {
  readonly formats: readonly Format[];
  readonly subject: string;
}

/** Data that is not declared anywhere: Terraform and Kubernetes have no form for it. */
export const undeclared = (subject: string): Unavailable => ({ formats: ['tf', 'crd'], subject });

/** Data that has only these forms. */
export const onlyIn = (formats: readonly Format[], subject: string): Unavailable => ({
  formats: FORMATS.filter((format) => !formats.includes(format)),
  subject,
});

/** What every command has: an output format and colour. */
export abstract class SvcCommand extends Command<SvcContext> {
  output = choice('-o,--output', FORMATS, { what: 'output format', without: 'default text' });
  // The runner has applied it to the terminal before any command runs, so that its own messages obey too.
  color = Option.Boolean('--color', { description: 'use colours, also in a pipe; default: on a terminal only' });

  protected readonly unavailable: Unavailable = { formats: [], subject: '' };

  get terminal(): Terminal {
    return this.context.terminal;
  }

  /** What `--output` asks for; a usage error if the data has no such form. */
  get format(): Format {
    const format = this.output ?? 'text';
    const { formats, subject } = this.unavailable;
    if (formats.includes(format)) throw new UsageError(`--output ${format} is not available for ${subject}`);
    return format;
  }
}

/** A command that calls the service: the options that the specification gives every such command. */
export abstract class ApiCommand extends SvcCommand {
  profile = Option.String('--profile', {
    description: 'profile to use; default: SVC_PROFILE, else the default profile',
  });
  org = Option.String('--org', { description: 'organization; default: SVC_ORG, else that of the profile' });
  ts = choice('--ts', TIME_STYLES, { what: 'times in text output', without: 'default age, in a pipe iso' });
  max = Option.String('--max', '50', { description: 'most records to show, below 1 all; default 50' });
  token = Option.String('--token', {
    description: 'authorization token; default: SVC_TOKEN, else that of the profile',
  });
  endpoint = Option.String('--endpoint', {
    description: 'API address; default: SVC_ENDPOINT, else that of the profile',
  });
  insecure = Option.Boolean('-k,--insecure', false, { description: 'ignore TLS errors' });
  verbose = Option.Boolean('-v,--verbose', false, { description: 'log progress to stderr' });
  debug = Option.Boolean('-d,--debug', false, { description: 'log all HTTP traffic to stderr, keys masked' });

  #settings: Settings | undefined;
  #client: ApiClient | undefined;

  /** Does the command's work. The result is the exit code; nothing is success. */
  protected abstract run(): Promise<number> | Promise<void>;

  async execute(): Promise<number> {
    // A wrong option is reported before anything is sent.
    void [this.format, this.limit];
    try {
      return (await this.run()) ?? EXIT.ok;
    } finally {
      this.#client?.close();
    }
  }

  get timeStyle(): TimeStyle {
    return this.ts ?? (this.terminal.isTTY ? 'age' : 'iso');
  }

  /** `--max` as a count: `Infinity` for all. */
  get limit(): number {
    if (!/^[+-]?\d{1,15}$/.test(this.max)) throw new UsageError(`--max is a whole number, not \`${this.max}\``);
    const count = Number(this.max);
    return count < 1 ? Number.POSITIVE_INFINITY : count;
  }

  protected async settings(): Promise<Settings> {
    if (this.#settings) return this.#settings;
    const [{ resolveSettings }, { ProfileStore }] = await Promise.all([
      import('./profile/settings.js'),
      import('./profile/store.js'),
    ]);
    const { env } = this.context;
    const find = async (name: string | undefined) => (await ProfileStore.open(env)).find(name);
    this.#settings = await resolveSettings(this, env, find);
    this.terminal.masker.add(this.#settings.token);
    return this.#settings;
  }

  /** The client, for a call without a key; see `authorized` for all others. */
  protected async client(): Promise<ApiClient> {
    if (this.#client) return this.#client;
    const settings = await this.settings();
    const [{ ApiClient }, { tracer }] = await Promise.all([
      import('../client/api-client.js'),
      import('./output/trace.js'),
    ]);
    const { insecure, verbose } = this;
    const { terminal, signal } = this.context;
    if (verbose) terminal.note(`profile ${settings.profile ?? '(none)'}, org ${settings.org ?? '(none)'}`);
    this.#client = new ApiClient({ ...settings, insecure, signal, observer: tracer(terminal, this) });
    return this.#client;
  }

  /** The client. Throws if there is no key to send. */
  protected async authorized(): Promise<ApiClient> {
    if ((await this.settings()).token) return this.client();
    throw new CliError('no token', EXIT.denied, [
      'store a key with `svc login`, or give one with --token or SVC_TOKEN',
    ]);
  }

  /** The organization of the call. Throws for a name that a path cannot carry. */
  protected async requireOrg(given?: string): Promise<string> {
    const org = given ?? (await this.settings()).org;
    if (!org) throw new UsageError('no organization: give --org, set SVC_ORG, or store one in the profile');
    if (org === '.' || org === '..') throw new UsageError(`\`${org}\` is not an organization's name`);
    return org;
  }

  /**
   * Does the work for each of the references, whatever becomes of the others, and reports each failure. Returns the exit
   * code: `denied` if every failure was one of authorization. An interruption or a usage error ends it at once.
   */
  protected async tryAll(refs: readonly string[], work: (ref: string) => Promise<void>): Promise<number> {
    const codes = new Set<number>();
    for (const ref of refs) {
      try {
        await work(ref);
      } catch (error) {
        if (!(error instanceof ClientError) || error instanceof Interrupted || error instanceof UsageError) throw error;
        const named = refs.length > 1 || error instanceof ApiError;
        this.terminal.error(named ? `${ref}: ${error.message}` : error.message, hintsOf(error));
        codes.add(exitCodeOf(error));
      }
    }
    if (codes.size === 0) return EXIT.ok;
    return codes.size === 1 && codes.has(EXIT.denied) ? EXIT.denied : EXIT.failure;
  }
}
