import { SEARCH_ATTRIBUTE } from '../../contract/names';
import { freePort, installedBinary, ServerProcess, startOnFreePort, until } from './server-process';

export { freePort, until };

/** The Temporal binary that set-up took. */
export const temporalBinary = (): string => installedBinary('temporal', 'TEMPORAL_CLI_PATH');

/** A real development server on loopback; with a file it can be killed and started again on what it stored. */
export class DevServer extends ServerProcess {
  protected readonly setup = 'npm run setup';

  private constructor(
    port: number,
    private readonly file: string | undefined,
    private readonly settings: readonly string[],
  ) {
    super(port);
  }

  /** Starts one; `settings` are dynamic configuration values, such as `history.maxTotalUpdates=500`. */
  static start(file?: string, settings: readonly string[] = []): Promise<DevServer> {
    return startOnFreePort((port) => new DevServer(port, file, settings));
  }

  protected get command(): readonly [string, ...string[]] {
    const attributes = Object.values(SEARCH_ATTRIBUTE).flatMap(({ name }) => ['--search-attribute', `${name}=Keyword`]);
    const options = ['--headless', '--ip', '127.0.0.1', '--port', String(this.port), '--log-level', 'never'];
    const tuning = [
      ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=10000'],
      ...['--dynamic-config-value', 'history.workflowIdReuseMinimalInterval="1ms"'],
      ...this.settings.flatMap((setting) => ['--dynamic-config-value', setting]),
    ];
    const file = this.file === undefined ? [] : ['--db-filename', this.file];
    return [temporalBinary(), 'server', 'start-dev', ...options, ...tuning, ...attributes, ...file];
  }
}
