import { ApiCommand, SvcCommand } from '../command.js';
import { isDocument, printLines, showResource } from '../output/document.js';
import { CliError, EXIT } from '../output/failures.js';
import { TablePrinter } from '../output/table.js';
import { timeText } from '../output/values.js';
import { TaskCommand, unavailable } from './maintenance.js';

interface CheckReport {
  readonly cuts: number;
  readonly records: number;
  readonly orgs: number;
  readonly divergence: string | null;
}

class Check extends TaskCommand<CheckReport> {
  static override paths = [['tlog', 'check']];
  static override usage = ApiCommand.Usage({
    description: 'make the trees anew and compare them with what was sealed; needs the root key',
    details:
      'Reads all of the log that is sealed. Names the first cut that is not as it was sealed and, if the stored trees tell, the leaf in it, ' +
      'or where the log ends too early. Then the exit code is 1, and no checkpoint is signed until a check passes or the service ' +
      'is started again. Reads and writes go on.',
    examples: [['Check everything', 'SVC_TOKEN="$(cat data/root.key)" svc tlog check']],
  });

  protected override readonly unavailable = unavailable('a check');
  protected override readonly at = '/-tlog-check';
  protected override readonly task = 'check';

  protected override async show(report: CheckReport): Promise<void> {
    const { divergence, ...counts } = report;
    const columns = (['cuts', 'records', 'orgs'] as const).map((name) => {
      return { header: name.toUpperCase(), value: () => String(counts[name]) };
    });
    await new TablePrinter(this.terminal, columns).print([report]);
    this.terminal.note(divergence === null ? 'the log is as it was sealed' : `DIVERGED: ${divergence}`);
  }

  protected async run(): Promise<number> {
    const { divergence } = await this.report(await this.start({}));
    return divergence === null ? EXIT.ok : EXIT.failure;
  }
}

interface Shown {
  readonly seals: boolean;
  readonly origin: string;
  readonly epoch: number;
  readonly checkpoint?: { readonly size: number; readonly at: string; readonly complete: string };
  readonly lagSeconds: number;
  readonly divergence: string | null;
  readonly stalled: string | null;
  readonly quorum?: { readonly name: string; readonly missingSeconds?: number };
  readonly witnesses: readonly { readonly name: string; readonly cosigned?: string; readonly fault?: string }[];
  readonly anchors: readonly { readonly name: string; readonly kept?: string }[];
}

class Status extends ApiCommand {
  static override paths = [['tlog', 'status']];
  static override usage = ApiCommand.Usage({
    description: 'show how far the log is sealed, cosigned and anchored; needs the root key',
    details:
      'The exit code is 1 if nothing is signed any more, or a part of the log is not sealed. In a cluster the process that seals alone ' +
      'knows why a witness did not cosign, and what the anchors keep.',
    examples: [['How far the log is sealed', 'SVC_TOKEN="$(cat data/root.key)" svc tlog status']],
  });

  protected override readonly unavailable = unavailable('the state of the sealed history');

  protected async run(): Promise<number> {
    const client = await this.authorized();
    const answer = await client.call({ method: 'GET', path: '/-tlog-status', on: 'api', retry: 'safe' });
    const status = JSON.parse(answer) as Shown;
    const { format, terminal } = this;
    if (isDocument(format)) await showResource(terminal, format, answer);
    else await printLines(terminal, this.#lines(status));
    return status.divergence === null && status.stalled === null ? EXIT.ok : EXIT.failure;
  }

  #lines(status: Shown): string[] {
    const { seals, origin, epoch, checkpoint, lagSeconds, divergence, stalled, quorum } = status;
    const time = (text: string) => timeText(text, this.timeStyle);
    const waits = quorum?.missingSeconds ? `, missing for ${quorum.missingSeconds} s` : '';
    const elsewhere = seals ? 'none' : 'the process that seals knows them';
    const facts: [string, string][] = [
      ['log:', `${origin}, epoch ${epoch}`],
      ['checkpoint:', checkpoint ? `${checkpoint.size} cuts, made ${time(checkpoint.at)}` : 'none yet'],
      ...(checkpoint ? [['complete up to:', time(checkpoint.complete)] as [string, string]] : []),
      ['lag:', `${lagSeconds} s`],
      ['signing:', divergence === null ? 'goes on' : `STOPPED: ${divergence}`],
      ...(stalled === null ? [] : [['not sealed:', stalled] as [string, string]]),
      ['quorum:', quorum ? `${quorum.name}${waits}` : 'no policy: no witness is asked'],
      ...status.witnesses.map(({ name, cosigned, fault }): [string, string] => {
        const when = cosigned === undefined ? 'has not cosigned' : `cosigned ${time(cosigned)}`;
        return [`witness ${name}:`, fault === undefined ? when : `${when}; ${fault}`];
      }),
      ...(status.anchors.length === 0 ? [['anchors:', elsewhere] as [string, string]] : []),
      ...status.anchors.map(({ name, kept }): [string, string] => [
        `anchor ${name}:`,
        kept === undefined ? 'nothing since the start' : `kept ${time(kept)}`,
      ]),
    ];
    const width = Math.max(...facts.map(([label]) => label.length));
    return facts.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
  }
}

class RotateKey extends SvcCommand {
  static override paths = [['tlog', 'rotate-key']];
  static override usage = SvcCommand.Usage({
    description: 'say how to replace the key that signs checkpoints; it changes nothing itself',
    details:
      'No request can replace the key: it never leaves the machine that seals. On that machine, `control-service rotate-key` puts a new ' +
      'key into its file. Restart the service: it records the new key, signed by the former one, and both sign for 90 days. Give the new ' +
      'key to witnesses and auditors.',
    examples: [['What to run on the machine that seals', 'svc tlog rotate-key']],
  });

  async execute(): Promise<number> {
    throw new CliError('nothing was replaced: the key never leaves the machine that seals', EXIT.failure, [
      'run on that machine, with the settings of the service: control-service rotate-key',
      'restart the service; svc tlog status -o json shows the new key',
    ]);
  }
}

export const COMMANDS = [Check, Status, RotateKey];
