// What a hook is written with: handlers by event, helpers for answers, and the two ways in which an agent runs the file:
// once per event (a command hook), or once per session (a worker, where HOOKWRIGHT_WORKER=1 says so).
// It depends on nothing, and decides nothing: what an answer means is the agent's business.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Generated from schemas/ (UPDATE_SCHEMAS=1 cargo test -p hookwright schemas): do not edit.
const EVENTS = {
  SessionStart: { also: [], defaults: {} },
  BeforeAgent: { also: ["UserPromptSubmit"], defaults: {} },
  PreCompress: { also: ["PreCompact"], defaults: {} },
  BeforeModel: { also: [], defaults: {"purpose":"answer"} },
  BeforeToolSelection: { also: [], defaults: {"purpose":"answer"} },
  AfterModel: { also: [], defaults: {"purpose":"answer","content":""} },
  BeforeTool: { also: ["PreToolUse"], defaults: {"tool_input":{},"requested_by":"model"} },
  Notification: { also: [], defaults: {"message":"","details":null,"requested_by":"model"} },
  AfterTool: { also: ["PostToolUse"], defaults: {"tool_input":{},"tool_response":null,"requested_by":"model"} },
  AfterAgent: { also: ["Stop","SubagentStop"], defaults: {"stop_hook_active":false} },
  SessionEnd: { also: [], defaults: {} },
};
// End of what is generated.

/** The names of all events. */
export const events = Object.freeze(Object.keys(EVENTS));

/** No objection. */
export const allow = () => ({ decision: "allow" });

/** No, and why. On AfterTool it hides the result, on AfterAgent it demands another answer. */
export const deny = (reason) => ({ decision: "deny", reason });

/** The user decides. */
export const ask = (reason) => ({ decision: "ask", reason });

/** The agent stops. */
export const stop = (reason) => ({ continue: false, stopReason: reason });

/** Words for the user. */
export const message = (text) => ({ systemMessage: text });

/** Words for the model. */
export const context = (text) => ({ hookSpecificOutput: { additionalContext: text } });

/** Arguments that are laid over the tool's own. */
export const rewrite = (toolInput) => ({ hookSpecificOutput: { tool_input: toolInput } });

/** What changes in the request to the model. */
export const request = (patch) => ({ hookSpecificOutput: { llm_request: patch } });

/** An answer, or a piece of one, in the place of the model's: its text, or a whole response. */
export const respond = (response) => ({
  hookSpecificOutput: {
    llm_response:
      typeof response === "string" ? { candidates: [{ content: { role: "model", parts: [response] } }] } : response,
  },
});

/** How the model may use tools: AUTO, ANY or NONE, and which. */
export const tools = (mode, names = []) => ({
  hookSpecificOutput: { toolConfig: { mode, allowedFunctionNames: names } },
});

/** A tool that runs next; its result takes the place of this one's. */
export const tailCall = (name, args = {}) => ({ hookSpecificOutput: { tailToolCallRequest: { name, args } } });

/** The model's memory is emptied. */
export const clearContext = () => ({ hookSpecificOutput: { clearContext: true } });

const STRENGTH = { allow: 0, approve: 0, ask: 1, deny: 2, block: 2 };
const MODES = ["AUTO", "ANY", "NONE"];

/** Several answers as one, as the agent would merge them: any stop wins, then any deny, then any ask. */
export function combine(...answers) {
  const all = answers.map((answer) => checked(answer));
  if (all.length < 2) return { ...all[0] };
  const specifics = all.map((answer) => answer.hookSpecificOutput ?? {});
  const merged = laidOver(all);
  const set = (target, name, value) => (value === undefined ? delete target[name] : (target[name] = value));
  const stops = all.filter((answer) => answer.continue === false);
  set(merged, "decision", strongest(all.map((answer) => answer.decision)));
  set(merged, "reason", lines(all.map((answer) => answer.reason)));
  set(merged, "continue", stops.length ? false : undefined);
  set(merged, "stopReason", lines(stops.map((answer) => answer.stopReason ?? answer.reason)));
  set(merged, "systemMessage", lines(all.map((answer) => answer.systemMessage)));
  set(merged, "suppressOutput", all.some((answer) => answer.suppressOutput === true) || undefined);
  const specific = laidOver(specifics);
  const values = (name) => specifics.map((each) => each[name]).filter((value) => value != null);
  set(specific, "additionalContext", lines(values("additionalContext")));
  for (const name of ["clearContext", "redact_input"]) set(specific, name, values(name).includes(true) || undefined);
  if (values("tool_input").length) specific.tool_input = laidOver(values("tool_input"));
  if (values("llm_request").length) specific.llm_request = values("llm_request").reduce(patched);
  if (values("toolConfig").length) specific.toolConfig = selected(values("toolConfig"));
  set(merged, "hookSpecificOutput", Object.keys(specific).length ? specific : undefined);
  return merged;
}

