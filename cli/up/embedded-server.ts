import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverFile } from '../../client/connection';
import { messageOf, refuse } from '../../client/outcome';
import { choosePort } from './ports';
import { isAlive } from './process-identity';
import {
  awaitServer,
  isReachable,
  launchServer,
  recordedServer,
  stopServer,
  type ServerRecord,
  type ServerSpec,
} from './server-process';
import { findTemporalBinary } from './temporal-binary';

export interface ServerWish {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly namespace: string;
  /** 0 is any free port; undefined the usual one, or another when that is taken. */
  readonly port: number | undefined;
  readonly uiPort: number | undefined;
  readonly note: (text: string) => void;
  /** Aborted when the user wants to end: a start is given up. */
  readonly signal: AbortSignal;
}

export interface EmbeddedServer {
  readonly address: string;
  readonly ui: string;
  /** Resolves when it takes connections. */
  readonly ready: Promise<void>;
  /** Rejects when the server cannot be kept running. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

const WATCH_MS = 250;
const ADOPT_MS = 10_000;
const RESTARTS = 5;

/**
 * Starts the home's Temporal server, or adopts the one that an earlier `up` left running, and keeps it running. It
 * resolves when the server is recorded in the home; `ready` says that it takes connections.
 */
export async function startEmbeddedServer(wish: ServerWish): Promise<EmbeddedServer> {
  const { home, note } = wish;
  const binary = findTemporalBinary(wish.env, home);
  const first = (await adopt(wish)) ?? (await launchFirst(wish, binary));
  const { address, ui, namespace, port, uiPort } = first;
  const spec: ServerSpec = { home, binary, namespace, port, uiPort };
  const ending = new AbortController();
  const ready = awaitServer(home, first, AbortSignal.any([ending.signal, wish.signal])).catch(cannotRun);
  let current = first;
  const watch = async (): Promise<void> => {
    await ready;
    while (!ending.signal.aborted) {
      if (isAlive(current)) await pause(ending.signal);
      else current = await relaunch(spec, note, ending.signal);
    }
  };
  const watching = watch();
  const failed = watching.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const stop = async (): Promise<void> => {
    ending.abort();
    await watching.catch(() => undefined);
    await stopServer(current);
    await rm(serverFile(home), { force: true });
  };
  return { address, ui, ready, failed, stop };
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined);
}

/** Takes over a server that is proven ours, alive and reachable; one that is ours and hangs is ended. */
async function adopt({ home, namespace, note, signal }: ServerWish): Promise<ServerRecord | undefined> {
  const record = await recordedServer(home);
  if (record === undefined) return undefined;
  if (record.namespace === namespace && (await isReachable(record, { signal, ms: ADOPT_MS }))) {
    note(`the Temporal server of an earlier \`up\` is taken over (pid ${String(record.pid)}, ${record.address})`);
    return record;
  }
  await stopServer(record);
  return undefined;
}

async function launchFirst({ home, namespace, note, ...wish }: ServerWish, binary: string): Promise<ServerRecord> {
  const ports = { name: 'Temporal server', flag: '--port', wanted: wish.port, usual: 7233 };
  const uiPorts = { name: 'web UI', flag: '--ui-port', wanted: wish.uiPort, usual: 8233 };
  const port = await choosePort(ports, note);
  const uiPort = await choosePort(uiPorts, note);
  return launchServer({ home, binary, namespace, port, uiPort }).catch(cannotRun);
}

function cannotRun(error: unknown): never {
  return refuse('TEMPORAL_UNREACHABLE', messageOf(error), { hint: 'The log of the server says more.' });
}

/** Starts the server again on the same ports and file; its clients wait meanwhile. */
async function relaunch(spec: ServerSpec, note: (text: string) => void, signal: AbortSignal): Promise<ServerRecord> {
  note('the Temporal server ended; it is started again');
  for (let tried = 1; ; tried++) {
    try {
      const record = await launchServer(spec);
      await awaitServer(spec.home, record, signal);
      return record;
    } catch (error) {
      if (tried === RESTARTS || signal.aborted) cannotRun(error);
    }
    await sleep(250 * 2 ** tried);
  }
}
