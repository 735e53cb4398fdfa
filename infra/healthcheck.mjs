/** Whether the service in this container is ready: the exit code says so. Its own certificate needs no proof. */
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';

const { CONTROL_TLS_CERT_FILE, CONTROL_PORT } = process.env;
const options = { host: '127.0.0.1', port: Number(CONTROL_PORT || 8080), path: '/health/ready', timeout: 2_500 };
const asked = CONTROL_TLS_CERT_FILE ? secureRequest({ ...options, rejectUnauthorized: false }) : request(options);
asked.on('response', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
asked.on('timeout', () => process.exit(1));
asked.on('error', () => process.exit(1));
asked.end();
