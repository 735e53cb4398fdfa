/**
 * Stands for the service itself where events name an organization: its context `svc` is the journal of what the root key
 * did. No organization can have this name, and only the root key reads it.
 */
export const SERVICE_ORG = '-service';
