// Run with: node --test
const test = require('node:test');
const assert = require('node:assert');
const { reply } = require('./server.js');

const ask = (method, params) => reply(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));

test('it says which tools it has', () => {
  assert.deepStrictEqual(ask('tools/list').result.tools.map((tool) => tool.name), ['count_words']);
});

test('it counts words', () => {
  const said = ask('tools/call', { name: 'count_words', arguments: { text: ' one two\nthree ' } });
  assert.strictEqual(said.result.content[0].text, '3');
});

test('it refuses what it does not know', () => {
  assert.strictEqual(ask('tools/call', { name: 'other' }).error.code, -32602);
  assert.strictEqual(ask('nonsense').error.code, -32601);
  assert.strictEqual(reply('nonsense').error.code, -32700);
});
