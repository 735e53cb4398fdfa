import { Option } from 'clipanion';
import { choice } from '../../args/choice.js';
import { MATCHES, querySpec } from '../../args/query-terms.js';
import { ApiCommand } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import { showCard } from '../card.js';
import { type Example, ResourceCommand, type Verb } from './command.js';

/** `svc <kind> get [ref...]`. */
export const get: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [[kind.name, 'get']];
    static override usage = ApiCommand.Usage({
      description: `show ${kind.plural}: the named ones, or all`,
      details:
        'One reference shows the resource, on a terminal with all that it has; several or none show a list. All references are tried; each failure is reported.',
      examples: [
        [`The first 50 ${kind.plural}`, `svc ${kind.name} get`],
        [`One ${kind.noun}, as YAML`, `svc ${kind.name} get ${kind.example} -o yaml`],
        [`All ${kind.plural}, one name a line`, `svc ${kind.name} get --max -1 -o names`],
      ],
    });

    refs = Option.Rest({ name: 'ref' });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const { get: read } = await this.calls();
      if (this.refs.length === 1 && this.hasCards)
        return this.tryAll(this.refs, async (ref) => showCard(this.terminal, await read(ref), this.timeStyle));
      if (this.refs.length > 0) return this.showEach(this.refs, read);
      await this.showList();
      return EXIT.ok;
    }
  };

/** `svc <kind> query`. */
export const query: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [[kind.name, 'query']];
    static override usage = ApiCommand.Usage({
      description: `find ${kind.plural} by their properties, tags and relations`,
      details:
        'A property is named by its path, a tag also by tags.KEY. Besides key=value, --property takes key!=value, ' +
        'key>value, key>=value, key<value, key<=value, key~value (contains, in any case), key (is present) and !key (is ' +
        'absent). Texts compare exactly, numbers and times by value.' +
        (kind.name in RELATIONS ? ` --rel takes ${RELATIONS[kind.name]}=REF and ${RELATIONS[kind.name]}!=REF.` : ''),
      examples: EXAMPLES[kind.name] ?? [[`By a tag`, `svc ${kind.name} query --tag team=core`]],
    });

    match = choice('--match', MATCHES, { what: 'which terms must hold', without: 'default all' });
    properties = Option.Array('--property,--prop', [], {
      description: 'a property key=value; may be given several times',
    });
    tags = Option.Array('--tag', [], { description: 'a tag key=value; may be given several times' });
    relations = Option.Array('--rel', [], { description: 'a relation; may be given several times' });
    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const spec = querySpec({
        match: this.match,
        properties: { option: '--property', value: this.properties },
        tags: { option: '--tag', value: this.tags },
        relations: { option: '--rel', value: this.relations },
      });
      await this.showList({ kind: kind.name, fetch: 'items', spec });
    }
  };

const RELATIONS: Readonly<Record<string, string>> = { user: 'group', group: 'member' };

const EXAMPLES: Readonly<Record<string, Example[]>> = {
  user: [
    ['By e-mail address', 'svc user query --property email=ann@example.com'],
    ['Those of a team who joined in 2024 or later', 'svc user query --tag team=core --prop "created>=2024-01-01"'],
    ['Those who are in neither group', 'svc user query --match none --rel group=devs --rel group=ops'],
  ],
  group: [
    ['By name', 'svc group query --property name=devs'],
    ['By a word in the description', 'svc group query --prop description~deploy'],
    ['All groups that link a user', 'svc group query --rel member=ann@example.com'],
  ],
  domain: [['Those with a certificate by DNS', 'svc domain query --prop spec.certChallengeType=dns01']],
  policy: [['Those on groups', 'svc policy query --prop targetKind=group']],
};
