import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { BUILTIN, expectUsageError, type Live } from '../support/live.js';
import { temporaryFolder } from '../support/svc.js';
import { type Kind, make, read, requiresRef } from './made.js';
import type { Checks } from './verify.js';

export function deletion(kind: Kind): Checks {
  return {
    [`${kind} delete <ref...>`]: async (live) => {
      const [gone, kept] = [await make(live, kind), await make(live, kind)];
      await live.out([kind, 'delete', gone.ref]);
      expect(await read(live, gone)).toMatchObject({ status: 404 });
      expect(await read(live, kept)).toMatchObject({ kind });
    },
    [`${kind} delete <ref...> one or more`]: async (live) => {
      const made = [await make(live, kind), await make(live, kind), await make(live, kind)];
      const refs = made.map(({ ref }) => ref);
      const { code, stderr } = await live.svc([kind, 'delete', ...refs.toSpliced(1, 0, 'nobody-there')]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('nobody-there')]);
      for (const one of made) expect(await read(live, one)).toMatchObject({ status: 404 });
    },
    ...requiresRef(kind, 'delete', '<ref...>'),
  };
}

/** An editor that runs a script on the file `$f`. */
function editor(script: string): string {
  const program = join(temporaryFolder(), 'editor.sh');
  writeFileSync(program, `#!/bin/sh\nf="$1"\n${script}\n`);
  chmodSync(program, 0o755);
  return program;
}

const DESCRIBE = `sed -i 's/^description:.*/description: after/' "$f"`;

