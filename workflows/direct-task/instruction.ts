import type { DirectTask } from '../../contract/direct';

/** What the provider is told before the user's own words, which follow unchanged (DT-3). */
const PREAMBLE = [
  'You are invoked once, for the one bounded task below; nobody invokes you again for it.',
  'Do that task and nothing beyond it. Finish it in this invocation: do not start a loop of retries by yourself.',
  'Keep to the permission mode that you run under, and do not look for a way around it.',
  'When you cannot do the task within these bounds, stop and say what is in the way.',
  'End with a message that says what you did and what is missing.',
].join('\n');

const KIND: Record<DirectTask['operation'], string> = {
  implement: 'make the change that it asks for',
  review: 'review what it names and report; change nothing',
  explain: 'explain what it asks about; change nothing',
  test: 'run the tests that it names and report; change nothing but what they write',
};

/** The whole first message of a direct task. */
export function directMessage({ operation, permissionMode, instruction }: DirectTask): string {
  const kind = `Kind of work: ${operation} (${KIND[operation]}). Permission mode: ${permissionMode}.`;
  return `${PREAMBLE}\n${kind}\n\nThe task:\n\n${instruction}`;
}
