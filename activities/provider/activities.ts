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

/** Activities of a host that start, follow, stop and probe providers. */
export function createProviderActivities(deps: ProviderDeps): ProviderActivities {
  return {
    runProvider: (order) => runProvider(deps, order),
    saveEvidence: (order) => saveEvidence(deps, order).catch(orFailure),
    // eslint-disable-next-line @typescript-eslint/require-await -- so that a refusal is a rejection
    removeRuns: async (order) => removeRuns(deps, order),
    stopRun: (order) => stopRun(deps, order).catch(orFailure),
    // eslint-disable-next-line @typescript-eslint/require-await -- so that a refusal is a rejection
    probeRun: async (order) => {
      try {
        return probeRun(deps, order);
      } catch (error) {
        return orFailure(error);
      }
    },
  };
}
