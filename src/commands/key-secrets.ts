import { createHmac, hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Ids } from '../ids.js';
import { IDS, ROOT_KEY } from '../tokens.js';

/** Recognizable in logs and by secret scanners. */
const PREFIX = 'svc_';

/** What is stored of a key: its SHA-256, in hex. A key has 256 random bits, so a plain hash gives nothing away. */
export function keyHash(key: string): string {
  return hash('sha256', key);
}

/** Makes API keys. They are shown once; only their hash is kept. */
@Injectable()
export class KeySecrets {
  constructor(
    @Inject(IDS) private readonly ids: Ids,
    @Inject(ROOT_KEY) private readonly rootKey: string,
  ) {}

  random(): string {
    return PREFIX + this.ids.secret();
  }

  /**
   * The key of a command that may be retried: the same at each retry, on every instance, and found out by nobody
   * without the root key. So a retry can give the first answer although the key is stored nowhere.
   */
  derived(commandId: string): string {
    return PREFIX + createHmac('sha256', this.rootKey).update(`key of command ${commandId}`).digest('base64url');
  }
}
