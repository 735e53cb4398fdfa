/** A store that cannot be used as it is. The message says which, why, and what the operator can do; the program ends with it. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable';
}
