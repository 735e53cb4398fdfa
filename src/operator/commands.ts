import { type BaseContext, Cli, Command, type Definition, Option } from 'clipanion';
import { signingKeyFile } from '../composition/kept-secrets.js';
import { useLocalService } from './local-service.js';
import { restore } from './restore.js';
import { rotateKey } from './rotate-key.js';

const NAME = 'control-service';

interface Context extends BaseContext {
  readonly version: string;
}

class Start extends Command<Context> {
  static override paths = [['start']];
  static override usage = Command.Usage({
    description: 'start the service, with the settings of the environment (CONTROL_...)',
    examples: [['Start it with a data folder of its own', 'CONTROL_DATA_DIR=/var/lib/control control-service start']],
  });

  async execute(): Promise<number> {
    await import('../main.js');
    return 0;
  }
}

class Restore extends Command<Context> {
  static override paths = [['restore']];
  static override usage = Command.Usage({
    description: 'check a backup, and put it into the data folder of a service that is stopped',
    examples: [
      ['Restore a backup', 'control-service restore --from log-backup.db'],
      [
        'Go on with it after checkpoints were published',
        'control-service restore --from log-backup.db --new-epoch "disk lost"',
      ],
    ],
  });

  from = Option.String('--from', { description: 'the backup; its checksum is read from FILE.sha256' });
  dataDir = Option.String('--data-dir', process.env.CONTROL_DATA_DIR || './data', {
    description: 'the data folder; default: CONTROL_DATA_DIR, else ./data',
  });
  sha256 = Option.String('--sha256', { description: 'the checksum, in place of FILE.sha256' });
  force = Option.Boolean('--force', false, { description: 'move a log that is there aside' });
  newEpoch = Option.String('--new-epoch', {
    description:
      'the reason why an earlier state of the log, or with CONTROL_STORE=cluster a copy of Kafka, goes on: new checkpoints get other names',
  });

  execute(): Promise<number> {
    return restore(this);
  }
}

class RotateKey extends Command<Context> {
  static override paths = [['rotate-key']];
  static override usage = Command.Usage({
    description: 'make a new key for checkpoints; the one before signs too for 90 days. Restart the service then',
    examples: [['Replace the key', 'control-service rotate-key']],
  });

  dataDir = Option.String('--data-dir', process.env.CONTROL_DATA_DIR || './data', {
    description: 'the data folder; default: CONTROL_DATA_DIR, else ./data',
  });

  execute(): Promise<number> {
    return rotateKey(process.env.CONTROL_CHECKPOINT_KEY_FILE || signingKeyFile(this.dataDir));
  }
}

/** A job of a running service: the command of `svc` with the same name, with the root key and the address of this machine. */
abstract class Job extends Command<Context> {
  args = Option.Proxy();

  async execute(): Promise<number> {
    const missing = useLocalService(process.env);
    if (missing !== undefined) {
      return refuse(missing, 'set CONTROL_DATA_DIR to the folder of the service, or CONTROL_ROOT_KEY_FILE');
    }
    const { runProcess } = await import('../cli/runner.js');
    await runProcess(this.context.version);
    return Number(process.exitCode ?? 0);
  }
}

class Backup extends Job {
  static override paths = [['backup']];
  static override usage = Command.Usage({
    description: 'copy the log of the running service to a file, as `svc backup` does, with its root key',
    examples: [['Copy it', 'control-service backup --to log-backup.db']],
  });
}

class Rebuild extends Job {
  static override paths = [['rebuild']];
  static override usage = Command.Usage({
    description: 'make the read model of the running service anew, as `svc rebuild` does, with its root key',
    examples: [['Rebuild, and wait for the end', 'control-service rebuild']],
  });
}

class Reconcile extends Job {
  static override paths = [['reconcile']];
  static override usage = Command.Usage({
    description: 'compare the read model with the log, as `svc reconcile` does, with the root key',
    examples: [['Repair what differs', 'control-service reconcile --repair']],
  });
}

class Version extends Command<Context> {
  static override paths = [['version']];
  static override usage = Command.Usage({ description: 'print the version' });

  async execute(): Promise<number> {
    this.context.stdout.write(`${this.context.version}\n`);
    return 0;
  }
}

/** Runs one command line. The result is the exit code: 2 if the command line is wrong. */
export async function run(args: readonly string[], version: string): Promise<number> {
  const cli = Cli.from<Context>([Start, Restore, RotateKey, Backup, Rebuild, Reconcile, Version], {
    binaryName: NAME,
    enableColors: false,
  });
  const definitions = cli.definitions();
  const [word = '--help', ...rest] = args;
  if (['--help', '-h', 'help'].includes(word)) return show(overview(version, definitions));
  const definition = definitions.find(({ path }) => path === `${NAME} ${word}`);
  if (!definition) return refuse(`unknown command ${word}`, `see ${NAME} --help`);
  if (rest.some((arg) => arg === '--help' || arg === '-h')) return show(explained(definition));
  const missing = definition.options.find(({ required, definition: names }) => required && !isGiven(names, rest));
  if (missing) return refuse(`${nameOf(missing.definition)} is required`, explained(definition));
  let command: Command<Context>;
  try {
    command = cli.process([...args], { version });
  } catch (error) {
    return refuse((error as Error).message.split('\n')[0] ?? '', explained(definition));
  }
  if (command instanceof Restore && command.from === undefined && command.newEpoch === undefined) {
    return refuse('--from is required', explained(definition));
  }
  return command.validateAndExecute();
}

const nameOf = (definition: string): string => definition.split(' ')[0] ?? '';

function isGiven(definition: string, args: readonly string[]): boolean {
  const name = nameOf(definition);
  return args.some((arg) => arg === name || arg.startsWith(`${name}=`));
}

async function show(text: string): Promise<number> {
  process.stdout.write(`${text.trimEnd()}\n`);
  return 0;
}

function refuse(reason: string, remedy: string): number {
  process.stderr.write(`${NAME}: ${reason}\n${remedy.trimEnd()}\n`);
  return 2;
}

function overview(version: string, definitions: readonly Definition[]): string {
  const rows = definitions.map(({ path, description }) => [path.slice(NAME.length + 1), description?.trim() ?? '']);
  return `${NAME} ${version}\n\nusage: ${NAME} <command> [options]\n\n${table(rows)}\n\nSee \`${NAME} <command> --help\`.\n`;
}

function explained({ usage, description, options, examples = [] }: Definition): string {
  // A job hands its arguments on.
  const [job] = usage.endsWith(' ...') ? usage.split(' ').slice(1) : [];
  const handedOn = job === undefined ? '' : `It takes the options of \`svc ${job}\`; see \`svc ${job} --help\`.`;
  const rows = options.map((one) => [one.definition.replace(' #0', ' <value>'), one.description ?? '']);
  const shown = examples.map(([label, command]) => `  # ${label.trim()}\n  ${command}\n`);
  const required = options.filter((one) => one.required).map((one) => ` ${nameOf(one.definition)} <value>`);
  const hasOptions = job !== undefined || rows.length > required.length;
  const line = `usage: ${usage.replace(/ \.\.\.$/, '')}${required.join('')}${hasOptions ? ' [options]' : ''}`;
  return [line, description?.trim(), table(rows), handedOn, shown.join('')].filter(Boolean).join('\n\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([left = '']) => left.length));
  return rows.map(([left = '', right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
