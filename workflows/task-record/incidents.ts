import type { RunReport } from '../../contract/activities';
import type { Incident, Snapshot, Stage } from '../../contract/incident';
import type { Carried } from '../../contract/run';
import { bounded } from '../../contract/text';
import { currentAttempt } from './attempt';

/** Incidents that a record keeps, and how many of them whole; each stays in the history of its phase (RC-11). */
const KEPT = 100;
const KEPT_WHOLE = 20;
/** Characters of a diff that stay in the record once its incident is decided. */
const EXCERPT = 500;
/** Characters of the evidence of an incident that is not kept whole. */
const GIST = 200;

/** Decisions that an attempt follows, or may follow; any other one is the end of the incident. */
const LEADING_ON: readonly string[] = ['dispatch', 'retry', 'continue', 'no_executor'];

/** Codes of what is recorded and asks nobody for anything (RC-12). */
const NOTED: readonly string[] = ['usage_regressed', 'provider_inactive', 'provider_identity_changed', 'spawn_failed'];

type NewIncident = Pick<Incident, 'code' | 'at' | 'evidence'> & Partial<Pick<Incident, 'subject' | 'stages'>>;

/** Adds a stage; one that was reached stays as it was (RC-13). */
const reach = (stages: readonly Stage[], stage: Stage): Stage[] =>
  stages.some((reached) => reached.stage === stage.stage) ? [...stages] : [...stages, stage];

const isPast = ({ stages }: Incident, stage: Stage['stage']): boolean =>
  stages.some((reached) => reached.stage === stage);

/** Appends an incident, about the last attempt unless another one is named; there is one of each code and subject. */
export function addIncident(carried: Carried, { stages = [], ...incident }: NewIncident): Carried {
  const subject = incident.subject ?? currentAttempt(carried)?.attemptId ?? '';
  const id = `incident:${incident.code}:${subject}`;
  if (carried.incidents.some((known) => known.id === id)) return carried;
  const evidence = incident.evidence.slice(0, 10).map((each) => bounded(each, 500));
  const entry: Incident = { ...incident, id, subject, evidence, decidedAt: null, stages };
  const { at, code } = incident;
  const added = NOTED.includes(code) ? closed(entry, { at, actor: 'perdure', decision: 'noted' }) : entry;
  return kept(carried, [...carried.incidents, added]);
}

function kept(carried: Carried, incidents: Incident[]): Carried {
  const dropped = Math.max(0, incidents.length - KEPT);
  const whole = incidents.length - KEPT_WHOLE;
  return {
    ...carried,
    incidents: incidents.slice(dropped).map((each, index) => (dropped + index < whole ? thinned(each) : each)),
    droppedIncidents: carried.droppedIncidents + dropped,
  };
}

function thinned({ snapshot: _, ...incident }: Incident): Incident {
  return { ...incident, evidence: incident.evidence.slice(0, 1).map((each) => bounded(each, GIST)) };
}

interface Closing {
  readonly at: string;
  readonly actor: string;
  readonly decision: string;
}

function closed(incident: Incident, { at, actor, decision }: Closing): Incident {
  const { snapshot, subject: attemptId } = incident;
  const reached = reach(incident.stages, { stage: 'decided', at, attemptId });
  const stages = LEADING_ON.includes(decision) ? reached : reach(reached, { stage: 'closed', at, attemptId });
  const decided = { ...incident, decidedAt: at, decision, decidedBy: actor, stages };
  return snapshot ? { ...decided, snapshot: { ...snapshot, diff: snapshot.diff.slice(0, EXCERPT) } } : decided;
}

/** Closes one incident and leaves the others; without one there is nothing to close. */
export const closeIncident = (
  incidents: readonly Incident[],
  open: Incident | undefined,
  closing: Closing,
): Incident[] => incidents.map((each) => (each === open && each.decidedAt === null ? closed(each, closing) : each));

/** Closes the incidents that are open: what follows them was decided, and their diffs are with their hosts. */
export const closeIncidents = (incidents: readonly Incident[], closing: Closing): Incident[] =>
  incidents.map((incident) => (incident.decidedAt === null ? closed(incident, closing) : incident));

/** The stages that an executor's loss begins with. */
export const lostStages = ({ isProbed }: Pick<RunReport, 'isProbed'>, attemptId: string, at: string): Stage[] => [
  { stage: 'interrupted', at, attemptId },
  ...(isProbed === true ? [{ stage: 'probed' as const, at, attemptId }] : []),
];

/** Notes the proof that the executor of an attempt is gone, where its incident has none. */
export const probeIncident = (incidents: readonly Incident[], subject: string, at: string): Incident[] =>
  incidents.map((each) =>
    each.code === 'interrupted_owner' && each.subject === subject && each.decidedAt === null
      ? { ...each, stages: reach(each.stages, { stage: 'probed', at, attemptId: subject }) }
      : each,
  );

/** Keeps what was saved of a lost attempt with its incident; null where its host could not say. */
export const saveSnapshot = (
  incidents: readonly Incident[],
  open: Incident | undefined,
  snapshot: Snapshot | null,
): Incident[] =>
  incidents.map((each) => {
    if (each !== open) return each;
    const saved = snapshot && ({ stage: 'evidence_saved', at: snapshot.at, attemptId: each.subject } as const);
    return { ...each, snapshot, stages: saved === null ? each.stages : reach(each.stages, saved) };
  });

interface Following {
  readonly attemptId: string;
  readonly at: string;
}

/** An attempt goes on from what was decided. */
export const resumeIncidents = (incidents: readonly Incident[], { attemptId, at }: Following): Incident[] =>
  incidents.map((each) =>
    isPast(each, 'decided') && !isPast(each, 'closed')
      ? { ...each, stages: reach(each.stages, { stage: 'resumed', at, attemptId }) }
      : each,
  );

/** The attempt that went on has ended: what it went on from is over. */
export const endResumed = (incidents: readonly Incident[], { attemptId, at }: Following): Incident[] =>
  incidents.map((each) =>
    each.stages.some((reached) => reached.stage === 'resumed' && reached.attemptId === attemptId)
      ? { ...each, stages: reach(each.stages, { stage: 'closed', at, attemptId }) }
      : each,
  );
