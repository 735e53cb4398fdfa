/** Parts of kafkajs 2.2.4 below its public API; the package has these modules but no types for them. */
declare module 'kafkajs/src/protocol/requests/index.js' {
  export interface ProtocolRequest {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    encode(): Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>;
  }

  export interface Exchange {
    readonly request: ProtocolRequest;
    readonly requestTimeout?: number;
  }

  const protocol: {
    readonly requests: {
      readonly Fetch: { protocol(of: { readonly version: number }): (args: object) => Exchange };
    };
  };
  export default protocol;
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    readonly pending: readonly unknown[];
    scheduleCheckPendingRequests(): void;
  }
}
