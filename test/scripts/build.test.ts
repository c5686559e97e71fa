import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');

describe('the workflow bundle', () => {
  it('is refused when workflow code uses Node, naming who does', () => {
    const script = `import { bundleWorkflows } from './scripts/build.mjs';
      await bundleWorkflows('${join(root, 'test', 'fixtures', 'forbidden-workflow.ts')}');`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('fs (imported by test/fixtures/forbidden-workflow.ts)');
    expect(stderr).toContain('process (used in test/fixtures/forbidden-workflow.ts)');
  });
});
