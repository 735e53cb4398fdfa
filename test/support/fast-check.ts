import fc from 'fast-check';
import { SEED } from './random.js';

/** The case at which a property failed, as fast-check prints it: `FC_PATH=12:0:3` runs that case alone. */
const path = process.env.FC_PATH;

fc.configureGlobal({ seed: SEED, ...(path && { path, endOnFailure: true }) });

/** fast-check with the seed of the run. Tests import it from here only; the linter refuses `fast-check` itself. */
export { fc as default };
