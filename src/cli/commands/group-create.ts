import { type CommandClass, Option } from 'clipanion';
import { choice } from '../args/choice.js';
import { GROUP } from '../args/kinds.js';
import { MATCHES, querySpec } from '../args/query-terms.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { CreateCommand, FROM_FILE } from './resource/create.js';

/** `svc group create`. */
export function createGroupCommand(): CommandClass<SvcContext> {
  return class extends CreateCommand {
    static override paths = [['group', 'create']];
    static override usage = ApiCommand.Usage({
      description: 'create a group; members are then added with add-member',
      details: `Whoever matches the query of a group is a member, too, as long as it matches. ${FROM_FILE}`,
      examples: [
        ['A group', 'svc group create --name devs --description "who writes it" --tag team=core'],
        ['All users with a tag', 'svc group create --name core --query-tag team=core'],
        ['As another one is', 'svc group get devs -o yaml-slim | svc group create -f - --name ops'],
      ],
    });

    queryMatch = choice('--query-match', MATCHES, {
      what: 'which terms of the query must hold',
      without: 'default all',
    });
    queryProperties = Option.Array('--query-property', [], {
      description: 'members are those with a property key=value; may be given several times',
    });
    queryTags = Option.Array('--query-tag', [], {
      description: 'members are those with a tag key=value; may be given several times',
    });
    queryRelations = Option.Array('--query-rel', [], {
      description: 'members are those with a relation, such as group=devs; may be given several times',
    });
    queryKind = choice('--query-kind', ['user'], { what: 'what the query selects', without: 'default user' });
    protected override readonly kind = GROUP;

    protected override async options(): Promise<Readonly<Record<string, unknown>>> {
      const { queryMatch: match, queryKind: kind = 'user' } = this;
      const spec = querySpec({
        match,
        properties: { option: '--query-property', value: this.queryProperties },
        tags: { option: '--query-tag', value: this.queryTags },
        relations: { option: '--query-rel', value: this.queryRelations },
      });
      if (spec.terms.length > 0) return { memberQuery: { kind, fetch: 'items', spec } };
      // A query without terms would make every user a member.
      if ((this.queryMatch ?? this.queryKind) !== undefined) {
        this.terminal.note('the group has no query: that takes --query-property, --query-tag or --query-rel');
      }
      return {};
    }
  };
}
