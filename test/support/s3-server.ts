import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { pythonWith } from './python.js';

const PACKAGES = ['moto[s3]==5.2.5', 'flask==3.1.2', 'flask-cors==6.0.1'];

/** Makes a bucket with and one without Object Lock, and a user; the server checks signatures from then on. */
const SETUP = `
import boto3, json, sys
of = dict(endpoint_url=sys.argv[1], region_name='eu-central-1', aws_access_key_id='root', aws_secret_access_key='root')
s3, iam = boto3.client('s3', **of), boto3.client('iam', **of)
place = {'LocationConstraint': 'eu-central-1'}
s3.create_bucket(Bucket='locked', ObjectLockEnabledForBucket=True, CreateBucketConfiguration=place)
s3.create_bucket(Bucket='unlocked', CreateBucketConfiguration=place)
iam.create_user(UserName='anchor')
allow = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': 's3:*', 'Resource': '*'}]}
iam.put_user_policy(UserName='anchor', PolicyName='s3', PolicyDocument=json.dumps(allow))
key = iam.create_access_key(UserName='anchor')['AccessKey']
print(json.dumps({'accessKeyId': key['AccessKeyId'], 'secretAccessKey': key['SecretAccessKey']}))
`;
const SETUP_ACTIONS = 5;

/** Reads every object as the user, and tries to delete every version of it. */
const AUDIT = `
import boto3, json, sys
s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='eu-central-1', aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3])
objects = []
for version in s3.list_object_versions(Bucket='locked').get('Versions', []):
    of = dict(Bucket='locked', Key=version['Key'], VersionId=version['VersionId'])
    got = s3.get_object(**of)
    try:
        s3.delete_object(**of)
        deleted = 'yes'
    except Exception as error:
        deleted = error.response['Error']['Code']
    objects.append({'key': version['Key'], 'body': got['Body'].read().decode(), 'mode': got['ObjectLockMode'], 'until': got['ObjectLockRetainUntilDate'].isoformat(), 'deleted': deleted})
print(json.dumps(objects))
`;

interface S3Object {
  readonly key: string;
  readonly body: string;
  readonly mode: string;
  readonly until: string;
  /** What a user with all rights got for deleting this version. */
  readonly deleted: string;
}

export interface S3Server {
  readonly url: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string; sessionToken: undefined };
  objects(): readonly S3Object[];
  stop(): Promise<void>;
}

/** Undefined where Python or its package index is not to be had. */
export const moto = (): string | undefined => pythonWith('moto-5.2.5', PACKAGES);

/** A server of S3 that checks signatures and locks. */
export async function startS3(python: string): Promise<S3Server> {
  const port = await freePort();
  const env = { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: String(SETUP_ACTIONS) };
  const server = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface(server.stderr)) if (line.includes('Running on')) break;
  server.stderr.resume();
  const url = `http://127.0.0.1:${port}`;
  const run = (script: string, ...args: string[]) =>
    JSON.parse(execFileSync(python, ['-c', script, url, ...args], { encoding: 'utf8' }));
  const credentials = { ...run(SETUP), sessionToken: undefined };
  return {
    url,
    credentials,
    objects: () => run(AUDIT, credentials.accessKeyId, credentials.secretAccessKey),
    stop: async () => {
      server.kill();
      await once(server, 'exit');
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
