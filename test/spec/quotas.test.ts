import { QUOTAS, type Quotas, USUAL_QUOTAS } from '../../src/contract/limits.js';
import { emptyFold, foldRecord } from '../../src/control/fold.js';
import { refuseOverQuota } from '../../src/control/refusals.js';
import type { ControlEvent } from '../../src/model/control-events.js';
import { at, recordOf } from './decider.js';
import { account, type Decision, group, invited, org, past, policy, user } from './past.js';

/** What becomes of the last of the decisions under these quotas. */
function refusal(quotas: Partial<Quotas>, ...decisions: readonly Decision[]): unknown {
  const events = past(...decisions);
  const before = past(...decisions.slice(0, -1));
  return judged(quotas, before, events.slice(before.length));
}

function judged(quotas: Partial<Quotas>, before: readonly ControlEvent[], events: readonly ControlEvent[]): unknown {
  const fold = emptyFold();
  foldRecord(fold, recordOf('before', before, {}), at(0));
  try {
    refuseOverQuota(fold, events, { ...USUAL_QUOTAS, ...quotas });
    return undefined;
  } catch (error) {
    return error;
  }
}

const [ann, bob] = [user('ann@example.com'), user('bob@example.com')];

describe('quotas', () => {
  it.each<[keyof typeof QUOTAS, number, readonly Decision[]]>([
    ['user', 1, [org, ...ann, ...bob]],
    ['group', 1, [org, group('one'), group('two')]],
    ['serviceaccount', 1, [org, account('one'), account('two')]],
    ['policy', 0, [org, policy('one', [], [])]],
    ['invitation', 1, [org, invited('ann@example.com'), invited('bob@example.com')]],
  ])('refuse one %s too many, and take as many as the limit says', (kind, most, decisions) => {
    const { setting, plural } = QUOTAS[kind];
    expect(refusal({ [kind]: most }, ...decisions)).toMatchObject({
      code: 'quota_exceeded',
      message: `the limit of ${plural} in organization acme is ${most} (${setting}); delete some, or ask the operator to raise it`,
    });
    expect(refusal({ [kind]: most + 1 }, ...decisions)).toBeUndefined();
  });

  it('refuse an organization too many', () => {
    const events = past(org);
    const other = JSON.parse(JSON.stringify(events).replaceAll('acme', 'globex')) as ControlEvent[];
    expect(judged({ org: 1 }, events, other)).toMatchObject({
      code: 'quota_exceeded',
      message: 'the limit of organizations in the service is 1 (CONTROL_QUOTA_ORGS); ask the operator to raise it',
    });
    expect(judged({ org: 2 }, events, other)).toBeUndefined();
  });

  it('leave out what the service itself makes, also beside others', () => {
    expect(refusal({ group: 0, policy: 0, serviceaccount: 0 }, org)).toBeUndefined();
    const most = { group: 1, policy: 1, serviceaccount: 1 };
    for (const one of [group('one'), policy('one', [], []), account('one')]) {
      expect(refusal(most, org, one)).toBeUndefined();
    }
  });

  it('refuse no change that leaves as many as there were, also above the limit', () => {
    const decisions = [org, invited('ann@example.com'), invited('bob@example.com'), invited('ann@example.com')];
    expect(refusal({ invitation: 1 }, ...decisions)).toBeUndefined();
  });
});
