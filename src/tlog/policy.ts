import { parseVkey } from './note.js';
import { FormatInvalid, fromDecimal } from './text.js';

interface PolicyKey {
  readonly vkey: string;
  readonly url?: string;
}

/** Which checkpoints to believe: C2SP tlog-policy. */
export interface Policy {
  readonly logs: readonly PolicyKey[];
  readonly witnesses: readonly (PolicyKey & { readonly name: string })[];
  /** `none` if no cosignature is asked for. */
  readonly quorum: string;
  /** Whether the witnesses with these keys are enough. */
  isMetBy(vkeys: Iterable<string>): boolean;
}

/** Whether a witness or a group has witnessed what these keys cosigned. */
type Rule = (vkeys: ReadonlySet<string>) => boolean;

/** Throws `FormatInvalid`, which names the line. */
export function parsePolicy(text: string): Policy {
  const reading = new PolicyReading();
  for (const [at, line] of text.split('\n').entries()) {
    const items = line.split(/[ \t]+/).filter(Boolean);
    if (!items.length || items[0]?.startsWith('#')) continue;
    try {
      reading.take(items);
    } catch (error) {
      if (!(error instanceof FormatInvalid)) throw error;
      throw new FormatInvalid(`Line ${at + 1} of the policy: ${error.message}`);
    }
  }
  return reading.policy();
}

class PolicyReading {
  readonly #logs: PolicyKey[] = [];
  readonly #witnesses: (PolicyKey & { name: string })[] = [];
  readonly #rules = new Map<string, Rule>([['none', () => true]]);
  /** Members of groups: nothing counts twice. */
  readonly #members = new Set<string>();
  readonly #keys = { log: new Set<string>(), witness: new Set<string>() };
  #quorum: string | undefined;

  take([kind, ...items]: readonly string[]): void {
    if (kind === 'log') this.#log(items);
    else if (kind === 'witness') this.#witness(items);
    else if (kind === 'group') this.#group(items);
    else if (kind === 'quorum') this.#takeQuorum(items);
    else throw new FormatInvalid(`"${kind}" is not one of log, witness, group and quorum.`);
  }

  policy(): Policy {
    const quorum = this.#quorum;
    const rule = this.#rules.get(quorum ?? '');
    if (quorum === undefined || !rule) throw new FormatInvalid('The policy has no line "quorum".');
    return { logs: this.#logs, witnesses: this.#witnesses, quorum, isMetBy: (vkeys) => rule(new Set(vkeys)) };
  }

  #log(items: readonly string[]): void {
    const [vkey = '', url] = items;
    expectItems(items, 1, 2, 'log <vkey> [<url>]');
    this.#unusedKey('log', vkey);
    this.#logs.push({ vkey, ...(url !== undefined && { url }) });
  }

  #witness(items: readonly string[]): void {
    const [name = '', vkey = '', url] = items;
    expectItems(items, 2, 3, 'witness <name> <vkey> [<url>]');
    this.#unusedKey('witness', vkey);
    this.#define(name, (vkeys) => vkeys.has(vkey));
    this.#witnesses.push({ name, vkey, ...(url !== undefined && { url }) });
  }

  #group(items: readonly string[]): void {
    const [name = '', threshold = '', ...members] = items;
    expectItems(items, 3, Number.POSITIVE_INFINITY, 'group <name> <threshold> <member>...');
    const least = leastOf(threshold, members.length);
    if (!(least >= 1 && least <= members.length))
      throw new FormatInvalid(
        `${name} needs "${threshold}" of ${members.length}: write all, any, or 1 to ${members.length}.`,
      );
    const rules = members.map((member) => this.#member(member));
    this.#define(name, (vkeys) => rules.filter((rule) => rule(vkeys)).length >= least);
  }

  #member(name: string): Rule {
    const rule = this.#rules.get(name);
    if (!rule || name === 'none') throw new FormatInvalid(`No earlier line defines ${name}.`);
    if (this.#members.has(name)) throw new FormatInvalid(`${name} is a member for the second time.`);
    this.#members.add(name);
    return rule;
  }

  #takeQuorum(items: readonly string[]): void {
    expectItems(items, 1, 1, 'quorum <name>');
    const [name = ''] = items;
    if (this.#quorum !== undefined) throw new FormatInvalid('There is a second line "quorum".');
    if (!this.#rules.has(name)) throw new FormatInvalid(`No earlier line defines ${name}.`);
    this.#quorum = name;
  }

  #define(name: string, rule: Rule): void {
    if (this.#rules.has(name)) throw new FormatInvalid(`${name} is defined for the second time.`);
    this.#rules.set(name, rule);
  }

  /** Keys are the same if their bytes are, whatever their names. */
  #unusedKey(kind: 'log' | 'witness', vkey: string): void {
    const key = parseVkey(vkey).publicKey.toString('hex');
    if (this.#keys[kind].has(key)) throw new FormatInvalid(`There is a second ${kind} with the key of ${vkey}.`);
    this.#keys[kind].add(key);
  }
}

function leastOf(threshold: string, members: number): number {
  if (threshold === 'any') return 1;
  if (threshold === 'all') return members;
  return fromDecimal(threshold) ?? Number.NaN;
}

function expectItems(items: readonly string[], least: number, most: number, form: string): void {
  if (items.length < least || items.length > most) throw new FormatInvalid(`Write it as ${form}.`);
}
