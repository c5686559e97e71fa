import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCodex } from '../../client/provider-check';

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
