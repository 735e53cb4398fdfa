import { exchange } from '../../platform/exchange.js';
import { ANCHOR_LIMITS, type Anchor, type AnchoredCheckpoint } from './anchor.js';

/** Posts the note. Any 2xx says that the receiver has it. */
export class HttpsAnchor implements Anchor {
  readonly name: string;
  readonly #url: string;
  readonly #headers: Record<string, string> = { 'content-type': 'text/plain; charset=utf-8' };

  /** A user and a password in the address are sent as `Authorization: Basic`. */
  constructor(url: URL) {
    this.name = url.origin;
    const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const address = new URL(url);
    address.username = '';
    address.password = '';
    this.#url = address.href;
    if (user !== '') this.#headers['authorization'] = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  async put({ note }: AnchoredCheckpoint): Promise<void> {
    const { status } = await exchange(this.#url, {
      ...{ method: 'POST', headers: this.#headers, body: note },
      ...ANCHOR_LIMITS,
    });
    if (status < 200 || status > 299) throw new Error(`${this.name} answered ${status}`);
  }
}