/** Later values over earlier ones, whatever their names are (`__proto__` is one). */
const laidOver = (layers) => layers.reduce((all, layer) => ({ ...all, ...layer }), {});

const strongest = (decisions) =>
  decisions.filter((word) => word != null).reduce((a, b) => (a !== undefined && STRENGTH[a] >= STRENGTH[b] ? a : b), undefined);

const lines = (texts) => texts.filter((text) => text != null && text !== "").join("\n") || undefined;

const patched = (request, patch) => {
  const config = request.config || patch.config ? { config: { ...request.config, ...patch.config } } : {};
  return { ...request, ...patch, ...config };
};

function selected(configs) {
  const mode = MODES[Math.max(0, ...configs.map((config) => MODES.indexOf(config.mode)))];
  const names = mode === "NONE" ? [] : configs.flatMap((config) => config.allowedFunctionNames ?? []);
  return { mode, allowedFunctionNames: [...new Set(names)].sort() };
}

/** A handler's answer, if it is one. What looks like a no and would not be heard as one is an error, never a yes. */
function checked(answer) {
  if (answer === undefined || answer === null) return {};
  if (typeof answer !== "object" || Array.isArray(answer)) {
    const kind = Array.isArray(answer) ? "array" : typeof answer;
    throw new TypeError(`a handler answers an object such as deny("why"), or nothing; this is a ${kind}`);
  }
  const { decision, continue: goesOn, hookSpecificOutput: specific } = answer;
  if (decision != null && !Object.hasOwn(STRENGTH, decision)) {
    throw new TypeError(`decision is one of ${Object.keys(STRENGTH).join(", ")}; this is ${shown(decision)}`);
  }
  if (goesOn != null && typeof goesOn !== "boolean") {
    throw new TypeError(`continue is true or false; this is ${shown(goesOn)}`);
  }
  if (specific != null && (typeof specific !== "object" || Array.isArray(specific))) {
    throw new TypeError(`hookSpecificOutput is an object; this is ${shown(specific)}`);
  }
  return answer;
}

const shown = (value) => {
  try {
    return String(JSON.stringify(value)).slice(0, 80);
  } catch {
    return typeof value;
  }
};

