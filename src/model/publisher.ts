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

/** Takes of a principal or caller what an event tells of it. */
export function publisherOf({ link, keyId }: Omit<Publisher, 'remoteIp'>, remoteIp: string): Publisher {
  return { ...(link !== undefined && { link }), keyId, remoteIp };
}

/**
 * Stands for the service itself where events name an organization: its context `svc` is the journal of what the root key
 * did. No organization can have this name, and only the root key reads it.
 */
export const SERVICE_ORG = '-service';
