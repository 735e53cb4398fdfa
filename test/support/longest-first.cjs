const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * Suites that take longest and whose files are short: Jest would run them last, where a machine has no times of an
 * earlier run, and one worker would wait for the other.
 */
const LONGEST = [
  'cluster/read-model.test.ts',
  'cluster/read-your-writes.test.ts',
  'cluster/elasticsearch-restart.test.ts',
  'cluster/event-log.test.ts',
  'cluster/kafka-consume.test.ts',
  'cli/transcripts.test.ts',
  'hardening/schemathesis.test.ts',
  'cli/specification/',
];

const rankOf = ({ path }) => {
  const rank = LONGEST.findIndex((name) => path.includes(`/test/${name}`));
  return rank === -1 ? LONGEST.length : rank;
};

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other));
  }
};
