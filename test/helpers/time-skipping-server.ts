import { InternalConnectionOptionsSymbol, type InternalConnectionOptions } from '@temporalio/client/lib/connection';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time';
import { SEARCH_ATTRIBUTE } from '../../contract/names';
import { installedBinary, ServerProcess, startOnFreePort } from './server-process';

/** `INDEXED_VALUE_TYPE_KEYWORD` of the Temporal API. */
const KEYWORD = 2;

/** A server whose time the test lets pass. It has no lists, so nothing that looks tasks up by attributes works on it. */
export class TimeSkippingServer extends ServerProcess {
  // Without --enable-time-skipping: time would pass by itself, to the end of every timeout, whenever nothing runs.
  protected readonly command = [
    installedBinary('temporal-test-server', 'TEMPORAL_TEST_SERVER_PATH'),
    String(this.port),
  ] as const;
  protected readonly setup = 'npm run setup -- --tests';
  // The SDK's own test environment reaches the clock in the same way.
  protected override readonly connectionOptions: InternalConnectionOptions = {
    [InternalConnectionOptionsSymbol]: { supportsTestService: true },
    // It ends a connection that it thinks is asked too often whether it still lives.
    channelArgs: { 'grpc.keepalive_time_ms': 600_000 },
  };

  static async start(): Promise<TimeSkippingServer> {
    const server = await startOnFreePort((port) => new TimeSkippingServer(port));
    const names = Object.values(SEARCH_ATTRIBUTE).map(({ name }) => name);
    await server.connection.operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries(names.map((name) => [name, KEYWORD])),
    });
    return server;
  }

  /** Lets so much of the server's time pass; every timer in it fires at its moment. */
  async skip(milliseconds: number): Promise<void> {
    await this.clock.unlockTimeSkippingWithSleep({ duration: msToTs(milliseconds) });
  }

  /** The server's time, milliseconds since 1970. */
  async now(): Promise<number> {
    const { time } = await this.clock.getCurrentTime({});
    return optionalTsToMs(time) ?? Number.NaN;
  }

  private get clock() {
    const { testService } = this.connection;
    if (testService === undefined) throw new Error('the server has no clock to move');
    return testService;
  }
}