/** The event that somebody meant by a name that is none. */
export function suggest(name) {
  const foreign = events.find((event) => EVENTS[event].also.includes(name));
  if (foreign) return foreign;
  const near = events.map((event) => [distance(name.toLowerCase(), event.toLowerCase()), event]);
  const [[steps, event]] = near.sort(([a], [b]) => a - b);
  return steps <= event.length / 3 ? event : undefined;
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** The handlers of a program, and the program's end. There is one, however many copies of this file are loaded. */
class Hook {
  #handlers = new Map();
  #isWorker = process.env.HOOKWRIGHT_WORKER === "1";
  #print = undefined;
  #state = "idle";
  #awaited = [];
  #underWay = new Set();
  #kept = new Map();

  constructor() {
    // What this process starts is no worker because this process is one.
    delete process.env.HOOKWRIGHT_WORKER;
    if (this.#isWorker) this.#takeStdout();
  }

  /** Calls a function for every event of that name; several functions are asked in order. */
  on(event, handler) {
    if (!Object.hasOwn(EVENTS, event)) {
      const near = suggest(String(event));
      throw new Error(`there is no event ${shown(event)}${near ? `; did you mean ${near}?` : `, only ${events.join(", ")}`}`);
    }
    if (typeof handler !== "function") throw new TypeError(`the handler for ${event} is no function`);
    this.#handlers.set(event, [...(this.#handlers.get(event) ?? []), handler]);
    if (this.#state === "idle") {
      this.#state = "waiting";
      this.#takeStdout();
      process.on("exit", (code) => this.#leave(code));
      setImmediate(() => this.#start());
    }
    return this;
  }

  /** Serves nothing before this is settled: for those who register handlers later than their first file ends. */
  until(promise) {
    this.#awaited.push(promise);
  }

  /** Whether there is any handler. */
  get isUsed() {
    return this.#handlers.size > 0;
  }

  /** What the handlers answer to an input. */
  async fire(input) {
    const event = input?.hook_event_name;
    if (typeof event !== "string") throw new Error("the input names no event: it has no hook_event_name");
    const handlers = this.#handlers.get(event);
    if (!handlers) {
      const those = [...this.#handlers.keys()].join(", ");
      throw new Error(`was asked about ${event}, for which it has no handler (only for ${those || "nothing"})`);
    }
    for (const [field, value] of Object.entries(EVENTS[event].defaults)) {
      if (!Object.hasOwn(input, field)) input[field] = copy(value);
    }
    const answers = [];
    for (const handler of handlers) {
      const answer = checked(await handler(input));
      answers.push(answer);
      if (answer.continue === false || STRENGTH[answer.decision] === 2) break;
      advance(input, answer.hookSpecificOutput ?? {});
    }
    const answer = answers.length === 1 ? { ...answers[0] } : combine(...answers);
    if (answer.hookSpecificOutput) answer.hookSpecificOutput = { hookEventName: event, ...answer.hookSpecificOutput };
    return answer;
  }

  /** Leaves stdin and stdout alone: for programs that fire events themselves, such as tests. */
  manual() {
    this.#state = "manual";
    if (this.#print) process.stdout.write = this.#print;
  }

  /** From here on stdout is for answers; everybody else's words go to stderr. */
  #takeStdout() {
    if (this.#print) return;
    this.#print = process.stdout.write;
    process.stdout.write = (...args) => process.stderr.write(...args);
  }

  async #start() {
    if (this.#state === "manual") return;
    await mainHasRun();
    await Promise.allSettled(this.#awaited);
    process.stdout.on("error", (error) => {
      // Nobody reads answers any more.
      this.#state = "done";
      if (error.code !== "EPIPE") say(error);
      process.exit(this.#isWorker && error.code === "EPIPE" ? 0 : 1);
    });
    process.stderr.on("error", () => {});
    this.#state = "running";
    try {
      await (this.#isWorker ? this.#serve() : this.#once());
    } catch (error) {
      say(error);
      process.exit(1);
    }
    this.#state = "done";
    process.exit(0);
  }

  async #once() {
    const pieces = [];
    for await (const piece of process.stdin) pieces.push(piece);
    const text = `${JSON.stringify(await this.fire(parse(Buffer.concat(pieces))))}\n`;
    await new Promise((written) => this.#print.call(process.stdout, text, written));
  }

  async #serve() {
    let begun = [];
    const hear = (end) => {
      const line = begun.length ? Buffer.concat([...begun, end]) : end;
      begun = [];
      this.#hear(line);
    };
    const take = (piece) => {
      let from = 0;
      for (let at; (at = piece.indexOf(10, from)) >= 0; from = at + 1) hear(piece.subarray(from, at));
      if (from < piece.length) begun.push(piece.subarray(from));
    };
    // Not `for await`, which takes several turns of the event loop for each piece.
    await new Promise((ended, failed) => process.stdin.on("data", take).on("end", ended).on("error", failed));
    hear(Buffer.alloc(0));
    await Promise.all(this.#underWay);
    await new Promise((written) => this.#print.call(process.stdout, "", written));
  }

  /** One line of the agent's. */
  #hear(line) {
    let heard;
    try {
      if (line.every((byte) => byte === 13 || byte === 32 || byte === 9)) return;
      heard = parse(line);
      if (!Number.isInteger(heard.id)) throw new Error("it has no id");
    } catch (error) {
      say(new Error(`a line on stdin is no request: ${error.message}`));
      return;
    }
    if (heard.hello !== undefined) {
      const wanted = heard.hello?.features;
      this.#tell({ id: heard.id, features: Array.isArray(wanted) && wanted.includes("refs") ? ["refs"] : [] });
      return;
    }
    const done = this.#reply(heard).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  async #reply(heard) {
    try {
      // Before anything is waited for: what is kept is so in the order of the lines.
      const input = this.#whole(heard);
      this.#tell({ id: heard.id, output: await this.fire(input) });
    } catch (error) {
      say(error);
      this.#tell({ id: heard.id, error: worded(error).slice(0, 2000) });
    }
  }

  /** The input with the fields that were sent earlier. */
  #whole({ input, keep = {}, kept = {}, grow = {} }) {
    if (!isObject(input)) throw new Error("the request has no input");
    for (const [field, number] of Object.entries(keep)) {
      if (!Object.hasOwn(input, field)) throw new Error(`the request keeps ${field}, which it does not have`);
      this.#kept.set(number, input[field]);
      lend(input, field, input[field]);
    }
    for (const [field, [number, more]] of Object.entries(grow)) {
      const text = this.#kept.get(number);
      if (typeof text !== "string" || typeof more !== "string") throw new Error(`no text is kept under ${number}`);
      this.#kept.set(number, text + more);
      lend(input, field, text + more);
    }
    for (const [field, number] of Object.entries(kept)) {
      if (!this.#kept.has(number)) throw new Error(`nothing is kept under ${number}`);
      lend(input, field, this.#kept.get(number));
    }
    return input;
  }

  #tell(words) {
    let line = JSON.stringify(words);
    // The agent takes longer lines for garbage, and would end this process for one.
    if (Buffer.byteLength(line) > LONGEST_ANSWER) {
      line = JSON.stringify({ id: words.id, error: `the answer is longer than ${LONGEST_ANSWER} bytes` });
    }
    this.#print.call(process.stdout, `${line}\n`);
  }

  /** Whoever leaves without an answer has failed: nothing on stdout and exit code 0 would be a yes. */
  #leave(code) {
    const owes = this.#isWorker ? this.#underWay.size > 0 : this.#state !== "done";
    if (this.#state === "manual" || code !== 0 || !owes) return;
    say(new Error("the program ended before its handler had answered"));
    process.exitCode = 1;
  }
}

const LONGEST_ANSWER = 1024 * 1024;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Takes a byte order mark off, and nothing in place of bytes that are no text: a guard must see what the agent means.
const UTF8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes) {
  const value = JSON.parse(UTF8.decode(bytes));
  if (!isObject(value)) throw new Error("it is no JSON object");
  return value;
}

/** Gives an input a field whose value belongs to others: it is copied when somebody looks. */
function lend(input, field, value) {
  const set = (own) => Object.defineProperty(input, field, { value: own, writable: true, enumerable: true, configurable: true });
  if (typeof value !== "object" || value === null) {
    if (field === "__proto__") set(value);
    else input[field] = value;
    return;
  }
  const get = () => set(copy(value))[field];
  Object.defineProperty(input, field, { get, set, enumerable: true, configurable: true });
}

/** JSON copied node by node; texts, which are what is large, are shared. */
function copy(value) {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]));
}

/** What a handler changed, as those after it see it. */
function advance(input, specific) {
  if (isObject(specific.tool_input)) input.tool_input = { ...input.tool_input, ...specific.tool_input };
  if (isObject(specific.llm_request)) input.llm_request = patched(input.llm_request, specific.llm_request);
  if (specific.additionalContext && typeof input.prompt === "string") input.prompt += `\n\n${specific.additionalContext}`;
}

/** Waits until the program's first file has run to its end, whatever that awaits: its last handler may be its strictest. */
async function mainHasRun() {
  const main = process.argv[1];
  // CommonJS awaits nothing at its top level.
  if (!main || process.mainModule) return;
  try {
    await import(pathToFileURL(createRequire(import.meta.url).resolve(main)).href);
  } catch {
    // It failed, and node says so; or it is no file.
  }
}

function worded(error) {
  try {
    return String(error?.message ?? error) || String(error);
  } catch {
    return "something that can't be put into words";
  }
}

/** What went wrong, on stderr; the words last, because that is what agents show of it. */
export function say(error) {
  const stack = typeof error?.stack === "string" ? error.stack.split("\n") : [];
  const theirs = stack.filter((line) => /^ +at /.test(line) && !line.includes(import.meta.url) && !/\(?node:/.test(line));
  process.stderr.write([...theirs.slice(0, 4), `hookwright-hook: ${worded(error)}`, ""].join("\n"));
}

const PLACE = Symbol.for("hookwright-hook");

/** The program's handlers. They are served as soon as the program's first file has run to its end. */
export const hook = (globalThis[PLACE] ??= new Hook());
