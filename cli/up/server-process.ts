import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { serverFile } from '../../client/connection';
import { SEARCH_ATTRIBUTE } from '../../contract/names';
import { replaceJson } from './atomic-file';
import { LOOPBACK } from './ports';
import { identityOf, isAlive, processIdentitySchema, signalExactly, type ProcessIdentity } from './process-identity';

/** What the home keeps of its embedded server, for every command and for the next `up`. */
const serverRecordSchema = processIdentitySchema.extend({
  address: z.string(),
  ui: z.string(),
  namespace: z.string(),
  port: z.int(),
  uiPort: z.int(),
});
export type ServerRecord = z.infer<typeof serverRecordSchema>;

export interface ServerSpec {
  readonly home: string;
  readonly binary: string;
  readonly namespace: string;
  readonly port: number;
  readonly uiPort: number;
}

const REACHABLE_MS = 30_000;
const STOP_MS = 10_000;
const POLL_MS = 25;
const LOG_BYTES = 10 * 1024 * 1024;

const logFile = (home: string): string => join(home, 'temporal', 'server.log');

/**
 * A lone task hop costs 45 ms with the server's own default, a phase change up to a second, and a second query of a
 * workflow that is busy is refused and comes again almost two seconds later.
 */
const SETTINGS = [
  ['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=10000'],
  ['--dynamic-config-value', 'history.workflowIdReuseMinimalInterval="1ms"'],
  ['--dynamic-config-value', 'history.MaxBufferedQueryCount=100'],
  ['--sqlite-pragma', 'journal_mode=WAL'],
  ['--sqlite-pragma', 'synchronous=NORMAL'],
  ['--log-level', 'warn'],
].flat();

function serverArguments({ home, namespace, port, uiPort }: ServerSpec): string[] {
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', String(port), '--ui-port', String(uiPort)],
    ...['--db-filename', join(home, 'temporal', 'perdure.db')],
    ...SETTINGS,
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    ...Object.values(SEARCH_ATTRIBUTE).flatMap(({ name }) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

/**
 * Starts the server in a process group of its own and records it. That comes before it is ready: an `up` that is
 * killed now must not leave a server that nobody knows, and the workers load meanwhile.
 */
export async function launchServer(spec: ServerSpec): Promise<ServerRecord> {
  const { home, namespace, port, uiPort } = spec;
  await mkdir(join(home, 'temporal'), { recursive: true, mode: 0o700 });
  const identity = await spawnServer(spec);
  const address = `${LOOPBACK}:${String(port)}`;
  const ui = `http://${LOOPBACK}:${String(uiPort)}`;
  const record = { ...identity, address, ui, namespace, port, uiPort };
  await replaceJson(serverFile(home), record);
  return record;
}

/** Waits until a launched server takes connections; one that does not is ended, and the error says what it said. */
export async function awaitServer(home: string, record: ServerRecord, signal: AbortSignal): Promise<void> {
  if (await isReachable(record, { signal })) return;
  await stopServer(record);
  throw new Error(`the Temporal server did not start; ${await lastWords(home)}`);
}

async function spawnServer(spec: ServerSpec): Promise<ProcessIdentity> {
  await rotateLog(logFile(spec.home));
  const log = await open(logFile(spec.home), 'a', 0o600);
  try {
    // A group of its own: a Ctrl-C in the terminal must not end it before the workers have handed over.
    const stdio: ['ignore', number, number] = ['ignore', log.fd, log.fd];
    const child = spawn(spec.binary, serverArguments(spec), {
      detached: true,
      cwd: dirname(logFile(spec.home)),
      stdio,
    });
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const identity = child.pid === undefined ? undefined : identityOf(child.pid);
    if (identity === undefined) throw new Error(`the Temporal server ended at once; ${await lastWords(spec.home)}`);
    return identity;
  } finally {
    await log.close();
  }
}

async function rotateLog(file: string): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LOG_BYTES) await rename(file, `${file}.1`);
}

async function lastWords(home: string): Promise<string> {
  const text = await readFile(logFile(home), 'utf8').catch(() => '');
  const last = text.trim().split('\n').at(-1) ?? '';
  return `${logFile(home)} ends with: ${last.slice(0, 300)}`;
}

/** Waits until the server takes connections; false when it ends, or takes too long. */
export async function isReachable(
  record: ServerRecord,
  { signal, ms = REACHABLE_MS }: { signal: AbortSignal; ms?: number },
): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline && isAlive(record) && !signal.aborted) {
    if (await takesConnections(record.port)) return true;
    await sleep(POLL_MS);
  }
  return false;
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: LOOPBACK, port, timeout: 1_000 });
    const answer = (isOpen: boolean) => () => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', answer(true));
    socket.once('timeout', answer(false));
    socket.once('error', answer(false));
  });
}

/** The recorded server, if that very process still lives. */
export async function recordedServer(home: string): Promise<ServerRecord | undefined> {
  try {
    const record = serverRecordSchema.parse(JSON.parse(await readFile(serverFile(home), 'utf8')));
    return isAlive(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Ends exactly this server process, by force when it does not listen. */
export async function stopServer(record: ServerRecord): Promise<void> {
  signalExactly(record, 'SIGTERM');
  const deadline = performance.now() + STOP_MS;
  while (isAlive(record)) {
    if (performance.now() > deadline) signalExactly(record, 'SIGKILL');
    await sleep(POLL_MS);
  }
  // One turn more, in which Node takes the exit code of a child: nobody else may ever reap it.
  await sleep(POLL_MS);
}
