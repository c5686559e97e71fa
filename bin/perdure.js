#!/usr/bin/env node
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const entry = join(__dirname, '..', 'dist', 'cli', 'main.js');
if (existsSync(entry)) {
  require(entry);
} else {
  process.stderr.write('perdure: it is not built yet; run `npm run setup` in the clone\n');
  process.exitCode = 1;
}
