const transform = { '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' } }] };
const base = { testEnvironment: 'node', transform, rootDir: __dirname };

/** @type {import('jest').Config} */
module.exports = {
  // Bounds a wait that would never end; a busy machine needs several times what a quiet one does.
  testTimeout: 180_000,
  maxWorkers: 2,
  projects: [{ ...base, displayName: 'tests', testMatch: ['<rootDir>/test/**/*.test.ts'] }],
};
