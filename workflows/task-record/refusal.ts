import { ApplicationFailure } from '@temporalio/common';
import type { Failure } from '../../contract/failures';

/** Turns a refusal into the failure that carries its code over the wire: `type` is the code, details hold the rest. */
export function refuse({ success: _, error, ...details }: Failure): never {
  throw ApplicationFailure.create({ message: error, type: details.code, nonRetryable: true, details: [details] });
}
