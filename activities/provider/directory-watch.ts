// Import-light on purpose: the runner loads this.
import { watch, type FSWatcher } from 'node:fs';

export interface DirectoryWatch {
  /** Resolves when something changed since the last call, or after `ms`. */
  next(ms: number): Promise<void>;
  wake(): void;
  close(): void;
}

/** Watches a directory; where the system refuses to, waiting by time alone still works. */
export function watchDirectory(directory: string, isOfInterest: (name: string) => boolean): DirectoryWatch {
  let hasChanged = false;
  let resume: (() => void) | undefined;
  const wake = (): void => {
    hasChanged = true;
    resume?.();
  };
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(directory, { persistent: false }, (_event, name) => {
      if (name === null || isOfInterest(name)) wake();
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // Out of watches: the caller's timeouts do it.
  }
  return {
    wake,
    close: () => watcher?.close(),
    async next(ms) {
      if (!hasChanged) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          resume = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasChanged = false;
    },
  };
}
