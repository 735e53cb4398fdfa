/** An exchange that did not end in an answer. The message names the server and the reason. */
class ExchangeFailed extends Error {
  override readonly name = 'ExchangeFailed';
}

export interface Outgoing {
  readonly method: 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** For all of the exchange, in milliseconds. */
  readonly timeoutMs: number;
  /** Of the answer's body. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface Incoming {
  readonly status: number;
  /** Without parameters, in lower case. */
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * Sends one request and reads its answer, both bounded in time, the answer also in size. Redirects are refused: the operator
 * named the server. Certificates are those of Node, with `NODE_EXTRA_CA_CERTS`. Throws `ExchangeFailed`.
 */
export async function exchange(url: string, { timeoutMs, maxBytes, signal, ...request }: Outgoing): Promise<Incoming> {
  const { origin } = new URL(url);
  const late = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, late]) : late;
  try {
    const response = await fetch(url, { ...request, redirect: 'error', signal: either });
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      length += chunk.byteLength;
      if (length > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';');
    return { status: response.status, contentType: contentType.trim().toLowerCase(), body: Buffer.concat(chunks) };
  } catch (error) {
    throw new ExchangeFailed(`${origin}: ${reasonOf(error, timeoutMs)}`, { cause: error });
  }
}

/** `fetch` keeps the reason in the cause. */
function reasonOf(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error & { readonly cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  return cause?.message || cause?.code || message;
}
