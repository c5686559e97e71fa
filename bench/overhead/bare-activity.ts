/** Answers the moment of its first instruction, in milliseconds since 1970. */
export function stamp(): Promise<number> {
  return Promise.resolve(Date.now());
}
