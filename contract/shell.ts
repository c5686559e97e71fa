// Without imports on purpose: the command line shows these words before it loads anything.

/** A word in quotes, whatever it holds. */
export const shellQuoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** A word as a shell takes it back: plain where it may be, else in quotes. */
export const shellWord = (word: string): string => (/^[\p{L}\p{N}_.:@%+,/-]+$/u.test(word) ? word : shellQuoted(word));

/** The acceptance command that stands for a clean tree: nothing changed that is not committed. */
export const CLEAN_TREE = 'test -z "$(git status --porcelain)"';

/** Puts the id of a task into the commands that a hint names: `perdure dispatch ID`. */
export const withId = (hint: string, taskId: string): string =>
  hint.replaceAll(/(perdure [a-z]+) ID\b/g, (_, command: string) => `${command} ${shellWord(taskId)}`);

/** What `decide --continue` is given where a delivery rests. */
const GIVES = {
  token_budget: '--tokens N',
  time_budget: '--time 1h',
  attempt_budget: '--attempts N',
  progress_budget: '--note ...',
  input_required: '--note ...',
} as const;

/** The command that lets a delivery go on. */
export const continueWith = (taskId: string, what: keyof typeof GIVES): string =>
  `perdure decide ${shellWord(taskId)} --continue ${GIVES[what]}`;

/** Whether a code says that a delivery rests until a person lets it go on. */
export const isResting = (code: string | null): code is keyof typeof GIVES =>
  code !== null && Object.hasOwn(GIVES, code);
