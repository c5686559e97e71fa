/** The answer of a dispatch that began a run; anything else is no use to the test. */
export function started<T extends object>(answer: T): Extract<T, { attemptId: string }> {
  if ('attemptId' in answer) return answer as Extract<T, { attemptId: string }>;
  throw new Error(`no run began: ${JSON.stringify(answer)}`);
}