export function editing(kind: Kind): Checks {
  /** What is sent, and what becomes of it, when the description is changed and a tag taken out. */
  const edited = async (live: Live, ...options: string[]) => {
    const made = await make(live, kind, { description: 'before', tags: { a: '1', b: '2' } });
    const {
      kind: _kind,
      id: _id,
      version,
      created: _created,
      lastModified: _modified,
      links: _links,
      ...document
    } = await read(live, made);
    const EDITOR = editor(`${DESCRIBE}; sed -i '/^  a:/d' "$f"`);
    const { code, stderr } = await live.svc([kind, 'edit', made.ref, '--debug', ...options], { env: { EDITOR } });
    const [, method = '', body = ''] = /^> (PATCH|PUT) [^{]*(\{.*\})$/m.exec(stderr) ?? [];
    const { description, tags, version: after } = await read(live, made);
    expect([code, description, tags, after]).toEqual([0, 'after', { b: '2' }, version + 1]);
    return { sent: { [method]: JSON.parse(body) }, document };
  };
  const merged = async (live: Live) =>
    expect((await edited(live)).sent).toEqual({ PATCH: { description: 'after', tags: { a: null } } });
  const replaced = (option: string) => async (live: Live) => {
    const { sent, document } = await edited(live, option);
    const { origin: _origin, idp: _idp, ...whole } = document as typeof document & { idp?: string };
    expect(sent).toEqual({ PUT: { ...whole, description: 'after', tags: { b: '2' } } });
  };
  return {
    [`${kind} edit`]: merged,
    [`${kind} edit <ref>`]: async (live) => {
      const [changed, kept] = [await make(live, kind), await make(live, kind)];
      await live.out([kind, 'edit', changed.ref], { env: { EDITOR: editor(DESCRIBE) } });
      expect([(await read(live, changed)).description, (await read(live, kept)).description]).toEqual([
        'after',
        expect.not.stringContaining('after'),
      ]);
    },
    ...requiresRef(kind, 'edit', '<ref>'),
    [`${kind} edit EDITOR`]: async (live) => {
      const made = await make(live, kind, { tags: { team: 'blue' } });
      const shown = join(temporaryFolder(), 'shown.yaml');
      await live.out([kind, 'edit', made.ref], { env: { EDITOR: editor(`cp "$f" '${shown}'`) } });
      const { name, description } = await read(live, made);
      expect(parse(readFileSync(shown, 'utf8'))).toMatchObject({ name, description, tags: { team: 'blue' } });
    },
    [`${kind} edit --replace`]: replaced('--replace'),
    [`${kind} edit --replace alias -r`]: replaced('-r'),
    [`${kind} edit --replace default false`]: merged,
  };
}

export function patching(kind: Kind): Checks {
  const file = (text: string): string => {
    const path = join(temporaryFolder(), 'patch');
    writeFileSync(path, text);
    return path;
  };
  const patched = async (live: Live, ...how: string[]) => {
    const made = await make(live, kind, { tags: { kept: 'yes', gone: 'soon' } });
    const patch = { description: 'patched', tags: { gone: null, new: 'x' } };
    const options = how.at(-1) === '-' ? how : [...how, file(JSON.stringify(patch))];
    await live.out([kind, 'patch', made.ref, ...options], { input: stringify(patch) });
    const { description, tags } = await read(live, made);
    expect([description, tags]).toEqual(['patched', { kept: 'yes', new: 'x' }]);
  };
  return {
    [`${kind} patch`]: (live) => patched(live, '--file'),
    [`${kind} patch <ref>`]: async (live) => {
      const [changed, kept] = [await make(live, kind), await make(live, kind)];
      await live.out([kind, 'patch', changed.ref, '--file', file('description: from YAML\n')]);
      expect([(await read(live, changed)).description, (await read(live, kept)).version]).toEqual(['from YAML', 1]);
    },
    ...requiresRef(kind, 'patch', '<ref>', '--file', '-'),
    [`${kind} patch --file`]: (live) => patched(live, '--file'),
    [`${kind} patch --file alias -f`]: (live) => patched(live, '-f'),
    [`${kind} patch --file -`]: (live) => patched(live, '--file', '-'),
    [`${kind} patch --file required`]: (live) => expectUsageError(live, [kind, 'patch', 'anybody'], '--file'),
  };
}

export function tagging(kind: Kind): Checks {
  const tagsAfter = async (live: Live, tags: object, ...options: string[]) => {
    const made = await make(live, kind, { tags });
    await live.out([kind, 'tag', made.ref, ...options]);
    return (await read(live, made)).tags;
  };
  return {
    [`${kind} tag`]: async (live) => {
      const tags = await tagsAfter(
        live,
        { old: '1', gone: '2' },
        '--tag',
        'old=3',
        '--tag',
        'new=4',
        '--remove',
        'gone',
      );
      expect(tags).toEqual({ old: '3', new: '4' });
    },
    [`${kind} tag <ref...>`]: async (live) => {
      const [changed, kept] = [await make(live, kind), await make(live, kind)];
      await live.out([kind, 'tag', changed.ref, '--tag', 'a=b']);
      expect([(await read(live, changed)).tags, (await read(live, kept)).version]).toEqual([{ a: 'b' }, 1]);
    },
    [`${kind} tag <ref...> one or more`]: async (live) => {
      const made = [await make(live, kind, { tags: { own: 'x' } }), await make(live, kind)];
      await live.out([kind, 'tag', ...made.map(({ ref }) => ref), '--tag', 'team=blue']);
      expect((await Promise.all(made.map((one) => read(live, one)))).map(({ tags }) => tags)).toEqual([
        { own: 'x', team: 'blue' },
        { team: 'blue' },
      ]);
    },
    ...requiresRef(kind, 'tag', '<ref...>', '--tag', 'a=b'),
    [`${kind} tag --tag KEY=VALUE`]: async (live) =>
      expect(await tagsAfter(live, { a: '1' }, '--tag', 'a=x=y', '--tag', 'empty=')).toEqual({ a: 'x=y', empty: '' }),
    [`${kind} tag --remove <tag_name>`]: async (live) =>
      expect(await tagsAfter(live, { a: '1', b: '2' }, '--remove', 'a')).toEqual({ b: '2' }),
    [`${kind} tag svc/*`]: async (live) => {
      const ref = BUILTIN[kind];
      for (const change of ['--tag=svc/origin=mine', '--remove=svc/origin', '--tag=svc/new=mine']) {
        const { code, stderr } = await live.svc([kind, 'tag', ref, change]);
        expect([code, stderr]).toEqual([1, expect.stringContaining('svc/')]);
      }
      await live.out([kind, 'tag', ref, '--tag', 'own=x']);
      const { tags } = await read(live, { ref, path: `/org/${live.org.name}/${kind}/${ref}` });
      expect(tags).toEqual({ 'svc/origin': 'seed', own: 'x' });
    },
  };
}

export function updating(kind: Kind): Checks {
  const after = async (live: Live, before: object, ...sets: string[]) => {
    const made = await make(live, kind, before);
    await live.out([kind, 'update', made.ref, ...sets.flatMap((set) => ['--set', set])]);
    return read(live, made);
  };
  return {
    [`${kind} update`]: async (live) =>
      expect(await after(live, {}, 'description=both', 'tags.team=blue')).toMatchObject({
        description: 'both',
        tags: { team: 'blue' },
      }),
    [`${kind} update <ref>`]: async (live) => {
      const [changed, kept] = [await make(live, kind), await make(live, kind)];
      await live.out([kind, 'update', changed.ref, '--set', 'description=changed']);
      expect([(await read(live, changed)).description, (await read(live, kept)).version]).toEqual(['changed', 1]);
    },
    ...requiresRef(kind, 'update', '<ref>', '--set', 'description=x'),
    [`${kind} update --set`]: async (live) => {
      const made = await make(live, kind);
      const { code, stderr } = await live.svc([kind, 'update', made.ref, '--set', 'created=now']);
      expect([code, stderr]).toEqual([2, expect.stringContaining('created')]);
      expect((await read(live, made)).version).toBe(1);
    },
    [`${kind} update --set required`]: (live) => expectUsageError(live, [kind, 'update', 'anybody'], '--set'),
    [`${kind} update description`]: async (live) =>
      expect((await after(live, {}, 'description=a=b, c')).description).toBe('a=b, c'),
    [`${kind} update tags.<key>`]: async (live) =>
      expect((await after(live, { tags: { kept: 'x' } }, 'tags.a.b/c=1', 'tags.kept=y')).tags).toEqual({
        'a.b/c': '1',
        kept: 'y',
      }),
  };
}
