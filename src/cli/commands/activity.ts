import { Option } from 'clipanion';
import { path } from '../../client/api-client.js';
import { queryText } from '../../client/pages.js';
import { kindOf } from '../../contract/kinds.js';
import { linkTo } from '../../contract/links.js';
import { moment, SINCE } from '../args/moments.js';
import { ApiCommand, onlyIn } from '../command.js';
import { openList, printLines, showResource } from '../output/document.js';
import { eventForms } from '../output/events.js';
import { UsageError } from '../output/failures.js';
import { textOf } from '../output/values.js';
import { readPage } from '../page.js';
import {
  type CountedBy,
  type Counts,
  countEvents,
  countText,
  histogramLines,
  histogramWidth,
  showHead,
  showValues,
} from './audit/counts.js';
import { showPage } from './pages.js';
import { ResourceCommand } from './resource/command.js';

const USUAL_PERIOD = '30d';
const SHOWN: readonly CountedBy[] = ['action', 'result', 'resource'];
const TOP = 5;
const LAST = 10;

/** What somebody did: counts, and the last events. */
export class UserActivity extends ResourceCommand {
  static override paths = [['user', 'activity']];
  static override usage = ApiCommand.Usage({
    description: 'show what a user did: how often, when, to what, and the last events',
    details:
      `Of the last ${USUAL_PERIOD} unless --since says otherwise. Counts the events whose subject has the user's e-mail address, whoever sent them; how many ` +
      "were sent with the user's own keys is said beside. An address also works for a user who was deleted.",
    examples: [
      ['The last month', 'svc user activity ann@example.com'],
      ['Today', 'svc user activity ann@example.com --since 1d'],
    ],
  });

  ref = Option.String({ name: 'ref', required: true });
  since = Option.String('--since', { description: `${SINCE}; default ${USUAL_PERIOD}` });
  protected override readonly kind = kindOf('user');
  protected override readonly unavailable = onlyIn(['text', 'json'], 'activity');

  protected async run(): Promise<void> {
    const { terminal, format } = this;
    const org = await this.requireOrg();
    const client = await this.authorized();
    const email = this.ref.includes('@') ? this.ref.toLowerCase() : await this.#emailOf(this.ref);
    const fromEvent = moment('--since', this.since ?? USUAL_PERIOD);
    const toEvent = new Date().toISOString();
    const period = { fromEvent, toEvent };
    const query = { subjectEmail: email, ...period, top: `${TOP}`, buckets: `${histogramWidth(terminal)}` };
    const answers = await Promise.all(SHOWN.map((by) => countEvents(client, org, by, query)));
    const own = { ...period, subjectEmail: undefined, publisher: linkTo(org, 'user', email), top: '1' };
    const sent = await countEvents(client, org, 'context', own);
    if (format !== 'text') {
      const members = [...SHOWN.map((by, at) => `${JSON.stringify(by)}:${answers[at]}`), `"sent":${sent}`];
      return showResource(terminal, 'json', `{"user":${JSON.stringify(email)},${members.join(',')}}`);
    }
    const all = answers.map((answer) => JSON.parse(answer) as Counts);
    const [first] = all;
    if (!first) return;
    const bySender = `${(JSON.parse(sent) as Counts).count.toLocaleString('en')} sent with the user's keys`;
    await showHead(terminal, [
      `${email}: ${countText(first.count, fromEvent, undefined)}, ${bySender}`,
      ...histogramLines(first, toEvent),
    ]);
    for (const [at, by] of SHOWN.entries()) {
      const counts = all[at];
      if (!counts || counts.count === 0) continue;
      await printLines(terminal, ['']);
      await showValues(terminal, by, counts);
    }
    if (first.count === 0) return;
    await printLines(terminal, ['']);
    const start = path`/audit/org/${org}` + queryText({ subjectEmail: email, ...period, pageSize: `${LAST}` });
    await showPage(await readPage(client, start), openList(terminal, format, eventForms(terminal, this.timeStyle)));
  }

  async #emailOf(ref: string): Promise<string> {
    const { email } = JSON.parse(await (await this.calls()).get(ref)) as { email?: unknown };
    if (textOf(email) === '') throw new UsageError(`${ref} has no e-mail address`);
    return textOf(email);
  }
}
