import { existsSync } from 'node:fs';
import { launchRunner } from '../../../activities/provider/runner-process';
import { countSpawns } from '../../../activities/provider/run-directory';
import { markedProcesses } from '../../../activities/provider/marked-processes';
import { RUNNER_MARK } from '../../../contract/marks';
import { createProviderHost, goodRun } from '../../helpers/provider-host';
import { prepareRun } from '../../helpers/runner-process';
import { until } from '../../helpers/until';

describe('a runner that waits for its attempt to be prepared', () => {
  const host = createProviderHost();
  afterAll(() => host.dispose());
  const launch = async (mark: string) => {
    const paths = prepareRun(host, goodRun());
    const runner = await launchRunner(host.deps, paths, { ...host.deps.env, [RUNNER_MARK]: mark });
    return { paths, runner, lives: () => markedProcesses(RUNNER_MARK, mark).length > 0 };
  };

  it('takes nothing before it is told to, and then spawns once', async () => {
    const { paths, runner } = await launch('told');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(existsSync(paths.claim)).toBe(false);
    expect(await runner.begin()).toBe(true);
    await until(() => existsSync(paths.exit));
    expect(countSpawns(paths)).toBe(1);
  });

  it('ends without a claim when it is sent away, as when its worker dies', async () => {
    const { paths, runner, lives } = await launch('sent-away');
    await until(lives);
    runner.dismiss();
    await until(() => !lives());
    expect(existsSync(paths.claim)).toBe(false);
    expect(countSpawns(paths)).toBe(0);
  });
});
