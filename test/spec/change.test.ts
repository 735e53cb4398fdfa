import { EditResource } from '../../src/commands/resource.js';
import { GROUP } from '../../src/kinds/group.js';
import { POLICY } from '../../src/kinds/policy.js';
import type { Change } from '../../src/model/change.js';
import { ControlRefusal } from '../../src/model/refusal.js';
import { decideEdit } from '../../src/model/resource-changes.js';
import type { ResourceKind } from '../../src/model/resource-kind.js';
import { finished } from '../../src/model/steps.js';
import { BY } from './decider.js';
import { account, group, ORG, occasion, org, past, policy, stateAfter, user } from './past.js';

const ANN = `/org/${ORG}/user/ann@example.com`;
const ROBOT = `/org/${ORG}/serviceaccount/robot`;
const state = stateAfter(
  past(org, ...user('ann@example.com'), account('robot'), group('devs', [ANN]), policy('readers', [ANN], [ANN])),
);

const edited = (of: ResourceKind, ref: string, change: Change) =>
  finished(decideEdit(of, state, { ...occasion('edit'), org: ORG, ref, change }))[0];

function faultsOf(change: Change) {
  try {
    return edited(GROUP, 'devs', change);
  } catch (error) {
    if (error instanceof ControlRefusal) return error.faults.map(({ pointer }) => pointer).sort();
    throw error;
  }
}

it('is data: a copy of the command decides the same', () => {
  const body = { memberLinks: { $append: [ROBOT], $drop: [ANN] }, description: null };
  const request = { org: ORG, by: BY, authority: undefined };
  const command = new EditResource('group', request, 'devs', { how: 'merge', body });
  const { ref, change } = structuredClone({ ...command });
  expect(edited(GROUP, ref, change)).toEqual(edited(GROUP, 'devs', command.change));
  expect(edited(GROUP, ref, change)).toMatchObject({ data: { memberLinks: [ROBOT], description: 'devs' } });
});

it('replaces what the body leaves out by its default', () => {
  expect(edited(GROUP, 'devs', { how: 'replace', body: { tags: { a: '1' } } })).toMatchObject({
    data: { description: 'devs', tags: { a: '1' }, memberLinks: [] },
  });
});

it('takes target in place of targetLinks', () => {
  const event = edited(POLICY, 'readers', { how: 'merge', body: { target: 'all' } });
  expect(event).toMatchObject({ data: { target: 'all' } });
  expect(event).not.toHaveProperty('data.targetLinks');
});

it('reports the faults of the body, of its operators and of the result at once', () => {
  const body = { kind: 'policy', version: '1', id: 'other', description: ' x', memberLinks: { $add: [] }, nope: 1 };
  const pointers = ['/description', '/id', '/kind', '/memberLinks/$add', '/nope', '/version'];
  expect(faultsOf({ how: 'merge', body })).toEqual(pointers);
});

it('rests on the version of the body, unless another precondition is given', () => {
  const body = { version: 7, tags: { a: '1' } };
  expect(() => edited(GROUP, 'devs', { how: 'merge', body })).toThrow(
    expect.objectContaining({ code: 'precondition_failed' }),
  );
  expect(edited(GROUP, 'devs', { how: 'merge', body, expected: 1 })).toMatchObject({ data: { version: 2 } });
});
