// Import-light on purpose: the runner loads this. No `instanceof`: errors may come from another realm.

function fieldOf(error: unknown, name: 'code' | 'message'): string {
  if (typeof error !== 'object' || error === null || !(name in error)) return '';
  const value = (error as Record<typeof name, unknown>)[name];
  return typeof value === 'string' ? value : '';
}

/** Code of a system error or of one of ours, or an empty text. */
export const errorCode = (error: unknown): string => fieldOf(error, 'code');

/** What a thrown value says. */
export const errorMessage = (error: unknown): string => fieldOf(error, 'message') || String(error);
