// A server of the Model Context Protocol on stdin and stdout: one JSON-RPC message a line. It needs nothing but Node.
const readline = require('node:readline');

const tools = [
  {
    name: 'count_words',
    description: 'Counts the words of a text.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  },
];

function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: '@NAME@', version: '0.1.0' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools };
    case 'tools/call': {
      if (params?.name !== 'count_words') throw { code: -32602, message: `no tool is called ${params?.name}` };
      const words = String(params.arguments?.text ?? '').split(/\s+/).filter(Boolean);
      return { content: [{ type: 'text', text: String(words.length) }] };
    }
    default:
      throw { code: -32601, message: `no method is called ${method}` };
  }
}

function reply(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'this is no JSON' } };
  }
  // What has no id wants no answer.
  if (message.id === undefined) return undefined;
  try {
    return { jsonrpc: '2.0', id: message.id, result: answer(message) };
  } catch (error) {
    return { jsonrpc: '2.0', id: message.id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

module.exports = { reply };

if (require.main === module) {
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const said = line.trim() && reply(line);
    if (said) process.stdout.write(`${JSON.stringify(said)}\n`);
  });
}
