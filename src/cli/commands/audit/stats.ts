import { Option } from 'clipanion';
import { LIMITS } from '../../../contract/limits.js';
import { choice } from '../../args/choice.js';
import { ago } from '../../args/moments.js';
import { ApiCommand, onlyIn } from '../../command.js';
import { isDocument, printLines, showResource } from '../../output/document.js';
import {
  COUNTED,
  type CountedBy,
  type Counts,
  countEvents,
  countText,
  histogramLines,
  histogramWidth,
  showHead,
  showValues,
} from './counts.js';
import { AuditFilterCommand } from './filters.js';

const USUAL_PERIOD = '7d';

/** Counts events by the values of a field, and over time. */
export class AuditStats extends AuditFilterCommand {
  static override paths = [['audit', 'stats']];
  static override usage = ApiCommand.Usage({
    description: 'count audit events by what they share: action, result, subject, resource',
    details:
      `Counts the last ${USUAL_PERIOD} unless --since or --from says otherwise, and takes the filters of lists. --max is how many values are shown, the ` +
      'most frequent first. On a terminal, blocks show the events over time (UTC). Only events that the key may read are counted.',
    examples: [
      ['What is done here', 'svc audit stats --by action'],
      ['Who was denied something in the last day', 'svc audit stats --by subject --result-status DENIED --since 1d'],
      ['What happens to which resources of a type', 'svc audit stats --by resource --resource-type order --max 50'],
      ['Since the beginning', 'svc audit stats --by context --from 1970-01-01'],
    ],
  });

  by = choice('--by', Object.keys(COUNTED) as CountedBy[], { what: 'what to count by', without: 'default action' });
  override max = Option.String('--max', '10', { description: 'most values to show, below 1 all; default 10' });
  protected override readonly unavailable = onlyIn(['text', 'json', 'yaml', 'names'], 'counts');

  protected async run(): Promise<void> {
    const { terminal, format, by = 'action' } = this;
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    const fromEvent = filters.fromEvent ?? ago('--since', USUAL_PERIOD);
    const toEvent = filters.toEvent ?? new Date().toISOString();
    const answer = await countEvents(client, org, by, {
      ...{ ...filters, ...this.resource, fromEvent, toEvent },
      top: String(Math.min(this.limit, LIMITS.stats.values)),
      buckets: String(histogramWidth(terminal)),
    });
    if (isDocument(format)) return showResource(terminal, format, answer);
    const counts = JSON.parse(answer) as Counts;
    if (format === 'names')
      return printLines(
        terminal,
        counts.values.map(({ value }) => value),
      );
    if (counts.count === 0) return terminal.note('No events match');
    if (terminal.isTTY)
      await showHead(terminal, [countText(counts.count, fromEvent, toEvent), ...histogramLines(counts, toEvent)]);
    await showValues(terminal, by, counts);
  }
}
