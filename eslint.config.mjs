import tseslint from 'typescript-eslint';

const LAYERS = ['contract', 'workflows', 'activities', 'workers', 'client', 'cli', 'scripts', 'bench', 'test'];

/** Which of our folders a folder may import; `types` may be imported as types only. */
const MAY_IMPORT = {
  contract: { ours: [] },
  workflows: { ours: ['contract'] },
  activities: { ours: ['contract'] },
  // The composition root takes the connection and the home from the client.
  workers: { ours: ['contract', 'activities', 'client'] },
  client: { ours: ['contract'], types: ['workflows'] },
  cli: { ours: ['contract', 'client'] },
};

/** Which packages a folder may import; without an entry it may import any, and all of Node. */
const PACKAGES = {
  contract: ['zod', '@temporalio/common', '@temporalio/workflow'],
  workflows: ['zod', '@temporalio/common', '@temporalio/workflow'],
};

/** Packages that a folder may not import although it may import others. */
const NOT_PACKAGES = {
  activities: ['client', 'worker', 'workflow', 'envconfig'],
  client: ['worker', 'workflow', 'activity'],
  cli: ['client', 'worker', 'workflow', 'activity', 'envconfig', 'common'],
};

/** A path out of a folder, however deep the importing file is. */
const outOf = (folder) => `^(\\.\\./)+${folder}(/|$)`;

function layerPatterns(layer) {
  const { ours, types = [] } = MAY_IMPORT[layer];
  const may = [...ours, ...types].join(', ') || 'none of ours';
  const patterns = LAYERS.filter((other) => other !== layer && !ours.includes(other)).map((other) => ({
    regex: outOf(other),
    allowTypeImports: types.includes(other),
    message: `${layer}/ may import ${may}${types.length ? ` (${types.join(', ')} as types)` : ''}; not ${other}/.`,
  }));
  const packages = PACKAGES[layer];
  if (packages) {
    const known = packages.map((name) => `${name}(/|$)`).join('|');
    patterns.push({
      regex: `^(?!\\.|${known})`,
      message: `${layer}/ may import ${packages.join(', ')} and no other package.`,
    });
  }
  for (const name of NOT_PACKAGES[layer] ?? []) {
    patterns.push({ regex: `^@temporalio/${name}(/|$)`, message: `${layer}/ does not talk to @temporalio/${name}.` });
  }
  return patterns;
}

/** The import rules of a layer, for static and dynamic imports. */
function direction(layer, files, except = []) {
  const patterns = layerPatterns(layer).filter(({ regex }) => !except.includes(regex));
  const dynamic = patterns.map(({ regex, message }) => ({
    selector: `ImportExpression > Literal[value=/${regex.replaceAll('/', '\\/')}/]`,
    message,
  }));
  return {
    files,
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', { patterns }],
      'no-restricted-syntax': ['error', ...dynamic],
    },
  };
}

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.cache/', 'coverage/', 'test/fixtures/**/*.{js,cjs,mjs}'] },
  {
    files: ['**/*.{ts,mjs}'],
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 3],
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A field is left out by destructuring it; a name that starts with _ says so.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { ignoreRestSiblings: true, argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      // Text is bounded by code points on purpose: contract/text.ts.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // Dependencies are plain objects of functions; nothing of ours uses `this` but error classes.
      '@typescript-eslint/unbound-method': 'off',
      'no-control-regex': 'error',
      eqeqeq: 'error',
    },
  },
  ...Object.keys(MAY_IMPORT).map((layer) => direction(layer, [`${layer}/**/*.ts`])),
  // `perdure worker` is the worker's process.
  direction('cli', ['cli/worker.ts'], [outOf('workers')]),
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      // jest's asymmetric matchers are typed any.
      '@typescript-eslint/no-unsafe-assignment': 'off',
    },
  },
);
