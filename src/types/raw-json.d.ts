/** JSON.parse source text access (ECMAScript proposal, stage 4; in Node 22 and newer), which TypeScript does not list yet. */
interface JSON {
  /** An object that `stringify` writes as this text: one JSON primitive. */
  rawJSON(text: string): { readonly rawJSON: string };
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}
