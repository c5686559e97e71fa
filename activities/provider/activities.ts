import type { ProviderActivities } from '../../contract/activities';
import { toProviderFailure } from './failures';
import { probeRun } from './probe-run';
import type { ProviderDeps } from './provider-deps';
import { removeRuns } from './remove-runs';
import { runProvider } from './run-provider';
import { saveEvidence } from './save-evidence';
import { stopRun } from './stop-run';

const orFailure = (error: unknown): never => {
  throw toProviderFailure(error, false);
};

/** Does what needs no wait, so that a refusal of it is a rejection. */
const atOnce = <T>(work: () => T): Promise<T> =>
  new Promise<T>((resolve) => {
    resolve(work());
  }).catch(orFailure);

/** Activities of a host that start, follow, stop and probe providers. */
export function createProviderActivities(deps: ProviderDeps): ProviderActivities {
  return {
    runProvider: (order) => runProvider(deps, order),
    saveEvidence: (order) => saveEvidence(deps, order).catch(orFailure),
    removeRuns: (order) => atOnce(() => removeRuns(deps, order)),
    stopRun: (order) => stopRun(deps, order).catch(orFailure),
    probeRun: (order) => probeRun(deps, order).catch(orFailure),
  };
}
