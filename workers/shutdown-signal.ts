/** Aborts once when this process is told to end: SIGINT, SIGTERM, SIGHUP, or the parent's IPC channel closed. */
export function shutdownSignal(): AbortSignal {
  const ending = new AbortController();
  const end = (): void => {
    ending.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  // A parent may have gone while this process was loading: then there is a channel no more, but `send` tells of it.
  if (process.send !== undefined) {
    if (process.connected) process.once('disconnect', end);
    else end();
  }
  return ending.signal;
}
