// Fetches the program for this platform and unpacks it here, if it is the one that was released. Needs tar, which every
// supported platform has.
'use strict';
const { createHash } = require('node:crypto');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const TARGETS = {
  'darwin arm64': 'aarch64-apple-darwin',
  'darwin x64': 'x86_64-apple-darwin',
  'linux arm64': 'aarch64-unknown-linux-gnu',
  'linux x64': 'x86_64-unknown-linux-gnu',
  'win32 x64': 'x86_64-pc-windows-msvc',
};

async function main() {
  const { base, archives } = require('./releases.json');
  const archive = archives[TARGETS[`${process.platform} ${process.arch}`]];
  if (!archive) throw new Error(`there is no build for ${process.platform} on ${process.arch}`);
  const answer = await fetch(`${base}/${archive.name}`);
  if (!answer.ok) throw new Error(`${base}/${archive.name}: ${answer.status} ${answer.statusText}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== archive.sha256) throw new Error(`${archive.name} is not what was released: its SHA-256 is ${sha256}`);
  const file = path.join(__dirname, archive.name);
  fs.writeFileSync(file, bytes);
  fs.mkdirSync(path.join(__dirname, 'bin'), { recursive: true });
  execFileSync('tar', ['-xf', file, '-C', path.join(__dirname, 'bin'), '--strip-components=1']);
  fs.unlinkSync(file);
}

main().catch((error) => {
  console.error(`hookwright could not be installed: ${error.message}`);
  process.exit(1);
});
