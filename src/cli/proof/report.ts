import type { NotShown, Shown } from '../../tlog/findings.js';
import { parseOrigin } from '../../tlog/origin.js';
import { escapeLine } from '../output/escape.js';
import type { Terminal } from '../terminal.js';

/** What a verification showed, beside the checkpoint. */
interface Verified extends Shown {
  readonly notShown: readonly NotShown[];
}

/** What was shown, and what was not. `what` is the sentence on the events. */
export function reportOf(terminal: Terminal, what: string, verified: Verified): string {
  const { origin, size, root, complete, head, pinned, notShown } = verified;
  const rows: [string, string][] = [
    ['organization', parseOrigin(origin)?.org ?? ''],
    ['log', origin],
    ['checkpoint', `${size} leaves, complete up to ${new Date(complete).toISOString()}`],
    ['root', root],
    ...(head
      ? [['number', `${head.number}, in the service log of ${head.service.size} cuts`] as [string, string]]
      : []),
    ...(pinned ? [['pinned', `continues the checkpoint of ${pinned.size} leaves`] as [string, string]] : []),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = [
    `${terminal.paint('green', 'verified')}: ${escapeLine(what)}`,
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${escapeLine(text)}`),
    'not shown:',
    ...notShown.map(({ text }) => `  ${escapeLine(text)}`),
  ];
  return `${lines.join('\n')}\n`;
}
