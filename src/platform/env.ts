import { readFileSync } from 'node:fs';

/** Reads variables and gathers their faults. An empty variable counts as absent; values are never repeated. */
export class Env {
  readonly faults: string[] = [];

  constructor(private readonly variables: Readonly<Record<string, string | undefined>>) {}

  fault(name: string, reason: string): void {
    this.faults.push(`${name}: ${reason}`);
  }

  optional(name: string): string | undefined {
    return this.variables[name] || undefined;
  }

  text(name: string, otherwise: string): string {
    return this.optional(name) ?? otherwise;
  }

  whole(name: string, otherwise: number, least: number, most: number): number {
    const value = Number(this.text(name, String(otherwise)));
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    this.fault(name, `must be a whole number from ${least} to ${most}`);
    return otherwise;
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value {
    const value = this.text(name, otherwise);
    if ((values as readonly string[]).includes(value)) return value as Value;
    this.fault(name, `must be one of ${values.join(', ')}`);
    return otherwise;
  }

  list(name: string, otherwise = ''): string[] {
    return this.text(name, otherwise)
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);
  }

  /** From the variable, or from the file that `<name>_FILE` names, without the white space around. */
  secret(name: string): string | undefined {
    const given = this.optional(name);
    const inFile = this.file(`${name}_FILE`)?.trim();
    if (given !== undefined && inFile !== undefined) this.fault(name, `may not be set beside ${name}_FILE; keep one`);
    if (inFile === '') this.fault(`${name}_FILE`, 'the file is empty');
    return given ?? (inFile || undefined);
  }

  /** The text of the file that the variable names. */
  file(name: string): string | undefined {
    const path = this.optional(name);
    if (path === undefined) return undefined;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      this.fault(name, `the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
      return undefined;
    }
  }
}
