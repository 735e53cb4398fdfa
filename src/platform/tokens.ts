/** What the composition root provides, by the name under which the rest asks for it. */
export const EVENT_LOG = Symbol('EventLog');
export const READ_MODEL = Symbol('ReadModel');
export const CLOCK = Symbol('Clock');
export const IDS = Symbol('Ids');
export const CONFIG = Symbol('Config');
export const MAILER = Symbol('Mailer');
/** The log, as far as it can copy itself. */
export const BACKUP = Symbol('Backup');
/** What the projections can do with a whole read model. */
export const MAINTENANCE = Symbol('Maintenance');
