import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

function findRoot(directory: string): string {
  const isRoot = existsSync(join(directory, 'package.json')) && existsSync(join(directory, 'contract', 'names.ts'));
  return isRoot ? directory : findRoot(dirname(directory));
}

/** Root of the checkout, from the sources as from dist/. */
export const root = findRoot(__dirname);

/** The workflows as workers load them. */
export const workflowBundle = { codePath: join(root, 'dist', 'workflow-bundle.js') };

/** Entry of a compiled fixture program. */
export const compiledFixture = (name: string): string => join(root, 'dist', 'test', 'fixtures', `${name}.js`);
