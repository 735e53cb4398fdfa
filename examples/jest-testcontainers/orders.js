import { AuditClient } from '@control-service/client';

/** Orders of a shop. Every cancellation is on record before the caller is told. */
export class Orders {
  #audit;

  /** `audit`: `{ endpoint, org, key }` of the Control Service. */
  constructor(audit) {
    this.#audit = new AuditClient({ ...audit, context: 'orders' });
  }

  async cancel(id, by) {
    return await this.#audit.publish({
      resource: { id, type: 'order' },
      action: { type: 'cancel' },
      subject: { email: by },
      result: { status: 'success' },
    });
  }

  close() {
    return this.#audit.close();
  }
}
