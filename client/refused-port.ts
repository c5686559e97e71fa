import { connect } from 'node:net';
import { errnoOf } from './outcome';

type Env = Readonly<Record<string, string | undefined>>;

/** Errors that say for sure, and at once, that nothing can be reached under an address. */
const REFUSALS = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Rejects as soon as the system says that nothing listens at an address; gRPC itself would try until its deadline.
 * It never resolves: a port that is open proves nothing. Behind a proxy the system cannot know.
 */
export function portRefused(address: string, env: Env, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const isProxied = ['grpc_proxy', 'https_proxy', 'http_proxy'].some((name) => env[name]);
    const [, host, port = '7233'] = /^\[?([^\]]+?)\]?(?::(\d+))?$/.exec(address) ?? [];
    if (isProxied || host === undefined || Number(port) > 65_535) return;
    const socket = connect({ host, port: Number(port), signal });
    socket.once('connect', () => socket.destroy());
    socket.on('error', (error) => {
      if (REFUSALS.has(errnoOf(error) ?? '')) reject(error);
    });
  });
}
