import {
  ApplicationFailure,
  isGrpcServiceError,
  NamespaceNotFoundError,
  QueryNotRegisteredError,
  QueryRejectedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { z } from 'zod';
import { failure, failureCode, type Failure } from '../contract/failures';

/** gRPC status codes that mean something to us. */
export const GRPC = {
  /** A server that gives up at the caller's deadline may reset the call before the caller's own clock says so. */
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const detailSchema = z.object({
  code: z.string().optional(),
  hint: z.string().optional(),
  retryable: z.boolean().optional(),
  taskId: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});

/** Finds the gRPC error in a chain of causes: its status code and text. */
export function grpcStatus(error: unknown): { code: number; details: string } | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at)) return { code: at.code, details: at.details };
  }
  return undefined;
}

/** What a refused update says: the failure's type is the code, its first detail the rest. */
function fromUpdate(error: WorkflowUpdateFailedError): Failure {
  const { cause } = error;
  const message = cause?.message ?? error.message;
  if (!(cause instanceof ApplicationFailure)) return failure('TEMPORAL_REFUSED', `the update failed: ${message}`);
  const detail = detailSchema.safeParse(cause.details?.[0]);
  const code = failureCode.safeParse(cause.type);
  const exact = detail.success ? detail.data : {};
  if (code.success) {
    const { hint, retryable, taskId, warnings } = exact;
    const given = Object.entries({ hint, retryable, taskId, warnings }).filter(([, value]) => value !== undefined);
    return { ...failure(code.data, message), ...Object.fromEntries(given) };
  }
  if (cause.type === 'AcceptedUpdateCompletedWorkflow') return lostInPhaseChange();
  return failure('TEMPORAL_REFUSED', `the worker refused the update: ${message}`);
}

/** A request that fell between two phases: its id makes sending it again harmless. */
const lostInPhaseChange = (): Failure =>
  failure('TEMPORAL_REFUSED', 'the task changed its phase before the request was answered', {
    hint: 'Look at the task with `perdure task show`; repeat the request if it had no effect.',
    retryable: true,
  });

/** Whether a workflow task failed under a request, as one does that ends a phase while something comes in; all of it is tried again. */
export const isTaskFailure = ({ code, details }: { code: number; details: string }): boolean =>
  code === GRPC.failedPrecondition && /unexpected workflow task failure/i.test(details);

function fromGrpc({ code, details }: { code: number; details: string }): Failure {
  if (isTaskFailure({ code, details })) return lostInPhaseChange();
  const said = details === '' ? 'it gave no reason' : details;
  switch (code) {
    case GRPC.unavailable:
      return failure('TEMPORAL_UNREACHABLE', `the connection to the Temporal server was lost (${said})`);
    case GRPC.cancelled:
    case GRPC.deadlineExceeded:
      return failure('TEMPORAL_UNREACHABLE', 'the Temporal server did not answer in time');
    case GRPC.permissionDenied:
    case GRPC.unauthenticated:
      return failure('TEMPORAL_REFUSED', `the Temporal server did not accept these credentials (${said})`, {
        hint: 'Check TEMPORAL_API_KEY, the TLS settings and the namespace of the Temporal environment.',
      });
    case GRPC.resourceExhausted:
      return failure('TEMPORAL_REFUSED', `the Temporal server is at its limit (${said})`, {
        hint: 'Send the request again in a few seconds.',
        retryable: true,
      });
    default:
      return failure('TEMPORAL_REFUSED', `the Temporal server refused the request (${said})`);
  }
}

function notFound(error: WorkflowNotFoundError, taskId: string | undefined): Failure {
  const name = taskId === undefined ? 'the task' : `task ${taskId}`;
  if (/aborted by closing workflow/i.test(error.message)) return lostInPhaseChange();
  if (/already completed/i.test(error.message)) {
    return failure('TASK_TERMINAL', `the workflow of ${name} is closed and takes no requests`, {
      hint: 'Its record can still be read with `perdure task show`; `perdure orphans --apply` brings back what ran.',
    });
  }
  return failure('TASK_NOT_FOUND', `there is no ${name === 'the task' ? 'such task' : name}`);
}

/** Maps what the Temporal client throws to a failure that explains itself; undefined when it is no Temporal error. */
export function toTemporalFailure(error: unknown, taskId?: string): Failure | undefined {
  if (error instanceof WorkflowUpdateFailedError) return fromUpdate(error);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return failure('WORKER_SILENT', 'no worker answered the request in time');
  }
  if (error instanceof WorkflowNotFoundError) return notFound(error, taskId);
  if (error instanceof NamespaceNotFoundError) {
    return failure('TEMPORAL_REFUSED', `the Temporal server has no namespace ${error.namespace}`, {
      hint: 'Set TEMPORAL_NAMESPACE, or make it with `temporal operator namespace create`; `perdure doctor` checks it.',
    });
  }
  if (error instanceof QueryNotRegisteredError || error instanceof QueryRejectedError) {
    return failure('TEMPORAL_REFUSED', `the worker could not answer the query (${error.message})`);
  }
  const status = grpcStatus(error);
  return status === undefined ? undefined : fromGrpc(status);
}
