import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 40_000;

/** Waits until a look gives something, however long it takes within the test's own time. */
export async function until<T>(
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await sleep(20);
  }
  throw new Error(`nothing came of: ${look.toString()}`);
}
