#!/usr/bin/env node
// Runs the program that install.js fetches: when the package is installed, or now where such scripts are not run.
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const program = path.join(__dirname, 'bin', process.platform === 'win32' ? 'hookwright.exe' : 'hookwright');
if (!fs.existsSync(program)) {
  const install = spawnSync(process.execPath, [path.join(__dirname, 'install.js')], { stdio: ['ignore', 2, 2] });
  if (install.status !== 0) process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// Ctrl-C reaches the program by itself, which decides what it means.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`hookwright cannot be started: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + require('node:os').constants.signals[signal] : code));
