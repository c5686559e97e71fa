import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCodex, isTooOld } from '../../client/provider-check';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-bin-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('findCodex', () => {
  it('prefers the program that PERDURE_CODEX_BIN names', () => {
    const path = join(root, 'codex');
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
    expect(findCodex({ PERDURE_CODEX_BIN: path, PATH: '' })).toEqual({ path, source: 'PERDURE_CODEX_BIN' });
  });

  it.each([
    ['that is missing', () => join(root, 'nothing')],
    ['that is a directory', () => root],
    ['that is not absolute', () => 'codex'],
    [
      'that is not executable',
      () => {
        writeFileSync(join(root, 'plain'), '', { mode: 0o644 });
        return join(root, 'plain');
      },
    ],
  ])('refuses a named program %s instead of taking another', (_, path) => {
    const find = () => findCodex({ PERDURE_CODEX_BIN: path(), PATH: process.env['PATH'] });
    expect(find).toThrow(/PERDURE_CODEX_BIN names .* no absolute path of a program/);
  });
});

describe('a version of Codex (P28)', () => {
  it.each([
    ['codex-cli 0.149.0', true],
    ['codex-cli 0.99.12', true],
    ['codex-cli 0.149.1', false],
    ['codex-cli 0.150.0-alpha.1', false],
    ['codex-cli 1.0.0', false],
    ['a wrapper', false],
  ])('%s is too old: %s', (printed, expected) => {
    expect(isTooOld(`${printed}\n`)).toBe(expected);
  });
});
