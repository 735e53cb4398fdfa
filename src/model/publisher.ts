/** Who really sent an event. The service sets it; what the event says of itself is the `subject`. */
export interface Publisher {
  /** Of the user or service account; absent for the root key and the service itself, which belong to no organization. */
  readonly link?: string;
  /**
   * Of what the caller authenticated with: the id of the key, `root` for the root key, and the id of the invitation for
   * the code of an invitation; `service` if the service sends the event of its own accord. Not secret.
   */
  readonly keyId: string;
  /** The address that the request came from, whatever `context.remoteIp` says; absent if there was no request. */
  readonly remoteIp?: string;
}

/** Stands for the root key, which has no id. The ids of keys are UUIDs. */
export const ROOT_KEY_ID = 'root';

/** The publisher of what the service records without being asked. */
export const SERVICE_PUBLISHER = { keyId: 'service' } as const satisfies Publisher;

/** The parts of a principal or caller that an event records. */
export function publisherOf({ link, keyId }: Omit<Publisher, 'remoteIp'>, remoteIp: string): Publisher {
  return { ...(link !== undefined && { link }), keyId, remoteIp };
}

/**
 * The organization of the service's own events. Its context `svc` is the journal of the root key's actions. No
 * organization can have this name, and only the root key reads it.
 */
export const SERVICE_ORG = '-service';
