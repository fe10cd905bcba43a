// What a hook is written with: handlers by event, helpers for answers, and the two ways in which an agent runs the file:
// once per event (a command hook), or once per session (a worker, where HOOKWRIGHT_WORKER=1 says so).
// It depends on nothing, and decides nothing: what an answer means is the agent's business.

import * as buffers from "node:buffer";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { pathToFileURL } from "node:url";

// Generated from schemas/ (cargo run -p xtask -- generate): do not edit.
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

// Others that run the same programs have streams of their own.
const IS_NODE = !process.versions.bun && !process.versions.deno;

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
    const kind = Array.isArray(answer) ? "an array" : `a ${typeof answer}`;
    throw new TypeError(`a handler answers an object such as deny("why"), or nothing; this is ${kind}`);
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
  #writesAtOnce = IS_NODE && process.platform !== "win32";
  #state = "idle";
  #awaited = [];
  #underWay = new Set();
  #isAsking = false;
  #wasAsked = false;
  #wasMisled = false;
  #ready = [];
  #kept = new Map();

  constructor() {
    // What this process starts is no worker because this process is one.
    delete process.env.HOOKWRIGHT_WORKER;
    if (this.#isWorker) this.#takeStdout();
    // When nobody is left who could register a handler.
    process.once("beforeExit", () => this.#seeToExports());
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
    return this.#ask(input);
  }

  /** The same; a promise only where a handler gave one: waiting for what is there takes longer than most handlers do. */
  #ask(input) {
    const event = input?.hook_event_name;
    if (typeof event !== "string") throw new Error("the input names no event: it has no hook_event_name");
    const handlers = this.#handlers.get(event);
    if (!handlers) {
      const those = [...this.#handlers.keys()].join(", ");
      throw new Error(`was asked about ${event}, for which it has no handler (only for ${those || "nothing"})`);
    }
    const { defaults } = EVENTS[event];
    for (const field of Object.keys(defaults)) {
      if (!Object.hasOwn(input, field)) input[field] = copy(defaults[field]);
    }
    // By a name of its own: `this` would be the list otherwise, and a method that lost its object would not notice.
    const [handler] = handlers;
    const first = handler(input);
    return handlers.length === 1 && !isPromise(first) ? named(event, checked(first)) : this.#askAll(event, input, handlers, first);
  }

  async #askAll(event, input, handlers, first) {
    const answers = [];
    for (const [at, handler] of handlers.entries()) {
      const answer = checked(await (at === 0 ? first : handler(input)));
      answers.push(answer);
      if (answer.continue === false || STRENGTH[answer.decision] === 2) break;
      advance(input, answer.hookSpecificOutput ?? {});
    }
    return named(event, answers.length === 1 ? answers[0] : combine(...answers));
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

  /** A plugin's exports are nobody's handlers where an agent runs its file by itself, and nothing on stdout would be a yes. */
  async #seeToExports() {
    const isHook = process.env.GEMINI_SESSION_ID !== undefined || process.env.GEMINI_PROJECT_DIR !== undefined;
    if (this.#state !== "idle" || !isHook) return;
    const main = (await mainHasRun()) ?? {};
    const names = [main, main.default].flatMap((group) => (isObject(group) ? namesIn(group) : []));
    const event = names.find((name) => Object.hasOwn(EVENTS, name));
    if (this.#state !== "idle" || !event) return;
    say(new Error(`the file exports ${event}, as a plugin does: use it as "package" with "type": "plugin", or call hook.on`));
    process.exitCode = 1;
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
    await rejectionsAreKnown();
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
      // Whoever hands out pieces may use their memory again.
      if (from < piece.length) begun.push(Buffer.from(piece.subarray(from)));
    };
    await new Promise((ended, failed) => listen(take).on("end", ended).on("error", failed));
    hear(Buffer.alloc(0));
    await Promise.all(this.#underWay);
    if (this.#wasMisled && !this.#wasAsked) throw new Error(NO_REQUEST);
    await rejectionsAreKnown();
    await new Promise((written) => this.#print.call(process.stdout, "", written));
  }

  /** One line of the agent's. */
  #hear(line) {
    let heard;
    try {
      if (line[0] !== 123 && line.every((byte) => byte === 13 || byte === 32 || byte === 9)) return;
      heard = parse(line);
      if (!Number.isInteger(heard.id)) throw new Error("it has no id");
    } catch (error) {
      say(new Error(`a line on stdin is no request: ${error.message}`));
      this.#wasMisled = true;
      return;
    }
    this.#wasAsked = true;
    if (heard.hello !== undefined) {
      const wanted = heard.hello?.features;
      this.#tell({ id: heard.id, features: Array.isArray(wanted) && wanted.includes("refs") ? ["refs"] : [] });
      return;
    }
    const { id } = heard;
    try {
      this.#isAsking = true;
      // Before anything is waited for: what is kept is so in the order of the lines.
      const answer = this.#ask(this.#whole(heard));
      this.#isAsking = false;
      if (!isPromise(answer)) return this.#tell({ id, output: answer });
      const told = answer.then((output) => this.#tell({ id, output }));
      const done = told.catch((error) => this.#fail(id, error)).finally(() => this.#underWay.delete(done));
      this.#underWay.add(done);
    } catch (error) {
      this.#isAsking = false;
      this.#fail(id, error);
    }
  }

  #fail(id, error) {
    say(error);
    this.#tell({ id, error: worded(error).slice(0, 2000) });
  }

  /** The input with the fields that were sent earlier. */
  #whole({ input, keep = {}, kept = {}, grow = {} }) {
    if (!isObject(input)) throw new Error("the request has no input");
    for (const field of Object.keys(keep)) {
      if (!Object.hasOwn(input, field)) throw new Error(`the request keeps ${field}, which it does not have`);
      const lent = new Lent(field, input[field]);
      this.#kept.set(keep[field], lent);
      lent.to(input);
    }
    for (const field of Object.keys(grow)) {
      const [number, more] = grow[field];
      const text = this.#kept.get(number)?.value;
      if (typeof text !== "string" || typeof more !== "string") throw new Error(`no text is kept under ${number}`);
      const lent = new Lent(field, text + more);
      this.#kept.set(number, lent);
      lent.to(input);
    }
    for (const field of Object.keys(kept)) {
      const lent = this.#kept.get(kept[field]);
      if (!lent) throw new Error(`nothing is kept under ${kept[field]}`);
      (lent.field === field ? lent : new Lent(field, lent.value)).to(input);
    }
    return input;
  }

  #tell(words) {
    let line = JSON.stringify(words);
    // The agent takes longer lines for garbage, and would end this process for one.
    if (line.length * 3 > LONGEST_ANSWER && Buffer.byteLength(line) > LONGEST_ANSWER) {
      line = JSON.stringify({ id: words.id, error: `the answer is longer than ${LONGEST_ANSWER} bytes` });
    }
    // Whoever forgot an `await` has checked nothing: no yes goes out before it is known that nothing was rejected. A no does, before
    // anything can happen to this process.
    if (isNo(words)) this.#write(`${line}\n`);
    else if (this.#ready.push(`${line}\n`) === 1) setImmediate(() => this.#ready.splice(0).forEach((ready) => this.#write(ready)));
  }

  /** Straight to the agent, which takes a third of the time that a stream takes; through the stream where nobody reads fast
   * enough, and for as long as it has not written all that it was given. */
  #write(line) {
    const { stdout } = process;
    let rest = line;
    if (this.#writesAtOnce && stdout.writableLength === 0) {
      try {
        const written = writeSync(1, line);
        if (written === Buffer.byteLength(line)) return;
        rest = Buffer.from(line).subarray(written);
      } catch (error) {
        if (error.code !== "EAGAIN") {
          stdout.destroy(error);
          return;
        }
      }
    }
    this.#print.call(stdout, rest);
  }

  /** Whoever leaves without an answer has failed: nothing on stdout and exit code 0 would be a yes. */
  #leave(code) {
    const owes = this.#isWorker ? this.#isAsking || this.#underWay.size > 0 || this.#ready.length > 0 : this.#state !== "done";
    if (this.#state === "manual" || code !== 0 || !owes) return;
    say(new Error("the program ended before its handler had answered"));
    process.exitCode = 1;
  }
}

const LONGEST_ANSWER = 1024 * 1024;
const NO_REQUEST = "nothing on stdin was a request: is HOOKWRIGHT_WORKER set for a hook that is no worker?";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const isNo = ({ error, output }) => error !== undefined || output?.continue === false || STRENGTH[output?.decision] === 2;

const isPromise = (value) => typeof value?.then === "function";

/** Waits until node has seen to every promise that was rejected by now: where nobody awaits one, that ends the program. */
const rejectionsAreKnown = () => new Promise((known) => setImmediate(known));

/** An answer of one's own, with the event that its specific part is about. */
function named(event, answer) {
  const own = { ...answer };
  if (own.hookSpecificOutput) own.hookSpecificOutput = { hookEventName: event, ...own.hookSpecificOutput };
  return own;
}

/** Has the pieces of stdin taken as they come. */
function listen(take) {
  // The streams of node take twice as long for a line as all of this library, and `for await` several turns of the event loop.
  const onread = { buffer: Buffer.allocUnsafe(256 * 1024), callback: (count, buffer) => (take(buffer.subarray(0, count)), true) };
  let stdin;
  try {
    stdin = IS_NODE && new Socket({ fd: 0, readable: true, writable: false, onread });
  } catch {
    // It is a file, or nothing at all, or somebody's already.
  }
  // Node would open it a second time for whoever looks at it next, which fails; the first import of `node:process` does.
  if (stdin) Object.defineProperty(process, "stdin", { value: stdin, configurable: true, enumerable: true });
  return (stdin || process.stdin).on("data", take);
}

// Takes a byte order mark off, and nothing in place of bytes that are no text: a guard must see what the agent means.
const UTF8 = new TextDecoder("utf-8", { fatal: true });
const isPlain = (bytes) => bytes[0] === 123 && buffers.isUtf8?.(bytes);

function parse(bytes) {
  const value = JSON.parse(isPlain(bytes) ? bytes.toString() : UTF8.decode(bytes));
  if (!isObject(value)) throw new Error("it is no JSON object");
  return value;
}

/** A field whose value belongs to others: it is copied when somebody looks. */
class Lent {
  constructor(field, value) {
    this.field = field;
    this.value = value;
    if (typeof value !== "object" || value === null) {
      this.property = field === "__proto__" ? property(value) : undefined;
    } else {
      // One pair of functions for all inputs that it is lent to, so that these are alike to node.
      const get = function () {
        return Object.defineProperty(this, field, property(copy(value)))[field];
      };
      const set = function (own) {
        Object.defineProperty(this, field, property(own));
      };
      this.property = { get, set, enumerable: true, configurable: true };
    }
  }

  to(input) {
    if (this.property) Object.defineProperty(input, this.field, this.property);
    else input[this.field] = this.value;
  }
}

const property = (value) => ({ value, writable: true, enumerable: true, configurable: true });

/** JSON copied node by node; texts, which are what is large, are shared. */
function copy(value) {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]));
}

/** All names that something answers to, those of an object's class too. */
export function namesIn(group) {
  const names = new Set();
  for (let at = group; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return [...names];
}

/** What a handler changed, as those after it see it. */
function advance(input, specific) {
  if (isObject(specific.tool_input)) input.tool_input = { ...input.tool_input, ...specific.tool_input };
  if (isObject(specific.llm_request)) input.llm_request = patched(input.llm_request, specific.llm_request);
  if (specific.additionalContext && typeof input.prompt === "string") input.prompt += `\n\n${specific.additionalContext}`;
}

/** Waits until the program's first file has run to its end, whatever that awaits: its last handler may be its strictest. What
 * the file exports, if that can be told. */
async function mainHasRun() {
  // A program that was given as text has no file: what is behind it are its arguments.
  const main = process.execArgv.some((word) => /^(-e|-p|-pe|--eval|--print)/.test(word)) ? undefined : process.argv[1];
  // CommonJS awaits nothing at its top level.
  if (!main || process.mainModule) return process.mainModule?.exports;
  try {
    return await import(pathToFileURL(createRequire(import.meta.url).resolve(main)).href);
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
