// The bare workflow's worker: a process of its own, as the product's is. Arguments: the server's address.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import * as activities from './overhead/bare-activity';
import { BARE_QUEUE } from './overhead/bare-workflow';

async function main(address: string): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue: BARE_QUEUE,
    workflowsPath: require.resolve('./overhead/bare-workflow'),
    activities,
  });
  const running = worker.run();
  process.on('SIGTERM', () => {
    worker.shutdown();
  });
  // It must not outlive the bench.
  process.on('disconnect', () => {
    worker.shutdown();
  });
  process.send?.('ready');
  await running;
  await connection.close();
  process.exit(0);
}

void main(process.argv[2] ?? '');
