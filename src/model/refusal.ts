/** A decision that refuses. The code is one of the error catalogue's; the model knows no transport. */
export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';

  constructor(
    readonly code: 'already_exists' | 'builtin_tag' | 'conflict',
    message: string,
  ) {
    super(message);
  }
}
