/** Stops what `setup.ts` started. */
export default async function teardown(): Promise<void> {
  await globalThis.clusterContainers?.stop();
}
