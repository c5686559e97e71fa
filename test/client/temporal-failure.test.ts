import {
  ApplicationFailure,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { toTemporalFailure } from '../../client/temporal-failure';

const updateFailure = (type: string, detail?: unknown) =>
  new WorkflowUpdateFailedError(
    'Workflow Update failed',
    ApplicationFailure.create({ message: 'said', type, ...(detail !== undefined && { details: [detail] }) }),
  );

function grpcError(code: number, details: string): Error {
  return new ServiceError('x', {
    cause: Object.assign(new Error(`${String(code)} X: ${details}`), { code, details, metadata: {} }),
  });
}

describe('toTemporalFailure', () => {
  it('takes code, hint and retryable from the refusal of an update (GN5)', () => {
    const refused = updateFailure('TASK_NOT_DISPATCHABLE', {
      code: 'TASK_NOT_DISPATCHABLE',
      hint: 'h',
      retryable: true,
    });
    expect(toTemporalFailure(refused)).toEqual({
      success: false,
      code: 'TASK_NOT_DISPATCHABLE',
      error: 'said',
      hint: 'h',
      retryable: true,
    });
  });

  it('takes the table for what the refusal does not say', () => {
    expect(toTemporalFailure(updateFailure('TASK_TERMINAL'))).toMatchObject({ hint: 'Create a new task.' });
  });

  it('does not pass an unknown code on as one of ours', () => {
    expect(toTemporalFailure(updateFailure('TypeError'))).toMatchObject({ code: 'TEMPORAL_REFUSED' });
  });

  it('names a task that is not there, and tells it from one that is closed', () => {
    const missing = new WorkflowNotFoundError('workflow not found for ID: x', 'x', undefined);
    const closed = new WorkflowNotFoundError('workflow execution already completed', 'x', undefined);
    expect(toTemporalFailure(missing, 'T')).toMatchObject({ code: 'TASK_NOT_FOUND', error: 'there is no task T' });
    expect(toTemporalFailure(closed, 'T')).toMatchObject({ code: 'TASK_TERMINAL' });
  });

  it('calls a silent worker silent', () => {
    const silent = new WorkflowUpdateRPCTimeoutOrCancelledError('timeout');
    expect(toTemporalFailure(silent)).toMatchObject({ code: 'WORKER_SILENT', retryable: true });
  });

  it.each([
    [14, 'TEMPORAL_UNREACHABLE', true],
    [4, 'TEMPORAL_UNREACHABLE', true],
    [1, 'TEMPORAL_UNREACHABLE', true],
    [3, 'TEMPORAL_REFUSED', false],
    [7, 'TEMPORAL_REFUSED', false],
    [8, 'TEMPORAL_REFUSED', true],
    [16, 'TEMPORAL_REFUSED', false],
  ])('explains the gRPC status %i as %s', (status, code, retryable) => {
    expect(toTemporalFailure(grpcError(status, 'why'))).toMatchObject({ code, retryable });
  });

  it('leaves a defect of our own alone', () => {
    expect(toTemporalFailure(new TypeError('x'))).toBeUndefined();
  });
});
