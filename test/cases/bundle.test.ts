import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DevServer } from '../helpers/dev-server';
import { root, workflowBundle } from '../helpers/root';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-bundle-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The code of a bundle without the map of its sources. */
const codeOf = (path: string) => readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*/, '');

/** A copy of what is installed, with a line of its own before the workflows. */
function installWith(line: string): string {
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(root, name), join(directory, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const bundle = join(directory, 'dist', 'workflow-bundle.js');
  writeFileSync(bundle, `${line}\n${readFileSync(bundle, 'utf8')}`);
  return join(directory, 'bin', 'perdure.js');
}

describe('the workflow bundle', () => {
  it('that is shipped asks for no module of Node and no environment (P71)', () => {
    const code = codeOf(workflowBundle.codePath);
    const asked = [...code.matchAll(/\brequire\(\s*["'](?:node:)?([a-z_/]+)["']\s*\)/g)].map(([, name]) => name ?? '');
    expect(asked.filter((name) => builtinModules.includes(name))).toEqual([]);
    expect(code).not.toMatch(/process\.env\b/);
  });

  it('is refused when a workflow imports an activity by value, with the file that brings Node in (P71)', () => {
    const workflow = join(directory, 'workflow.ts');
    const activity = join(root, 'activities', 'provider', 'stop-run');
    writeFileSync(workflow, `import { stopRun } from '${activity}';\nexport const task = () => stopRun;\n`);
    const script = `import { bundleWorkflows } from './scripts/build.mjs'; await bundleWorkflows('${workflow}');`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/fs \(imported by activities\/provider\/[a-z-]+\.ts\)/);
  });

  it('that is dirty keeps a worker from starting, with a word and an exit code (P71)', async () => {
    const server = await DevServer.start();
    try {
      const args = [installWith("require('node:fs');"), 'worker', '--role', 'orchestrator', '--json'];
      const env = { ...process.env, PERDURE_HOME: join(directory, 'home'), TEMPORAL_ADDRESS: server.address };
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
      const said = text(child.stdout);
      const [status] = (await once(child, 'exit')) as [number];
      expect(status).not.toBe(0);
      expect(JSON.parse(await said)).toMatchObject({ success: false, error: expect.stringContaining('require') });
    } finally {
      await server.stop();
    }
  });
});
