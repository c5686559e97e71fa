import type { WorkflowHandle } from '@temporalio/client';
import type { WORKFLOW } from '../../contract/names';
import type { Stage } from '../helpers/stage';

/** A way through the workflows whose histories are kept for replay. */
export interface Scenario {
  readonly name: string;
  /** Types whose histories this scenario is the model of. */
  readonly workflows: readonly (keyof typeof WORKFLOW)[];
  play(stage: Stage): Promise<WorkflowHandle>;
}

export const scenario = (name: string, workflows: Scenario['workflows'], play: Scenario['play']): Scenario => ({
  name,
  workflows,
  play,
});
