/** What executes a task: a provider, and later its configuration. */
export interface Agent {
  readonly id: string;
  readonly provider: 'codex';
}

export const DEFAULT_AGENT = 'general-purpose';

const BUILT_IN: readonly Agent[] = [{ id: DEFAULT_AGENT, provider: 'codex' }];

/** Finds an agent by its id; undefined when there is none. */
export function findAgent(agentId: string): Agent | undefined {
  return BUILT_IN.find(({ id }) => id === agentId);
}
