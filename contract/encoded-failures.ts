import { DefaultFailureConverter } from '@temporalio/common';

/** Puts messages and stack traces of failures into a payload, so that a codec sees them; of the plain form it reads both. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
