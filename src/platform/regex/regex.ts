import { RE2JSException, RE2Set } from 're2js';
import type { FieldFault } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { characters } from '../text.js';
import { estimate } from './estimate.js';

/** Of the program of one expression: routers have to run it. */
const MOST_INSTRUCTIONS = 10_000;

/** In units of about a microsecond. */
const MOST_WORK = 10_000;
const MOST_WORK_OF_A_BODY = 50_000;

/**
 * Checks the regular expressions of one body: that their syntax is RE2's, and that they are small. They are only read:
 * never compiled, never run.
 *
 * Even reading one can take most of a second (hundreds of wide ranges without regard to case), and nothing else goes on
 * meanwhile. So what it will take is estimated before, in one pass over the text, and what is too large is refused unread:
 * alone, or together with those before it, so that all of a body take about 50 ms at most. Expressions seen before cost
 * nothing.
 */
export class RegexCheck {
  private readonly known = new Map<string, string | undefined>();
  private work = 0;

  /** Undefined for a sound expression; else what is wrong and what to do. */
  fault(regex: string): string | undefined {
    if (this.known.has(regex)) return this.known.get(regex);
    const fault = this.check(regex);
    this.known.set(regex, fault);
    return fault;
  }

  private check(regex: string): string | undefined {
    const { regex: most } = LIMITS.domain;
    if (characters(regex) > most) return `may have at most ${most} characters`;
    const { instructions, work } = estimate(regex);
    if (instructions > MOST_INSTRUCTIONS || work > MOST_WORK) {
      return 'is too large: use smaller counted repetitions, and fewer Unicode classes';
    }
    this.work += work;
    if (this.work > MOST_WORK_OF_A_BODY) {
      return 'is too much together with the regular expressions before it: use fewer, or shorter and simpler ones';
    }
    return syntaxFault(regex);
  }
}

function syntaxFault(regex: string): string | undefined {
  try {
    // A set reads what is added to it, and compiles nothing before it is asked for a match.
    new RE2Set().add(regex);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const { message } = error;
    const what = message.startsWith(PREAMBLE) ? message.slice(PREAMBLE.length) : message;
    return `must be an RE2 regular expression (no look-around, no back-references): ${what}`;
  }
}

const PREAMBLE = 'error parsing regexp: ';

/** As a list of faults, at the place of the expression. */
export function regexFaults(check: RegexCheck, regex: unknown, pointer: string): FieldFault[] {
  const reason = typeof regex === 'string' ? check.fault(regex) : undefined;
  return reason === undefined ? [] : [{ pointer, reason }];
}
