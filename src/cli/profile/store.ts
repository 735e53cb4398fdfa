import { type FileHandle, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { locked } from '../file-lock.js';
import { CliError, UsageError } from '../output/failures.js';
import { fileFault } from '../output/file-fault.js';

/** What one profile remembers. An absent member falls through to the default. */
export interface Profile {
  org?: string;
  token?: string;
  endpoint?: string;
  auditEndpoint?: string;
}

const MEMBERS = ['org', 'token', 'endpoint', 'auditEndpoint'] as const;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** All profiles, and which of them a call uses that names none. */
export interface Profiles {
  default: string | undefined;
  byName: Map<string, Profile>;
}

/** The folder of the settings: `SVC_CONFIG_DIR`, else `$XDG_CONFIG_HOME/svc`, else what the platform calls for. */
async function configDir(env: NodeJS.ProcessEnv): Promise<string> {
  if (env.SVC_CONFIG_DIR) return env.SVC_CONFIG_DIR;
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'svc');
  const { default: envPaths } = await import('env-paths');
  return envPaths('svc', { suffix: '' }).config;
}

/**
 * The profile file. It holds keys: mode 0600, in a folder of mode 0700 that it creates if needed. A change is written beside
 * the file, synced and renamed, under a lock: a crash leaves the old file or the new one, and two changes at once are
 * both kept.
 */
export class ProfileStore {
  readonly file: string;
  #warned = false;

  constructor(
    dir: string,
    readonly warn: (message: string) => void = () => {},
  ) {
    this.file = join(dir, 'profiles.json');
  }

  /** `warn` hears of a file that others can read. */
  static async open(env: NodeJS.ProcessEnv, warn?: (message: string) => void): Promise<ProfileStore> {
    return new ProfileStore(await configDir(env), warn);
  }

  async read(): Promise<Profiles> {
    let text: string;
    try {
      text = await readFile(this.file, 'utf8');
      const { mode } = await stat(this.file);
      if (!this.#warned && process.platform !== 'win32' && (mode & 0o077) !== 0) {
        this.#warned = true;
        this.warn(`others can read the keys in ${this.file}: run \`chmod 600 ${this.file}\``);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { default: undefined, byName: new Map() };
      throw new CliError(`cannot read the profile file ${this.file}: ${fileFault(error)}`);
    }
    const profiles = parseProfiles(text);
    if (profiles) return profiles;
    throw new CliError(`the profile file ${this.file} is damaged`, undefined, [
      'repair it, or move it away and create the profiles again',
    ]);
  }

  /** The profile of that name, or the default one; undefined when none is named and there is no default. */
  async find(name: string | undefined): Promise<{ name: string; profile: Profile } | undefined> {
    const profiles = await this.read();
    if (name !== undefined) return { name, profile: existing(name, profiles) };
    const profile = profiles.byName.get(profiles.default ?? '');
    return profiles.default !== undefined && profile ? { name: profiles.default, profile } : undefined;
  }

  /** Applies one change to the newest content; an error thrown by `change` leaves the file unchanged. */
  async update(change: (profiles: Profiles) => void): Promise<Profiles> {
    await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
    return locked(this.file, `the profile file ${this.file}`, async () => {
      const profiles = await this.read();
      change(profiles);
      await this.#write(profiles);
      return profiles;
    });
  }

  async #write(profiles: Profiles): Promise<void> {
    // A symbolic link stays one: the file that it leads to is replaced.
    const target = await realpath(this.file).catch(() => this.file);
    const temporary = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}.tmp`);
    const body = { version: 1, default: profiles.default, profiles: Object.fromEntries(profiles.byName) };
    try {
      const handle = await open(temporary, 'wx', 0o600);
      await writeAndSync(handle, `${JSON.stringify(body, null, 2)}\n`);
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw new CliError(`cannot write the profile file ${this.file}: ${fileFault(error)}`);
    }
    const folder = await open(dirname(target), 'r').catch(() => undefined);
    await folder?.sync().catch(() => {});
    await folder?.close();
  }
}

export function checkProfileName(name: string): void {
  if (NAME.test(name)) return;
  throw new UsageError(`\`${name}\` is not a profile name: use at most 63 letters, digits, dots, dashes, underscores`);
}

/** The profile of that name. Throws if there is none. */
export function existing(name: string, { byName }: Profiles): Profile {
  const profile = byName.get(name);
  if (profile) return profile;
  const known = [...byName.keys()];
  throw new CliError(`no profile \`${name}\` exists`, undefined, [
    known.length > 0 ? `existing profiles: ${known.join(', ')}` : 'make one with `svc profile create` or `svc login`',
  ]);
}

async function writeAndSync(handle: FileHandle, text: string): Promise<void> {
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Undefined unless the text has exactly the shape that `update` writes. */
function parseProfiles(text: string): Profiles | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(body) || body.version !== 1 || !isRecord(body.profiles)) return undefined;
  if (body.default !== undefined && typeof body.default !== 'string') return undefined;
  const byName = new Map(Object.entries(body.profiles).map(([name, value]) => [name, parseProfile(value)]));
  if (![...byName.values()].every((profile) => profile !== undefined)) return undefined;
  return { default: body.default, byName: byName as Map<string, Profile> };
}

function parseProfile(value: unknown): Profile | undefined {
  if (!isRecord(value)) return undefined;
  const known = MEMBERS.filter((member) => value[member] !== undefined).map(
    (member) => [member, value[member]] as const,
  );
  return known.every(([, text]) => typeof text === 'string') ? Object.fromEntries(known) : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
