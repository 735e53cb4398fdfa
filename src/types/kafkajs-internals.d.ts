/** Parts of kafkajs 2.2.4 below its public API; the package has these modules but no types for them. */
declare module 'kafkajs/src/network/connectionPool.js' {
  import type { Socket } from 'node:net';
  import type { Logger, SASLOptions } from 'kafkajs';

  export interface Encoded {
    readonly buf: Buffer;
    readonly buffer: Buffer;
  }

  export interface ProtocolRequest {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    encode(): Promise<Encoded>;
  }

  export interface ProtocolExchange<Decoded, Answer> {
    readonly request: ProtocolRequest;
    readonly response: { decode(raw: Buffer): Promise<Decoded>; parse(decoded: Decoded): Promise<Answer> };
    readonly requestTimeout?: number;
  }

  export default class ConnectionPool {
    constructor(options: {
      readonly host: string;
      readonly port: number;
      readonly clientId: string;
      readonly logger: Logger;
      readonly ssl?: object;
      readonly sasl?: SASLOptions;
      readonly connectionTimeout: number;
      readonly requestTimeout: number;
      readonly socketFactory: (target: { host: string; port: number; ssl?: object; onConnect: () => void }) => Socket;
    });
    send<Decoded, Answer>(exchange: ProtocolExchange<Decoded, Answer>): Promise<Answer>;
  }
}

declare module 'kafkajs/src/broker/index.js' {
  import type { Logger } from 'kafkajs';
  import type ConnectionPool from 'kafkajs/src/network/connectionPool.js';
  import type { ProtocolExchange } from 'kafkajs/src/network/connectionPool.js';
  import type { RequestDefinition } from 'kafkajs/src/protocol/requests/index.js';

  export default class Broker {
    constructor(options: { readonly connectionPool: ConnectionPool; readonly logger: Logger });
    readonly connectionPool: ConnectionPool;
    /** Of each API, by its key; null until it was connected. */
    readonly versions: Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number }>> | null;
    isConnected(): boolean;
    connect(): Promise<void>;
    /** Chooses the newest version that both sides know. */
    lookupRequest(apiKey: number, definition: RequestDefinition): (args: object) => ProtocolExchange<never, never>;
  }
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  export interface RequestDefinition {
    readonly versions: readonly string[];
  }
  const protocol: { readonly requests: Readonly<Record<string, RequestDefinition>> };
  export default protocol;
}

declare module 'kafkajs/src/protocol/requests/apiKeys.js' {
  const apiKeys: Readonly<Record<string, number>>;
  export default apiKeys;
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    readonly pending: readonly unknown[];
    scheduleCheckPendingRequests(): void;
  }
}

declare module 'kafkajs/src/loggers/index.js' {
  import type { Logger, logCreator } from 'kafkajs';

  const loggers: { createLogger(options: { readonly level: number; readonly logCreator: logCreator }): Logger };
  export default loggers;
}
