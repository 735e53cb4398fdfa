import { escapeLine } from '../output/escape.js';
import { differenceOf } from '../output/event-diff.js';
import { diffLines } from '../output/events.js';
import { toYaml } from '../output/yaml.js';
import type { Terminal } from '../terminal.js';
import { KEYS as FILTER_KEYS } from './filter.js';
import { KEY_HELP } from './keys.js';
import type { Rules } from './model.js';
import { wrap } from './text.js';

type Painter = Pick<Terminal, 'paint'>;

/** What is shown of one event, its difference, or the help: escaped and painted lines that fit the width. */
export function paneLines(terminal: Painter): Rules['pane'] {
  return (row, view, columns) => {
    const lines =
      view === 'help' || !row ? helpLines(terminal) : view === 'diff' ? diffOf(terminal, row.raw) : eventOf(row.raw);
    return lines.flatMap((line) => wrap(line, columns));
  };
}

const eventOf = (raw: string): string[] => toYaml(raw).trimEnd().split('\n').map(escapeLine);

function diffOf(terminal: Painter, raw: string): string[] {
  const { changes } = differenceOf(raw);
  if (changes.length > 0) return changes.flatMap(diffLines(terminal));
  return ['This event has no before and after (action.data). Enter shows all of it.'];
}

function helpLines(terminal: Painter): string[] {
  const width = Math.max(...KEY_HELP.map(([keys]) => keys.length));
  return [
    ...KEY_HELP.map(([keys, what]) => `${terminal.paint('bold', keys.padEnd(width))}  ${what}`),
    '',
    'A filter is words and key:value or key:"two words"; all must match.',
    'As you type, each is looked for in the loaded events, in any case.',
    'Enter asks the service for each key:value, which it compares exactly;',
    'words stay a filter of what is loaded. Below the list you see which is',
    'shown: [service], all that it returned, or [loaded], what matches.',
    '',
    `Keys: ${FILTER_KEYS.slice(0, 8).join(', ')},`,
    `${FILTER_KEYS.slice(8).join(', ')}.`,
    'since and until take 7d, 12h or an ISO 8601 instant.',
    '',
    '+ is a result that is OK, ! one that is not; *ann (by ci): ci sent it.',
  ];
}
