import { openElasticsearchReadModel } from '../contract/elasticsearch.harness.js';
import { readModelContract } from '../contract/read-model.contract.js';
import { clusterSuite } from './support.js';

clusterSuite('read model of the cluster', ({ elasticsearchUrl }) => {
  readModelContract('elasticsearch', () => openElasticsearchReadModel(elasticsearchUrl));
});
