/** What of a task says whether a stop can act on it; registries name its state in several ways. */
export interface StopView {
  readonly status?: string | undefined;
  readonly snapshot?: { readonly state?: string | undefined } | undefined;
  readonly state?: string | undefined;
  readonly control_state?: string | undefined;
  readonly controlState?: string | undefined;
  /** The detached worker that executes it, when one is known. */
  readonly handle?: object | null | undefined;
}

/** Number of the registry that holds direct tasks; 0 is that of managed ones. */
export const DIRECT_REGISTRY = 1;

const INACTIVE = ['stopped', 'completed', 'failed', 'cancelled', 'interrupted'];
const ACTIVE = ['queued', 'running', 'stopping'];

/** The first name of the state that says something. */
const stateOf = ({ status, snapshot, state, control_state: control, controlState }: StopView): string =>
  [status, snapshot?.state, state, control, controlState].find((name) => name !== undefined && name !== '') ??
  'unknown';

/** Whether a stop is offered for a task of a registry (DT-23, DT-32). */
export function canStop(task: StopView, registry: number): boolean {
  const state = stateOf(task);
  if (registry === 0) return !INACTIVE.includes(state);
  if (ACTIVE.includes(state)) return true;
  const hasHandle = task.handle !== undefined && task.handle !== null;
  return registry === DIRECT_REGISTRY && state === 'recovery_required' && hasHandle;
}
