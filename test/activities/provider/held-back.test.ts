import { runProvider } from '../../../activities/provider/run-provider';
import { holdBack } from '../../../activities/provider/held-back';
import { createProviderHost, goodRun } from '../../helpers/provider-host';

describe('the certificates that Node would read at each start', () => {
  const host = createProviderHost();
  afterAll(() => host.dispose());

  it('are kept from the runner', () => {
    expect(holdBack({ PATH: '/bin', NODE_EXTRA_CA_CERTS: '/ca.pem' })).not.toHaveProperty('NODE_EXTRA_CA_CERTS');
    expect(holdBack({ PATH: '/bin' })).toEqual({ PATH: '/bin' });
  });

  it('reach the provider under their own name alone', async () => {
    const env = { ...host.deps.env, NODE_EXTRA_CA_CERTS: '/dev/null' };
    await runProvider({ ...host.deps, env }, host.order(goodRun()));
    const [entry] = host.agentLog();
    expect(entry?.env).toContain('NODE_EXTRA_CA_CERTS');
    expect(entry?.env?.filter((name) => name.startsWith('PERDURE_'))).toEqual(['PERDURE_ATTEMPT_ID']);
  });
});
