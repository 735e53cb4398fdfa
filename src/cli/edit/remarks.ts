import { escapeLine } from '../output/escape.js';

/** Lines for the user, on top of a text that is edited. They are comments of YAML, and are taken off again. */
export class Remarks {
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines.map((line) => `# ${escapeLine(line)}`);
  }

  above(text: string): string {
    return `${this.#lines.join('\n')}\n${text}`;
  }

  /** The text without these lines, wherever they are by now. */
  off(text: string): string {
    const mine = new Set(this.#lines);
    return text
      .split('\n')
      .filter((line) => !mine.has(line.trimEnd()))
      .join('\n');
  }
}

/** Whether the text says nothing: comments are nothing. */
export const isBlank = (text: string): boolean => text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
