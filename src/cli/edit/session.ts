import { ApiError, ClientError } from '../../client/errors.js';
import { fromYaml, YamlFault } from '../args/yaml.js';
import { CliError, hintsOf } from '../output/failures.js';
import { tellRefusal } from '../output/fields.js';
import { toYaml } from '../output/yaml.js';
import type { Terminal } from '../terminal.js';
import { Draft, isBlank, Remarks } from './draft.js';
import { type Editor, isAttended } from './editor.js';
import { difference, isMap, jsonOf, parseValue, rebase, type Value } from './merge.js';

/** A resource of the service. */
export interface Stored {
  readonly version: string;
  /** The resource as JSON text. */
  readonly text: string;
  /** Its editable members, as JSON text. */
  readonly document: string;
}

/** The part of the service that an edit needs. */
export interface Store {
  read(): Promise<Stored>;
  /** Sends a body meant for that version. Returns the changed resource. */
  send(body: string, version: string): Promise<string>;
}

export interface Edit {
  readonly store: Store;
  readonly terminal: Terminal;
  readonly editor: Editor;
  /** The name of the resource, in a sentence. */
  readonly what: string;
  /** Sends the whole document, not its difference to the stored one. */
  readonly replace: boolean;
}

/** Without a person at the terminal, an editor whose text keeps being refused is stopped after so many tries. */
const UNATTENDED_TRIES = 3;
/** Statuses that say that the document is wrong, not the caller or the service. */
const REFUSED = [400, 409, 413];
const STALE = 412;
/** The lines of remarks above the text. */
const LINES_ABOVE = 2;

/**
 * Lets the user edit the stored resource until the change is sent or given up. Returns the changed resource; undefined if
 * nothing was sent. A text that the service did not take is kept in a file, whose path is reported.
 */
export async function runEdit(edit: Edit): Promise<string | undefined> {
  const stored = await edit.store.read();
  const draft = await Draft.create('resource.yaml');
  let saved: string | undefined;
  try {
    saved = await new Session(edit, draft, stored).run();
  } catch (error) {
    if (await draft.isEdited()) edit.terminal.note(`the text is kept in ${draft.path}`);
    else await draft.remove();
    throw error;
  }
  await draft.remove();
  return saved;
}

class Session {
  readonly #edit: Edit;
  readonly #draft: Draft;
  #stored: Stored;
  /** What the editor shows next, below the remarks. */
  #text: string;
  #remarks: Remarks;
  /** Why the text was refused, when it is shown again. */
  #refusal: ClientError | undefined;
  #refusals = 0;

  constructor(edit: Edit, draft: Draft, stored: Stored) {
    this.#edit = edit;
    this.#draft = draft;
    this.#stored = stored;
    this.#text = toYaml(stored.document);
    this.#remarks = new Remarks([
      `This is ${edit.what}. Save and close to send what you change${edit.replace ? ', and what you leave as it is' : ''}.`,
      'Without a change, or with an empty file, nothing is sent. Lines like these are ignored.',
    ]);
  }

  async run(): Promise<string | undefined> {
    for (;;) {
      const text = await this.#show();
      if (isBlank(text)) return this.#unsent('the text is empty');
      if (this.#refusal && text === this.#text) throw this.#refusal;
      try {
        const wanted = documentOf(text);
        const change = difference(this.#base, wanted);
        if (change === undefined) return this.#unsent('nothing was changed');
        return await this.#edit.store.send(jsonOf(this.#edit.replace ? wanted : change), this.#stored.version);
      } catch (error) {
        if (!isStale(error)) this.#reopen(text, refusalOf(error));
        else if (await this.#rebase(documentOf(text))) return this.#stored.text;
      }
    }
  }

  get #base(): Value {
    return parseValue(this.#stored.document);
  }

  async #show(): Promise<string> {
    await this.#draft.write(this.#remarks.above(this.#text));
    await this.#edit.editor.open(this.#draft.path);
    return this.#remarks.off(await this.#draft.read());
  }

  #unsent(reason: string): undefined {
    this.#edit.terminal.note(`${reason}: nothing was sent`);
  }

  /** The same text once more, with the refusal on top. */
  #reopen(text: string, refusal: ClientError): void {
    this.#refusals += 1;
    if (this.#refusals >= UNATTENDED_TRIES && !isAttended(this.#edit.terminal)) throw refusal;
    this.#text = text;
    this.#refusal = refusal;
    this.#remarks = new Remarks([
      `Refused: ${refusal instanceof ApiError ? tellRefusal(refusal.body).message : refusal.message}`,
      ...hintsOf(refusal).map((hint) => `  ${hint}`),
      'Correct it, save and close. To give up, leave it as it is, or empty the file.',
    ]);
  }

  /**
   * Somebody else changed the resource: applies the edit to the newest version and shows it again, since only a person
   * can judge whether both changes go together. True if nothing is left to send, as after a lost response.
   */
  async #rebase(wanted: Value): Promise<boolean> {
    const { store, terminal, what } = this.#edit;
    const [base, { version }] = [this.#base, this.#stored];
    this.#stored = await store.read();
    const { value, theirs } = rebase(base, wanted, this.#base);
    if (difference(this.#base, value) === undefined) return true;
    const news = `${what} was changed by somebody else meanwhile: version ${version} is now ${this.#stored.version}`;
    if (!isAttended(terminal)) throw new CliError(`${news}; nothing was sent`, undefined, theirs);
    terminal.note(news);
    this.#text = toYaml(jsonOf(value));
    this.#refusal = undefined;
    this.#remarks = new Remarks([
      `${news}. Changed there:`,
      ...theirs.map((line) => `  ${line}`),
      'Below is the newest version with your changes in it. Save and close to send it, or empty the file to give up.',
    ]);
    return false;
  }
}

/** Throws `YamlFault`. */
function documentOf(text: string): Value {
  const value = parseValue(fromYaml(text));
  if (isMap(value)) return value;
  throw new YamlFault('must be names with their values');
}

const isStale = (error: unknown): boolean => error instanceof ApiError && error.body.status === STALE;

/** The fault of the document, for the user. Rethrows errors of any other kind. */
function refusalOf(error: unknown): ClientError {
  if (error instanceof ApiError && REFUSED.includes(error.body.status)) return error;
  if (!(error instanceof YamlFault)) throw error;
  const { line, message } = error;
  return new CliError(line === undefined ? `the text ${message}` : `line ${line + LINES_ABOVE}: ${message}`);
}
