// Builds dist/: compiles with tsc and bundles the workflows, into dist/workflow-bundle.js and once more for encrypted
// payloads.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** Globals that exist in Node only; the workflow sandbox has none of them, and types do not guard compiled libraries. */
const NODE_GLOBALS = ['process', 'Buffer', 'fetch', 'setImmediate', '__dirname', '__filename'];

const NODE_MODULES = `${sep}node_modules${sep}`;
const inRoot = (path) => relative(root, path);
const isOurs = (path) => path.startsWith(root + sep) && !path.includes(NODE_MODULES);

/** Webpack plugin that notes where our own modules read a Node global. */
function globalsPlugin(found) {
  const watch = (parser) => {
    for (const name of NODE_GLOBALS) {
      const note = () => {
        const file = parser.state.module?.resource ?? '';
        if (isOurs(file)) found.add(`${name} (used in ${inRoot(file)})`);
      };
      parser.hooks.expression.for(name).tap('perdure', note);
      parser.hooks.expressionMemberChain.for(name).tap('perdure', note);
      parser.hooks.callMemberChain.for(name).tap('perdure', note);
      parser.hooks.call.for(name).tap('perdure', note);
    }
  };
  return {
    apply(compiler) {
      compiler.hooks.normalModuleFactory.tap('perdure', (factory) => {
        factory.hooks.parser.for('javascript/auto').tap('perdure', watch);
      });
    },
  };
}

/** Wraps the SDK's own check of built-ins, so that a failure names the importing file. */
function withImporters(config, found, disallowed) {
  const check = config.externals;
  const externals = async (data, callback) => {
    const name = (data.request ?? '').replace(/^node:/, '');
    const importer = data.contextInfo?.issuer ?? '';
    const isForbidden = disallowed.some((module) => name === module || name.startsWith(`${module}/`));
    if (isForbidden && importer !== '') found.add(`${name} (imported by ${inRoot(importer)})`);
    return check(data, callback);
  };
  return { ...config, externals, plugins: [...(config.plugins ?? []), globalsPlugin(found)] };
}

/** Keeps the bundler quiet until something is wrong. */
function memoryLogger(lines) {
  const note = (level) => (message) => void lines.push(`${level}: ${message}`);
  return {
    log: (level, message) => note(level)(message),
    trace: () => undefined,
    debug: () => undefined,
    info: () => undefined,
    warn: note('warn'),
    error: note('error'),
  };
}

/** Bundles `workflowsPath`; rejects when anything in it cannot run in the workflow sandbox. */
export async function bundleWorkflows(workflowsPath, options = {}) {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const { disallowedModules } = await import('@temporalio/worker/lib/workflow/bundler.js');
  const found = new Set();
  const lines = [];
  const webpackConfigHook = (config) => withImporters(config, found, disallowedModules);
  try {
    const logger = memoryLogger(lines);
    const { code } = await bundleWorkflowCode({ ...options, workflowsPath, webpackConfigHook, logger });
    if (found.size === 0) return code;
  } catch (cause) {
    if (found.size === 0) throw new Error(`The workflow bundle failed.\n${lines.join('\n')}`, { cause });
  }
  const names = [...found].map((name) => `  - ${name}`).join('\n');
  throw new Error(`Workflow code may use neither Node's modules nor its globals:\n${names}`);
}

async function compile() {
  // Without its output the compiler's memory of the last build is false.
  if (!existsSync(join(root, 'dist', 'cli', 'main.js')))
    await rm(join(root, 'dist', 'tsconfig.tsbuildinfo'), { force: true });
  await new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [tsc, '-p', join(root, 'tsconfig.json')], { stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error('tsc found errors.'));
    });
  });
}

/** Writes only what changed, atomically: a worker may be reading it. */
async function replaceFile(path, text) {
  if (existsSync(path) && (await readFile(path, 'utf8')) === text) return;
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, text);
  await rename(temporary, path).catch(async (error) => {
    await rm(temporary, { force: true });
    throw error;
  });
}

/** The whole build. Compiles and bundles side by side: both read the sources. */
export async function build() {
  const workflows = join(root, 'workflows', 'index.ts');
  const preloadModules = [join(root, 'workflows', 'preload.ts')];
  const failureConverterPath = join(root, 'contract', 'encoded-failures.ts');
  const results = await Promise.allSettled([
    compile(),
    bundleWorkflows(workflows, { preloadModules }),
    bundleWorkflows(workflows, { preloadModules, failureConverterPath }),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const [, plain, encoded] = results;
  await replaceFile(join(root, 'dist', 'workflow-bundle.js'), plain.value);
  await replaceFile(join(root, 'dist', 'workflow-bundle.encoded.js'), encoded.value);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await build().catch((error) => {
    process.stderr.write(`build: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
