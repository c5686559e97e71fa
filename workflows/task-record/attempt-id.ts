import { fnv1a } from './requests';

/** The attempt id (a UUID of version 8) that one request of one task always comes to. */
export function attemptIdFor(workflowId: string, requestId: string): string {
  const hex = fnv1a(`${workflowId} ${requestId}`) + fnv1a(`${requestId} ${workflowId}`);
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
