import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { errorCode, errorMessage } from './thrown';
import { AttemptIdError } from './run-directory';

/** Type of the failure by which a worker that shuts down hands a run over to the next one. */
export const DETACHED = 'detached';

/**
 * Maps what was thrown while a run was started or followed; every one of them leaves the provider alone.
 * A hand-over is retried at once, trouble of the host later, a cancellation is passed on.
 */
export function toProviderFailure(error: unknown, isShuttingDown: boolean): Error {
  if (error instanceof CancelledFailure) {
    if (!isShuttingDown) return error;
    const message = 'the worker shuts down and lets go of the run';
    return ApplicationFailure.create({ message, type: DETACHED, nextRetryDelay: '50 milliseconds' });
  }
  if (error instanceof ApplicationFailure) return error;
  const message = errorMessage(error);
  if (error instanceof AttemptIdError) return ApplicationFailure.nonRetryable(message, 'INVALID_ARGUMENT');
  const options = { message, type: errorCode(error) || 'host_error' };
  return ApplicationFailure.create(error instanceof Error ? { ...options, cause: error } : options);
}
