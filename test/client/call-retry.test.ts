import { Connection, defaultGrpcRetryOptions } from '@temporalio/client';
import { retryUntilClosed } from '../../client/call-retry';
import { GRPC } from '../../client/temporal-failure';
import { freePort } from '../helpers/server-process';

describe('a call that waits for its next try', () => {
  it('ends as cancelled when its connection closes meanwhile', async () => {
    const retry = retryUntilClosed({
      ...defaultGrpcRetryOptions(),
      delayFunction: () => {
        void connection.close();
        return 100;
      },
    });
    const address = `127.0.0.1:${String(await freePort())}`;
    const connection = Connection.lazy({ address, interceptors: [retry] });
    const call = connection.workflowService.describeNamespace({ namespace: 'default' });
    await expect(call).rejects.toMatchObject({ code: GRPC.cancelled });
  });
});
