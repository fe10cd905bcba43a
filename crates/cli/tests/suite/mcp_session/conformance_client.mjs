// The client that the protocol's conformance suite runs: signs in where that is wanted, then has a session call the tool.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'));
const project = path.join(home, 'project');
const replay = path.join(home, 'replay.jsonl');

const TOOLS = {
  tools_call: ['add_numbers', { a: 5, b: 3 }],
  'sse-retry': ['test_reconnection', {}],
  'elicitation-sep1034-client-defaults': ['test_client_elicitation_defaults', {}],
};
const [tool, args] = TOOLS[scenario] ?? ['test-tool', {}];

const server = { httpUrl: url, timeout: 15000 };
if (context.client_id) server.oauth = { clientId: context.client_id, clientSecret: context.client_secret };
// The document that the suite knows: a client that is named by an address is named in the settings.
if (scenario === 'auth/basic-cimd') server.oauth = { clientId: 'https://conformance-test.local/client-metadata.json' };

const answer = (parts) =>
  JSON.stringify({ method: 'generateContentStream', response: [{ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }] });
fs.mkdirSync(path.join(home, '.gemini'), { recursive: true });
fs.mkdirSync(project);
fs.writeFileSync(path.join(home, '.gemini/settings.json'), JSON.stringify({ mcpServers: { conf: server } }));
fs.writeFileSync(replay, `${answer([{ functionCall: { name: `mcp__conf__${tool}`, args } }])}\n${answer([{ text: 'done' }])}\n`);

function hookwright(words, line = () => {}) {
  const env = { ...process.env, HOME: home, GEMINI_CLI_HOME: home, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const child = spawn(process.env.HOOKWRIGHT_PROGRAM, words, { cwd: project, env, stdio: ['ignore', 'inherit', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece) => {
    process.stderr.write(piece);
    const lines = (said + piece).split('\n');
    said = lines.pop();
    lines.forEach((text) => line(text.trim()));
  });
  return new Promise((done) => child.on('close', done));
}

// The browser: it goes where it is sent.
const signIn = () => hookwright(['mcp', 'auth', 'conf'], (line) => line.startsWith('http') && fetch(line).catch(() => {}));
const session = () => hookwright(['-p', 'go', '--fake-responses', replay, '--approval-mode=yolo']);

let code = scenario.startsWith('auth/') ? await signIn() : 0;
if (code === 0) await session();
if (code === 0 && scenario === 'auth/scope-step-up') {
  code = await signIn();
  await session();
}
fs.rmSync(home, { recursive: true, force: true });
process.exit(code);
