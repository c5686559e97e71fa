import { ZodError } from 'zod';
import { failure, invalidArgument, type Failure, type FailureCode, type Outcome } from '../contract/failures';
import { toTemporalFailure } from './temporal-failure';

/** Carries a refusal out of an operation's depth; operations hand it to their caller as a value. */
export class RefusedError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.error);
    this.name = 'RefusedError';
  }
}

/** Refuses with a code of the one table. */
export function refuse(code: FailureCode, error: string, exact: Parameters<typeof failure>[2] = {}): never {
  throw new RefusedError(failure(code, error, exact));
}

/** The failure behind an error, or undefined when it is a defect of our own. */
export function toFailure(error: unknown, taskId?: string): Failure | undefined {
  if (error instanceof RefusedError) return error.failure;
  if (error instanceof ZodError) return invalidArgument(error);
  return toTemporalFailure(error, taskId);
}

/** Runs an operation and answers its refusals as values; only defects of our own are thrown. */
export async function outcomeOf<T extends object>(work: () => Promise<T>, taskId?: string): Promise<Outcome<T>> {
  try {
    return { success: true, ...(await work()) };
  } catch (error) {
    const known = toFailure(error, taskId);
    if (known === undefined) throw error;
    return taskId === undefined || known.taskId !== undefined ? known : { ...known, taskId };
  }
}

/** The message of an error, or its string form (GN8). */
export function messageOf(error: unknown): string {
  return textOf(error, 'message') ?? String(error);
}

/** The system's code of an error (`ENOENT`), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  return textOf(error, 'code');
}

/** Reads a text of an error by name: errors of another realm (a test's sandbox) are no instances of ours. */
function textOf(error: unknown, name: 'message' | 'code'): string | undefined {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The value of a success; a failure goes on as a refusal. */
export function valueOf<T>(outcome: Outcome<T>): { success: true } & T {
  if (outcome.success) return outcome;
  throw new RefusedError(outcome);
}
