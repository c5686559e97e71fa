import { ASKING } from '../contract/attention';
import type { Outcome } from '../contract/failures';
import { incidentsQuery, type Incident } from '../contract/incident';
import { carriedQuery } from '../contract/run';
import { outcomeOf, refuse } from './outcome';
import { askWorker } from './record';
import { taskHandle, type Session } from './session';

export interface Incidents {
  readonly taskId: string;
  /** Oldest first. */
  readonly incidents: Incident[];
  /** Older ones that the record keeps no more; absent when there are none. */
  readonly dropped?: number;
}

export interface ShownIncident {
  readonly taskId: string;
  readonly incident: Incident;
}

/** Lists what happened to a task's attempts that a person may have to judge. */
export async function listIncidents(session: Session, taskId: string): Promise<Outcome<Incidents>> {
  return outcomeOf(async () => {
    const handle = await taskHandle(session, taskId);
    const { incidents, droppedIncidents } = await askWorker(session, () => handle.query(carriedQuery));
    return { taskId, incidents, ...(droppedIncidents > 0 && { dropped: droppedIncidents }) };
  }, taskId);
}

/** Shows one incident with what was saved of the lost attempt: the named one, else one that a decision answers. */
export async function showIncident(
  session: Session,
  taskId: string,
  incidentId?: string,
): Promise<Outcome<ShownIncident>> {
  return outcomeOf(async () => {
    const incidents = await query(session, taskId);
    const open = incidents.filter(({ decidedAt }) => decidedAt === null);
    const incident =
      incidentId === undefined
        ? (open.findLast(({ code }) => ASKING.includes(code)) ?? open.at(-1) ?? incidents.at(-1))
        : incidents.find(({ id }) => id === incidentId);
    if (incident !== undefined) return { taskId, incident };
    const what = incidentId === undefined ? 'no incident' : `no incident ${incidentId}`;
    return refuse('INCIDENT_NOT_FOUND', `task ${taskId} has ${what}`, { taskId });
  }, taskId);
}

async function query(session: Session, taskId: string): Promise<Incident[]> {
  const handle = await taskHandle(session, taskId);
  return askWorker(session, () => handle.query(incidentsQuery));
}
