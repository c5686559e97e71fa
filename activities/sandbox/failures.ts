import { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../../contract/failures';
import { WorkspaceError } from './workspaces';

/** The one mapping of this family's errors to failures. */
export function toSandboxFailure(error: unknown): never {
  if (!(error instanceof WorkspaceError)) throw error;
  const { code, message } = error;
  const { hint, retryable } = FAILURES[code];
  throw ApplicationFailure.create({
    message,
    type: code,
    nonRetryable: !retryable,
    details: [{ code, hint, retryable }],
  });
}
