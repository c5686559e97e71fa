import { ApplicationFailure } from '@temporalio/common';
import { FAILURES, type FailureCode } from './failures';

/** The failure by which an activity says a code of the table; Temporal retries it when the table says so. */
export function codedFailure(code: FailureCode, message: string): ApplicationFailure {
  const { hint, retryable } = FAILURES[code];
  return ApplicationFailure.create({
    message,
    type: code,
    nonRetryable: !retryable,
    details: [{ code, hint, retryable }],
  });
}
