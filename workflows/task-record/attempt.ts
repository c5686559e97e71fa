import type { Incident } from '../../contract/incident';
import type { Attempt, Carried } from '../../contract/run';

/** The last attempt of a task, or undefined before the first. */
export const currentAttempt = (carried: Carried): Attempt | undefined => carried.attempts.at(-1);

/** Changes the last attempt. */
export function amendAttempt(carried: Carried, change: Partial<Attempt>): Carried {
  const attempt = currentAttempt(carried);
  if (attempt === undefined) return carried;
  return { ...carried, attempts: [...carried.attempts.slice(0, -1), { ...attempt, ...change }] };
}

interface Closing {
  readonly at: string;
  readonly actor: string;
  readonly decision: string;
}

/** Closes one incident and leaves the others; without one there is nothing to close. */
export const closeIncident = (
  incidents: readonly Incident[],
  open: Incident | undefined,
  closing: Closing,
): Incident[] => incidents.flatMap((each) => (each === open ? closeIncidents([each], closing) : [each]));

/** Closes the incidents that are open: what follows them was decided, and their diffs are with their hosts. */
export function closeIncidents(incidents: readonly Incident[], { at, actor, decision }: Closing): Incident[] {
  return incidents.map((incident) => {
    if (incident.decidedAt !== null) return incident;
    const { snapshot } = incident;
    const decided = { ...incident, decidedAt: at, decision, decidedBy: actor };
    return snapshot ? { ...decided, snapshot: { ...snapshot, diff: snapshot.diff.slice(0, EXCERPT) } } : decided;
  });
}

/** Characters of a diff that stay in the record once its incident is decided. */
const EXCERPT = 500;
