import type { Attempt, Carried } from '../../contract/run';

/** The last attempt of a task, or undefined before the first. */
export const currentAttempt = (carried: Carried): Attempt | undefined => carried.attempts.at(-1);

/** Changes the last attempt. */
export function amendAttempt(carried: Carried, change: Partial<Attempt>): Carried {
  const attempt = currentAttempt(carried);
  if (attempt === undefined) return carried;
  return { ...carried, attempts: [...carried.attempts.slice(0, -1), { ...attempt, ...change }] };
}
