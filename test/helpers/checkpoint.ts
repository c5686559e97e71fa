import { criterionId, type Checkpoint, type ReviewVerdict } from '../../contract/checkpoint';

/** A checkpoint that says to go on, with whatever else it shall say. */
export const checkpoint = (taskId: string, change: Partial<Checkpoint> = {}): Checkpoint => ({
  version: 1,
  taskId,
  session: null,
  status: 'continue',
  summary: 'half of it',
  nextStep: 'the other half',
  remainingWork: ['the other half'],
  criteria: [{ id: criterionId(0), state: 'unmet', evidence: [] }],
  proposedAction: null,
  question: null,
  ...change,
});

/** A checkpoint that says that everything is done. */
export const done = (taskId: string): Checkpoint =>
  checkpoint(taskId, {
    status: 'done',
    summary: 'all of it',
    nextStep: null,
    remainingWork: [],
    criteria: [{ id: criterionId(0), state: 'met', evidence: ['it passes'] }],
  });

export const verdict = (taskId: string, change: Partial<ReviewVerdict> = {}): ReviewVerdict => ({
  version: 1,
  taskId,
  verdict: 'confirmed',
  findings: [],
  ...change,
});
