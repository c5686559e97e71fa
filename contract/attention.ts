// Without imports on purpose: the command line shows these words before it loads anything.

/** What an operator has to look at, in one word; `none` when the task needs nobody. */
export const ATTENTIONS = [
  'none',
  'running',
  'stopping',
  'waiting',
  'recovery',
  'budget',
  'outcome',
  'claimed',
  'review',
  'input',
  'failed',
] as const;
export type Attention = (typeof ATTENTIONS)[number];

/** Incidents after which only a person says how to go on: what a decision answers. */
export const ASKING: readonly string[] = ['interrupted_owner', 'checkpoint_rejected'];
