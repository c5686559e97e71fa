import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, type ProcessIdentity } from './process-identity';
import { hasOpen, threadHolder } from './thread-lock';

/** A Codex app server that has a thread open, so that nobody else can write in it. */
export interface AppServer {
  readonly process: ProcessIdentity;
  /** Path of the socket on which it takes clients. */
  readonly socket: string;
}

/** Flags of a socket in /proc/net/unix that takes connections. */
const LISTENING = '00010000';

/** Inode of the socket that listens at a path, by `<address> <refs> <protocol> <flags> <type> <state> <inode> <path>`. */
function listeningInode(path: string): string | null {
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n')) {
    if (!line.endsWith(` ${path}`)) continue;
    const [, , , flags, , , inode] = line.split(/\s+/);
    if (flags === LISTENING && inode !== undefined) return inode;
  }
  return null;
}

/** The app server of a Codex home, when it is the one that has the thread open; looked for on Linux only. */
export function appServerOf(codexHome: string, threadId: string): AppServer | null {
  const holder = threadHolder(codexHome, threadId);
  if (holder === null) return null;
  try {
    const socket = realpathSync(join(codexHome, 'app-server-control', 'app-server-control.sock'));
    const inode = listeningInode(socket);
    const found = inode !== null && hasOpen(holder, `socket:[${inode}]`) ? identityOf(holder) : undefined;
    return found === undefined ? null : { process: found, socket };
  } catch {
    return null;
  }
}
