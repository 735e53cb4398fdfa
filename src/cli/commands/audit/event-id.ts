import { type ApiClient, path } from '../../../client/api-client.js';
import { nextOf, queryText } from '../../../client/pages.js';
import { shortId } from '../../output/events.js';
import { CliError, EXIT } from '../../output/failures.js';
import { objectOf, type Shown, textOf } from '../../output/values.js';
import { readPage } from '../../page.js';

/** 8, 10 or 12 hexadecimal digits: the end of an identifier. */
const SHORT = /^([\da-f]{2}){4,6}$/i;
/** So many are enough to name. */
const CANDIDATES = 5;

/**
 * The identifier of the event that is meant: itself, or the one that ends so. Throws `CliError` where none does, and where
 * several do: then it names them.
 */
export async function wholeId(client: ApiClient, org: string, id: string): Promise<string> {
  if (!SHORT.test(id)) return id;
  const query = queryText({ idEnding: id.toLowerCase(), pageSize: String(CANDIDATES) });
  const found: Shown[] = [];
  for (let at: string | undefined = `${path`/audit/org/${org}`}${query}`; at !== undefined && found.length < 2; ) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(client, at);
    found.push(...page.items.map((item) => JSON.parse(item) as Shown));
    at = nextOf(page, at);
  }
  const [first, ...others] = found;
  if (!first) throw new CliError(`no event's identifier ends with ${id}`, EXIT.failure, ['see `svc audit list`']);
  if (others.length > 0)
    throw new CliError(`several events end with ${id}; give more of it`, EXIT.failure, found.map(inWords));
  return textOf(first.id);
}

function inWords({ id, eventTime, action, resource }: Shown): string {
  const what = [objectOf(action).type, objectOf(resource).name ?? objectOf(resource).id].map(textOf).filter(Boolean);
  return `${shortId(textOf(id), 12)}  ${textOf(id)}  ${textOf(eventTime)}  ${what.join(' ')}`;
}
