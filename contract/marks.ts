// Without imports on purpose: the runner loads this, and it must be up in milliseconds.

/** Environment variable that marks every process of an attempt with the attempt's id. */
export const ATTEMPT_MARK = 'PERDURE_ATTEMPT_ID';

/** Environment variable that marks the runner of an attempt; never passed on to the provider. */
export const RUNNER_MARK = 'PERDURE_RUNNER_OF';
