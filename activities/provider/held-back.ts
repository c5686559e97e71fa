// Import-light on purpose: the runner loads this.

/**
 * Node reads the certificates that this variable names at every start, which takes longer than all the rest of it. The
 * runner speaks to nobody, so it is started without, and gives the variable on to the provider.
 */
const NAME = 'NODE_EXTRA_CA_CERTS';
const HELD = 'PERDURE_HELD_NODE_EXTRA_CA_CERTS';

function rename(env: NodeJS.ProcessEnv, from: string, to: string): NodeJS.ProcessEnv {
  const { [from]: value, ...rest } = env;
  return value === undefined ? rest : { ...rest, [to]: value };
}

/** The environment that the runner is started with. */
export const holdBack = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => rename(env, NAME, HELD);

/** The environment as it was meant for the provider. */
export const giveBack = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => rename(env, HELD, NAME);
