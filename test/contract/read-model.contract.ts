import { apartCases } from './read-model.apart.js';
import { applyCases } from './read-model.apply.js';
import { byteCases } from './read-model.bytes.js';
import { expiredCreationCases } from './read-model.expired.js';
import { filterCases } from './read-model.filter.js';
import { generationCases } from './read-model.generation.js';
import { type ModelFeature, modelCases, type ReadModelHarness } from './read-model.harness.js';
import { lastCases } from './read-model.last.js';
import { pageCases } from './read-model.page.js';
import { progressCases } from './read-model.progress.js';
import { receivedCases } from './read-model.received.js';
import { repairCases } from './read-model.repair.js';
import { retentionCases } from './read-model.retention.js';
import { scanCases } from './read-model.scan.js';
import { sealCases } from './read-model.seal.js';
import { statsCases } from './read-model.stats.js';
import { sweepCases } from './read-model.sweep.js';

export type { ReadModelHarness } from './read-model.harness.js';

/**
 * What every adapter of `ReadModel` promises, asserted through the port alone. `open` gives a new, empty model a case;
 * `without` names the optional parts that the harness does not have, whose cases are then skipped.
 */
export function readModelContract(
  name: string,
  open: () => Promise<ReadModelHarness>,
  options: { readonly without?: readonly ModelFeature[] } = {},
): void {
  describe(`read model contract: ${name}`, () => {
    const given = modelCases(open, options.without ?? []);
    describe('apply and get', () => applyCases(given));
    describe('progress and reopen', () => progressCases(given));
    describe('filters and count', () => filterCases(given));
    describe('pages in the order of a field', () => pageCases(given));
    describe('pages in the order received', () => receivedCases(given));
    describe('the end of the order received', () => lastCases(given));
    describe('pages by their bytes', () => byteCases(given));
    describe('counts by values and over time', () => statsCases(given));
    describe('generations', () => generationCases(given));
    describe('the seal of the live generation', () => sealCases(given));
    describe('retention', () => retentionCases(given));
    describe('retention of denied attempts', () => apartCases(given));
    describe('creation and retention', () => expiredCreationCases(given));
    describe('sweep', () => sweepCases(given));
    describe('scan and strays', () => scanCases(given));
    describe('overwrite and remove', () => repairCases(given));
  });
}
