#!/usr/bin/env node
// audit-log: one JSON line per tool call and session, appended to a file.
//
// Events    SessionStart, SessionEnd, BeforeTool, AfterTool.
// Settings  AUDIT_LOG      the file; a relative path counts from the project (default .gemini/audit.jsonl)
//           AUDIT_LOG_MAX  longest text kept of an argument or result, in characters (default 500; 0 keeps none)
// Answers   {"suppressOutput": true}: what is in this log need not be in the others too. Exit 1 if the line can't be
//           written: a warning, or with "onError": "block" on BeforeTool no tool runs unlogged.
// The file is opened for appending and each line is one write, so that sessions can share it. It is readable by its
// owner alone: arguments may hold anything. Add it to .gitignore.

import fs from "node:fs";
import path from "node:path";

const limit = /^\d+$/.test(process.env.AUDIT_LOG_MAX ?? "") ? Number(process.env.AUDIT_LOG_MAX) : 500;

/** A value with every long text in it cut short. */
function shorten(value, depth = 0) {
  if (typeof value === "string") {
    const chars = [...value.slice(0, limit + 2)];
    return chars.length <= limit ? value : `${chars.slice(0, limit).join("")}… (${value.length} characters)`;
  }
  if (value === null || typeof value !== "object") return value;
  if (depth > 5) return "…";
  if (Array.isArray(value)) {
    const kept = value.slice(0, 20).map((item) => shorten(item, depth + 1));
    return value.length > 20 ? [...kept, `… (${value.length} items)`] : kept;
  }
  return Object.fromEntries(Object.entries(value).slice(0, 50).map(([key, item]) => [key, shorten(item, depth + 1)]));
}

/** What is worth keeping of an event. */
function record(input) {
  const line = { time: input.timestamp, session: input.session_id, event: input.hook_event_name };
  switch (input.hook_event_name) {
    case "SessionStart":
      return { ...line, source: input.source, cwd: input.cwd };
    case "SessionEnd":
      return { ...line, reason: input.reason };
    case "BeforeTool":
      return { ...line, tool: input.tool_name, args: shorten(input.tool_input) };
    case "AfterTool": {
      const response = input.tool_response ?? {};
      return { ...line, tool: input.tool_name, ok: !response.error, result: shorten(response.error ?? response.llmContent ?? response) };
    }
    default:
      return { ...line, ...shorten(input) };
  }
}

/** Makes a folder and those above it. (node's own recursive way never comes back from places such as /proc.) */
function makeFolder(folder) {
  if (fs.existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  try {
    fs.mkdirSync(folder);
  } catch (error) {
    if (error.code !== "EEXIST") throw error; // another session was quicker
  }
}

try {
  const input = JSON.parse(fs.readFileSync(0, "utf8"));
  if (input === null || typeof input !== "object" || typeof input.hook_event_name !== "string") {
    throw new Error("the input is not the JSON of an event");
  }
  const root = process.env.GEMINI_PROJECT_DIR || input.cwd || process.cwd();
  const file = path.resolve(root, process.env.AUDIT_LOG || path.join(".gemini", "audit.jsonl"));
  makeFolder(path.dirname(file));
  const log = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_APPEND | fs.constants.O_CREAT, 0o600);
  const line = Buffer.from(`${JSON.stringify(record(input))}\n`);
  const written = fs.writeSync(log, line);
  fs.closeSync(log);
  if (written !== line.length) throw new Error(`only ${written} of ${line.length} bytes could be written to ${file}`);
  console.log('{"suppressOutput": true}');
} catch (error) {
  console.error(`audit-log: ${error.message}`);
  process.exitCode = 1;
}
