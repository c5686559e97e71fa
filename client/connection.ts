import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { Client, Connection, defaultGrpcRetryOptions, type ConnectionOptions } from '@temporalio/client';
import { z } from 'zod';
import { retryUntilClosed } from './call-retry';
import { messageOf, refuse } from './outcome';
import { payloadsOf, type Payloads } from './payloads';
import { portRefused } from './refused-port';
import { GRPC, grpcStatus } from './temporal-failure';

type Env = Readonly<Record<string, string | undefined>>;

export const DEFAULT_ADDRESS = 'localhost:7233';

/** Milliseconds until a server that does not answer counts as unreachable. */
const CONNECT_MS = 2_500;

/** Where to connect to and how, and which source said so. */
export interface ServerPlan {
  readonly address: string;
  readonly namespace: string;
  readonly tls: ConnectionOptions['tls'];
  readonly apiKey: string | undefined;
  readonly metadata: Record<string, string>;
  readonly source: 'environment' | 'home' | 'default';
}

/** How to talk to a server: the connection, and the form of what is said. */
export interface ConnectionPlan extends ServerPlan {
  readonly payloads: Payloads;
}

/** What `perdure up` records of the server that it started. */
const serverSchema = z.looseObject({ address: z.string().min(1), namespace: z.string().min(1).optional() });

/** Path of the record that `perdure up` keeps of its server. */
export const serverFile = (home: string): string => join(home, 'temporal', 'server.json');

/**
 * Decides which server to use: the standard Temporal environment or profile, else the server that `perdure up`
 * recorded in the home, else localhost:7233. A recorded server gets no credentials: they were meant for another one.
 */
export function resolveConnection(env: Env, home: { readonly path: string }): ConnectionPlan {
  const { connectionOptions, namespace } = readEnvironment(env);
  const { address, apiKey, tls, metadata } = connectionOptions;
  const given = {
    namespace: namespace ?? 'default',
    tls: tls ?? undefined,
    apiKey: typeof apiKey === 'string' ? apiKey : undefined,
    metadata: stringsOf(metadata),
    payloads: payloadsOf(env),
  };
  if (address !== undefined) return { address, ...given, source: 'environment' };
  const recorded = readServer(home.path);
  if (recorded === undefined) return { address: DEFAULT_ADDRESS, ...given, source: 'default' };
  return {
    ...given,
    address: recorded.address,
    namespace: namespace ?? recorded.namespace ?? 'default',
    tls: undefined,
    apiKey: undefined,
    metadata: {},
    source: 'home',
  };
}

/** Reads the environment through the standard loader; an empty variable counts as none. */
function readEnvironment(env: Env): ClientConnectConfig {
  const given = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (entry[1] !== '' || entry[0].startsWith('TEMPORAL_GRPC_META_')),
  );
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(given) });
  } catch (error) {
    return refuse('INVALID_ARGUMENT', `the Temporal environment cannot be read (${messageOf(error)})`, {
      hint: 'Check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the certificate files that they name.',
    });
  }
}

function stringsOf(metadata: unknown): Record<string, string> {
  const parsed = z.record(z.string(), z.string()).safeParse(metadata ?? {});
  return parsed.success ? parsed.data : {};
}

function readServer(home: string): z.infer<typeof serverSchema> | undefined {
  try {
    return serverSchema.parse(JSON.parse(readFileSync(serverFile(home), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Options for the SDK's connections, the client's and the worker's alike. */
export function connectionOptions(plan: ServerPlan): ConnectionOptions {
  const { address, tls, apiKey, metadata } = plan;
  return {
    address,
    metadata,
    ...(tls !== undefined && { tls }),
    ...(apiKey !== undefined && { apiKey }),
  };
}

/** Connects, or refuses with TEMPORAL_UNREACHABLE within seconds. */
export async function connect(plan: ConnectionPlan, identity?: string): Promise<Client> {
  const connection = lazyConnection(plan);
  const probing = new AbortController();
  try {
    await Promise.race([connection.ensureConnected(), portRefused(plan.address, process.env, probing.signal)]);
  } catch (error) {
    await connection.close().catch(() => undefined);
    return refuseConnection(plan, error);
  } finally {
    probing.abort();
  }
  const { namespace, payloads } = plan;
  const { dataConverter } = payloads;
  return new Client({ connection, namespace, dataConverter, ...(identity !== undefined && { identity }) });
}

function lazyConnection(plan: ServerPlan): Connection {
  // A caller may wait through a restart of the server: reconnect within seconds, not minutes.
  const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 250, 'grpc.max_reconnect_backoff_ms': 2_000 };
  try {
    const interceptors = [retryUntilClosed(defaultGrpcRetryOptions({ initialIntervalMs }))];
    return Connection.lazy({ ...connectionOptions(plan), connectTimeout: CONNECT_MS, channelArgs, interceptors });
  } catch (error) {
    return refuse('INVALID_ARGUMENT', `the Temporal address ${plan.address} cannot be used (${messageOf(error)})`);
  }
}

/** First pause of a call that is sent again: a run that gives way to its next phase is gone in milliseconds. */
function initialIntervalMs({ code, details }: { code: number; details: string }): number {
  if (/workflow is closing/i.test(details)) return 20;
  return code === GRPC.resourceExhausted ? 1_000 : 100;
}

function refuseConnection(plan: ServerPlan, error: unknown): never {
  const status = grpcStatus(error);
  if (status?.code === GRPC.unauthenticated || status?.code === GRPC.permissionDenied) {
    refuse('TEMPORAL_REFUSED', `the Temporal server at ${plan.address} did not accept these credentials`, {
      hint: 'Check TEMPORAL_API_KEY and the TLS settings of the Temporal environment.',
    });
  }
  const origin = {
    environment: 'named by the Temporal environment',
    home: 'recorded by `perdure up`, which may have ended',
    default: 'the default address',
  }[plan.source];
  const how = plan.tls === undefined || plan.tls === null || plan.tls === false ? '' : ' over TLS';
  return refuse('TEMPORAL_UNREACHABLE', `no Temporal server answers${how} at ${plan.address} (${origin})`);
}
