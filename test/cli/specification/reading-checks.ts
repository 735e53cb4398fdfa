import { expectUsageError, type Live } from '../support/live.js';
import { type Kind, make, read, requiresRef } from './made.js';
import type { Checks } from './verify.js';

export function accessReport(kind: Kind): Checks {
  const shown = async (live: Live) => {
    const made = await make(live, kind);
    const report = (await live.org.api.get<object>(`${made.path}/-accessreport`)).body;
    expect(report).toHaveProperty('permissions');
    expect(JSON.parse(await live.out([kind, 'access-report', made.ref, '-o', 'json']))).toEqual(report);
    expect(await live.out([kind, 'access-report', made.ref])).toContain('superusers');
  };
  return {
    [`${kind} access-report`]: shown,
    [`${kind} access-report <ref>`]: async (live) => {
      const { code, stdout, stderr } = await live.svc([kind, 'access-report', 'nobody-there']);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('not_found')]);
    },
    ...requiresRef(kind, 'access-report', '<ref>'),
  };
}

export function eventLog(kind: Kind): Checks {
  const shown = async (live: Live, command: string) => {
    const made = await make(live, kind);
    await live.org.api.send('PATCH', made.path, '{"description":"edited"}', { 'content-type': 'application/json' });
    const { items } = (await live.org.api.get(`${made.path}/-eventlog`)).body;
    const actions = items.map(({ action }) => action?.type);
    expect([actions[0], actions.at(-1)]).toEqual(['edit', 'create']);
    expect(JSON.parse(await live.out([kind, command, made.ref, '-o', 'json'])).items).toEqual(items);
    const rows = (await live.out([kind, command, made.ref])).trimEnd().split('\n');
    expect(rows.map((row) => row.split('\t')[1])).toEqual(actions);
  };
  return {
    [`${kind} eventlog`]: (live) => shown(live, 'eventlog'),
    [`${kind} eventlog alias log`]: (live) => shown(live, 'log'),
    [`${kind} eventlog <ref>`]: async (live) => {
      const [made, other] = [await make(live, kind), await make(live, kind)];
      const log = JSON.parse(await live.out([kind, 'eventlog', made.ref, '-o', 'json']));
      expect(log.items.at(-1)).toMatchObject({
        resource: { id: (await read(live, made)).id },
        action: { type: 'create' },
      });
      expect(JSON.stringify(log)).not.toContain(other.ref);
    },
    ...requiresRef(kind, 'eventlog', '<ref>'),
  };
}

export function permissions(kind: Kind): Checks {
  return {
    [`${kind} permissions`]: async (live) => {
      const schema = (await live.org.api.get<object>(`/org/${live.org.name}/${kind}/-schema/permissions`)).body;
      expect(JSON.parse(await live.out([kind, 'permissions', '-o', 'json']))).toEqual(schema);
      const expected = { user: 'delete edit invite manage view', group: 'create delete edit manage view' }[kind];
      expect((await live.names([kind, 'permissions'])).join(' ')).toBe(expected);
    },
    [`${kind} permissions none`]: (live) => expectUsageError(live, [kind, 'permissions', 'word'], 'word'),
  };
}

export function matching(kind: Kind): Checks {
  /** Of three resources, the first fulfils both terms, the second one of them, the third none: which of them are found. */
  const check =
    (expected: readonly boolean[], ...match: string[]) =>
    async (live: Live) => {
      const mark = live.name('mark');
      const tags = [{ a: mark, b: mark }, { a: mark }, {}];
      const made = await Promise.all(tags.map((one) => make(live, kind, { tags: one })));
      const names = await live.names([
        kind,
        'query',
        '--max',
        '0',
        ...match,
        '--tag',
        `a=${mark}`,
        '--tag',
        `b=${mark}`,
      ]);
      expect(made.map(({ ref }) => names.includes(ref))).toEqual(expected);
    };
  return {
    [`${kind} query --match choice all`]: check([true, false, false], '--match', 'all'),
    [`${kind} query --match choice any`]: check([true, true, false], '--match', 'any'),
    [`${kind} query --match choice none`]: check([false, false, true], '--match', 'none'),
    [`${kind} query --match default all`]: check([true, false, false]),
  };
}
