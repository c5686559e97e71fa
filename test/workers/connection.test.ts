import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTE } from '../../contract/names';
import { connectWorker } from '../../workers/connection';
import { ensureSearchAttributes } from '../../workers/search-attributes';
import { DevServer, freePort } from '../helpers/dev-server';

const planFor = (address: string, namespace = 'default') => ({
  address,
  namespace,
  tls: undefined,
  apiKey: undefined,
  metadata: {},
  source: 'environment' as const,
});

describe('connectWorker', () => {
  it('gives up in bounded time when there is no server', async () => {
    const address = `127.0.0.1:${String(await freePort())}`;
    await expect(connectWorker(planFor(address), { giveUpAfterMs: 600 })).rejects.toMatchObject({
      failure: { code: 'TEMPORAL_UNREACHABLE' },
    });
  });
});

describe('ensureSearchAttributes', () => {
  let server: DevServer;
  let connection: NativeConnection | undefined;
  beforeAll(async () => {
    server = await DevServer.start();
  });
  afterAll(async () => {
    await connection?.close();
    await server.stop();
  });

  it('registers what the namespace lacks, and changes nothing the second time', async () => {
    const namespace = 'bare';
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    await server.client.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    connection = await connectWorker(planFor(server.address, namespace));

    await ensureSearchAttributes(connection, namespace);
    await ensureSearchAttributes(connection, namespace);

    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes).sort()).toEqual(
      Object.values(SEARCH_ATTRIBUTE)
        .map(({ name }) => name)
        .sort(),
    );
  });
});
