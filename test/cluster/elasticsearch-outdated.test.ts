import { setTimeout as delay } from 'node:timers/promises';
import { documentIndex } from '../../src/read-model/elasticsearch/mapping.js';
import { Names } from '../../src/read-model/elasticsearch/names.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Filter, SearchQuery } from '../../src/read-model/search.js';
import { ask, type Handles, withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import { event, found, generationOf, ORG, promote, search, store } from '../contract/read-model.harness.js';
import { Api, type EventPage, Org } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const CI = '/org/acme/serviceaccount/ci';
const BY_CI: Filter = { field: 'publisher', op: '=', value: CI };
const REFUSED = { error: { code: 'read_model_unavailable', message: expect.stringContaining('publisher') } };

interface Mapping {
  readonly properties: { readonly fields: { readonly properties: Record<string, unknown> } };
}

/** As version 3 of the kinds makes the index of a month: without a publisher. */
async function makeMonthOfVersion3({ url, prefix }: Handles, generation: number): Promise<void> {
  const names = new Names(prefix);
  const index = names.month(generation, '2026.01');
  const { settings, mappings } = documentIndex('auditevent', { shards: 1, replicas: 0 }) as {
    settings: object;
    mappings: Mapping;
  };
  delete mappings.properties.fields.properties['publisher'];
  await ask(url, 'PUT', `/${index}`, { settings, mappings, aliases: { [names.writer(index)]: {} } });
}

async function setVersion(url: string, prefix: string, version: string): Promise<void> {
  type Found = Record<string, { mappings: { _meta: object } }>;
  const mappings = Object.values(await ask<Found>(url, 'GET', `/${prefix}progress/_mapping`));
  const _meta = { ...mappings[0]?.mappings._meta, version };
  await ask(url, 'PUT', `/${prefix}progress/_mapping`, { _meta });
}

clusterSuite('a read model in Elasticsearch that version 3 made', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  async function version3(handles: Handles): Promise<void> {
    const old = await handles.open();
    await makeMonthOfVersion3(handles, await generationOf(old));
    const fields = { publisher: CI };
    await store(old, [event(0), event(1, { fields }), event(2, { fields })]);
    await setVersion(handles.url, handles.prefix, '2.3');
  }

  const byPublisher = (model: ReadModel): Promise<unknown>[] => {
    const queries: Partial<SearchQuery>[] = [{}, { order: 'received' }];
    return [
      ...queries.map((query) => search(model, { ...query, filters: [BY_CI] })),
      model.last('auditevent', { org: ORG, filters: [BY_CI], limit: 1 }),
    ];
  };

  it('serves, takes writes, and refuses the filter that it has no index for', async (handles) => {
    await version3(handles);
    const model = await handles.open();

    expect(model.isOutdated).toBe(true);
    expect(await found(model)).toEqual([0, 1, 2]);
    for (const read of byPublisher(model)) expect(await settled(read)).toMatchObject(REFUSED);
    await store(model, [event(3, { fields: { publisher: CI } })]);
    expect(await found(model)).toEqual([0, 1, 2, 3]);
    for (const read of byPublisher(model)) expect(await settled(read)).toMatchObject(REFUSED);
  });

  it('refuses to count by what it has no values of, and counts when it is replaced', async (handles) => {
    await version3(handles);
    const model = await handles.open();
    const counted = () => model.stats('auditevent', { org: ORG, filters: [], by: 'publisher', top: 5, bounds: [] });

    expect(await settled(counted())).toMatchObject(REFUSED);
    const next = await model.begin();
    await store(next, [event(0), event(1, { fields: { publisher: CI } })]);
    await promote(next);
    expect(await counted()).toMatchObject({ count: 2, values: [{ value: CI, count: 1 }] });
  });

  it('is replaced by a generation that filters by it, for every process', async (handles) => {
    await version3(handles);
    const [model, reader] = [await handles.open(), await handles.open()];
    const next = await model.begin();
    await store(next, [event(0), event(1, { fields: { publisher: CI } })]);
    for (const read of byPublisher(reader)) expect(await settled(read)).toMatchObject(REFUSED);
    await promote(next);

    expect(model.isOutdated).toBe(false);
    for (const one of [model, reader]) {
      expect(await found(one, BY_CI)).toEqual([1]);
      expect(await Promise.all(byPublisher(one))).toHaveLength(3);
      expect(one.isOutdated).toBe(false);
    }
  });

  it('is refused as a whole when it is too new', async (handles) => {
    await version3(handles);
    for (const version of ['2.6', '3.1', '3.4']) {
      await setVersion(handles.url, handles.prefix, version);
      const model = await handles.open();
      expect(model.unusable).toContain(`the layout ${version} of a later version`);
      expect(await settled(search(model))).toMatchObject({ error: { message: model.unusable } });
    }
  });

  it('is replaced by an empty one when it is too old', async (handles) => {
    for (const version of ['2.2', '1.4', '0.9']) {
      const old = await handles.open();
      await store(old, [event(1)]);
      const before = await generationOf(old);
      await setVersion(handles.url, handles.prefix, version);
      const model = await handles.open({ head: async () => ({ 0: 2 }) });
      expect(await settled(search(model))).toMatchObject({
        error: { message: expect.stringContaining(`the one before has the earlier layout ${version}`) },
      });
      expect((await handles.indices()).filter((index) => index.includes(`-${before}`))).toEqual([]);
      await handles.wipe();
    }
  });
});

clusterSuite('services that start on a read model that version 3 made', ({ elasticsearchUrl }) => {
  const instances = new Instances();
  afterAll(() => instances.remove());

  test('fill a new one from the log by themselves, and serve meanwhile', async () => {
    const prefix = instances.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '';
    const [first = ''] = await instances.start(1);
    const key = await instances.org(first, 'acme');
    const items = Array.from({ length: 300 }, (_, n) => ({ resource: { name: `r${n}` } }));
    const { body } = await new Org(first, 'acme', key).bulk(items);
    expect(body.succeeded).toBe(300);
    const before = await progressIndices(prefix);
    await instances.stop();
    await setVersion(elasticsearchUrl, prefix, '2.3');

    const urls = await instances.start(2);
    const all = '/audit/org/acme?contextName=app&pageSize=1000';
    const query = `${all}&publisher=${encodeURIComponent('/org/acme/serviceaccount/admin')}`;
    const counts = new Set<number>();
    for (const deadline = Date.now() + 60_000 * PATIENCE; ; await delay(20)) {
      const answers = await Promise.all(urls.map((url) => new Api(url, key).get<EventPage>(query)));
      for (const { status, body } of answers) {
        if (status === 200) counts.add(body.items.length);
        else expect([status, (body as unknown as { code: string }).code]).toEqual([503, 'read_model_unavailable']);
      }
      for (const url of urls) {
        const { status, body } = await new Api(url, key).get<EventPage>(all);
        expect([status, body.items?.length]).toEqual([200, 300]);
      }
      if (answers.every(({ status }) => status === 200)) break;
      if (Date.now() > deadline) throw new Error('no new read model was filled');
    }

    expect([...counts]).toEqual([300]);
    const after = await progressIndices(prefix);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  async function progressIndices(prefix: string): Promise<string[]> {
    return Object.keys(await ask<object>(elasticsearchUrl, 'GET', `/${prefix}progress-*/_alias`));
  }
});
