import { type BaseContext, Command, type CommandClass, Option } from 'clipanion';
import type { ApiClient } from '../client/api-client.js';
import { ApiError, ClientError, Interrupted } from '../client/errors.js';
import type { GivenOption } from './args/argv.js';
import { choice } from './args/choice.js';
import { timeSpan } from './args/moments.js';
import { CliError, EXIT, exitCodeOf, hintsOf, inWords, LOG_IN, UsageError } from './output/failures.js';
import type { Settings } from './profile/settings.js';
import type { ProfileStore } from './profile/store.js';
import type { Terminal } from './terminal.js';

const FORMATS = ['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const;
/** What audit events have besides: the formats of other systems. */
const EVENT_FORMATS = [...FORMATS, 'csv', 'cloudevents', 'ocsf', 'cef'] as const;
export type Format = (typeof EVENT_FORMATS)[number];

const OUTPUT = '-o,--output';
const OUTPUT_HELP = { what: 'output format', without: 'default text' };

/** `--output` of a command that shows audit events. */
export const eventOutput = (): Format | undefined => choice(OUTPUT, EVENT_FORMATS, OUTPUT_HELP);

const TIME_STYLES = ['iso', 'local', 'age'] as const;
export type TimeStyle = (typeof TIME_STYLES)[number];

export interface SvcContext extends BaseContext {
  terminal: Terminal;
  /** The options as they were given. */
  given: readonly GivenOption[];
  /** Aborted when the user interrupts. */
  signal: AbortSignal;
  /** While this runs another program on the terminal, Ctrl-C is for that program, not for `svc`. */
  foreground<Result>(run: () => Promise<Result>): Promise<Result>;
}

export type Commands = readonly CommandClass<SvcContext>[];

/** Commands by the word after their family's name, each loaded from its module: a start pays for the one that is run. */
export type Loads = Readonly<Record<string, () => Promise<CommandClass<SvcContext>>>>;

/** The formats that data has no form in, and what to call that data. */
export interface Unavailable {
  readonly formats: readonly Format[];
  readonly subject: string;
}

/** Data that is not declared anywhere: Terraform and Kubernetes have no form for it. */
export const undeclared = (subject: string): Unavailable => ({ formats: ['tf', 'crd'], subject });

/** Data that has only these forms. */
export const onlyIn = (formats: readonly Format[], subject: string): Unavailable => ({
  formats: EVENT_FORMATS.filter((format) => !formats.includes(format)),
  subject,
});

/** What every command has: an output format, colour, and how much it says and asks. */
export abstract class SvcCommand extends Command<SvcContext> {
  output: Format | undefined = choice(OUTPUT, FORMATS, OUTPUT_HELP);
  // The runner has applied it to the terminal before any command runs, so that its own messages obey too.
  color = Option.Boolean('--color', { description: 'use colours, also in a pipe; default: on a terminal only' });
  quiet = Option.Boolean('-q,--quiet', false, { description: 'leave out remarks and progress; errors are shown' });
  yes = Option.Boolean('-y,--yes', false, {
    description: 'do not ask before deleting; without a terminal svc never asks',
  });

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

  /**
   * Asks before something is deleted, and throws if the person at the terminal does not agree. Asks nothing with `--yes`, and
   * nothing if nobody can answer: scripts go on working.
   */
  protected async confirm(question: string): Promise<void> {
    const { terminal, context, yes } = this;
    if (yes || !terminal.isInteractive || (await terminal.confirm(question, context.signal))) return;
    throw new CliError('not confirmed: nothing was changed', EXIT.failure, ['answer y, or give --yes']);
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
  timeout = Option.String('--timeout', {
    description: 'longest time for one call, retries included, such as 30s or 2m; default: none',
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
    void [this.format, this.limit, this.timeoutMs];
    try {
      return (await this.run()) ?? EXIT.ok;
    } catch (error) {
      throw inWords(error, this.context.given);
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

  /** `--timeout` in milliseconds. */
  get timeoutMs(): number | undefined {
    return this.timeout === undefined ? undefined : timeSpan('--timeout', this.timeout);
  }

  protected async settings(): Promise<Settings> {
    if (this.#settings) return this.#settings;
    const [{ resolveSettings }, { ProfileStore }] = await Promise.all([
      import('./profile/settings.js'),
      import('./profile/store.js'),
    ]);
    const { env } = this.context;
    const warn = (message: string) => this.terminal.warn(message);
    const store = await ProfileStore.open(env, warn);
    const find = (name: string | undefined) => this.findProfile(store, name);
    this.#settings = await resolveSettings(this, env, find);
    this.terminal.masker.add(this.#settings.token);
    return this.#settings;
  }

  /** The profile of that name, or the default one. */
  protected findProfile(store: ProfileStore, name: string | undefined): ReturnType<ProfileStore['find']> {
    return store.find(name);
  }

  /** Ends the calls of the client. */
  protected get signal(): AbortSignal {
    return this.context.signal;
  }

  /** The client, for a call without a key; see `authorized` for all others. */
  protected async client(): Promise<ApiClient> {
    if (this.#client) return this.#client;
    const settings = await this.settings();
    const [{ ApiClient }, { tracer }] = await Promise.all([
      import('../client/api-client.js'),
      import('./output/trace.js'),
    ]);
    const { insecure, verbose, timeoutMs, signal } = this;
    const { terminal } = this.context;
    if (verbose) terminal.note(`profile ${settings.profile ?? '(none)'}, org ${settings.org ?? '(none)'}`);
    const observer = tracer(terminal, this);
    this.#client = new ApiClient({ ...settings, insecure, timeoutMs, signal, userAgent: 'svc', observer });
    return this.#client;
  }

  /** The client. Throws if there is no key to send. */
  protected async authorized(): Promise<ApiClient> {
    if ((await this.settings()).token) return this.client();
    const { profile } = await this.settings();
    throw new CliError(profile === undefined ? 'not logged in' : `profile ${profile} holds no key`, EXIT.denied, [
      LOG_IN,
    ]);
  }

  /** Whether one thing is shown with all that it has: to a person who did not ask for a format. */
  protected get hasCards(): boolean {
    return this.format === 'text' && this.terminal.isTTY;
  }

  /** The organization of the call. Throws for a name that a path cannot carry. */
  protected async requireOrg(given?: string): Promise<string> {
    const org = given ?? (await this.settings()).org;
    if (!org) throw new UsageError('no organization: log in with `svc login`, give --org, or set SVC_ORG');
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
      } catch (failure) {
        const error = inWords(failure, this.context.given);
        if (!(error instanceof ClientError) || error instanceof Interrupted || error instanceof UsageError) throw error;
        const named = refs.length > 1 || failure instanceof ApiError;
        this.terminal.error(named ? `${ref}: ${error.message}` : error.message, hintsOf(error));
        codes.add(exitCodeOf(error));
      }
    }
    if (codes.size === 0) return EXIT.ok;
    return codes.size === 1 && codes.has(EXIT.denied) ? EXIT.denied : EXIT.failure;
  }
}
