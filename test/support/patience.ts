/**
 * Times that a promise names are held to on a machine of one's own. One that is shared, as those of CI are, may stand still
 * for seconds: there they are so many times as long, which still tells a wait from a hang.
 */
export const PATIENCE = process.env.CI ? 8 : 1;
