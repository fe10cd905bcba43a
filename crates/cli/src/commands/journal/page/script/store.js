// Keeps the journal's lines: the text of each one where it lies, and typed columns with what lists and filters need. A
// line is parsed once for the columns and again when it is shown; its object is not kept.

const VERDICTS = ["none", "pass", "allow", "confine", "ask", "deny", "stop"];
const VERDICT_CODES = new Map(VERDICTS.map((word, code) => [word, code]));
// The words of other answer formats.
const DECISION_CODES = new Map([...VERDICT_CODES, ["block", 5], ["approve", 2], ["continue", 1]]);
const [NONE, PASS, ALLOW, CONFINE, ASK, DENY, STOP] = VERDICTS.keys();

const KINDS = ["event", "call", "request", "seal", "gap", "start", "forgot", "other", "unreadable"];
const [EVENT, CALL, REQUEST, SEAL, GAP, START, FORGOT, OTHER, UNREADABLE] = KINDS.keys();

const EFFECTS = [
  "commands",
  "reads",
  "writes",
  "deletes",
  "network",
  "repository",
  "services",
  "processes",
  "privileged",
  "flows",
];
const UNSURE_BIT = 1 << EFFECTS.length;

const GUARD = 1,
  SHADOW = 2,
  FAILED = 4,
  BACKGROUND = 8;
const LOST = 1,
  CHANGED = 2,
  UNARMED = 4,
  WITHHELD = 8,
  SHADOW_REFUSAL = 16,
  REFUSED = 32,
  PROBLEM = 64;

// A session without turns is cut where it was silent for so long.
const SILENCE_MS = 30 * 60_000;
const PARSED_LINES = 400;
const MAX_LINES_OF_CALL = 40;

/** A typed array that grows. */
class Column {
  constructor(Type) {
    this.values = new Type(1024);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.values.length) {
      const grown = new this.values.constructor(this.length * 2);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length++] = value;
  }
}

/** Numbers for names. */
class Names {
  constructor() {
    this.ids = new Map();
    this.names = [];
    this.counts = [];
  }

  id(name) {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = this.names.length;
      this.ids.set(name, id);
      this.names.push(name);
      this.counts.push(0);
    }
    return id;
  }

  count(name) {
    const id = this.id(name);
    this.counts[id] += 1;
    return id;
  }
}

class LineStore {
  constructor() {
    this.blocks = [];
    this.length = 0;
    this.agents = new Names();
    this.events = new Names();
    this.hooks = new Names();
    this.calls = new Names();
    this.verdictCounts = VERDICTS.map(() => 0);
    this.turns = [];
    this.turnIds = new Map();
    this.rows = {};
    const types = {
      block: Uint32Array,
      from: Uint32Array,
      to: Uint32Array,
      seq: Float64Array,
      time: Float64Array,
      ms: Float64Array,
      kind: Uint8Array,
      verdict: Uint8Array,
      flags: Uint8Array,
      agent: Uint32Array,
      event: Uint32Array,
      effects: Uint16Array,
      call: Int32Array,
      nextOfCall: Int32Array,
      turn: Uint32Array,
      nextOfTurn: Int32Array,
      runs: Uint32Array,
      runCount: Uint16Array,
    };
    for (const [name, type] of Object.entries(types)) this.rows[name] = new Column(type);
    this.runs = {
      hook: new Column(Uint32Array),
      decision: new Column(Uint8Array),
      flags: new Column(Uint8Array),
      ms: new Column(Float32Array),
    };
    this.lastOfCall = new Column(Int32Array);
    this.firstOfCall = new Column(Int32Array);
    this.parsed = new Map();
  }

  /** Adds lines that stand in a text, one per line of it, with or without a comma at the end; yields after each. */
  *addText(text) {
    const block = this.blocks.push(text) - 1;
    let from = 0;
    while (from < text.length) {
      let to = text.indexOf("\n", from);
      if (to < 0) to = text.length;
      const next = to + 1;
      if (text.charCodeAt(to - 1) === 0x2c) to -= 1;
      if (to > from) this.addLine(block, from, to);
      from = next;
      yield;
    }
  }

  addLine(block, from, to) {
    const line = parseLine(this.blocks[block].slice(from, to));
    const { rows } = this;
    const row = this.length++;
    const kind = lineKind(line);
    const content = asObject(line.content);
    const seq = asSeq(line.seq);
    const time = Date.parse(asText(line.time));
    rows.block.push(block);
    rows.from.push(from);
    rows.to.push(to);
    rows.seq.push(seq ?? -1);
    rows.time.push(time);
    rows.ms.push(asDuration(line.ms));
    rows.kind.push(kind);
    rows.agent.push(this.agents.count(asText(line.agent)));
    rows.event.push(this.events.count(eventName(line, kind)));
    rows.effects.push(effectBits(content.effects));
    this.addRuns(line);
    const verdict = kind === EVENT ? (VERDICT_CODES.get(line.verdict) ?? NONE) : NONE;
    this.verdictCounts[verdict] += 1;
    rows.verdict.push(verdict);
    rows.flags.push(this.lineFlags(row, line, kind, content));
    this.addToCall(row, line);
    this.addToTurn(row, line, kind, time);
  }

  addRuns(line) {
    const runs = asList(line.hooks).slice(0, 0xffff);
    this.rows.runs.push(this.runs.hook.length);
    this.rows.runCount.push(runs.length);
    for (const value of runs) {
      const run = asObject(value);
      const failed = typeof run.failure === "string" || isFailedStatus(run.status);
      const flags =
        (run.guard === true ? GUARD : 0) |
        (run.mode === "shadow" ? SHADOW : 0) |
        (failed ? FAILED : 0) |
        (run.background === true ? BACKGROUND : 0);
      this.runs.hook.push(this.hooks.count(asText(run.hook)));
      this.runs.decision.push(DECISION_CODES.get(run.decision) ?? NONE);
      this.runs.flags.push(flags);
      this.runs.ms.push(asDuration(run.ms));
    }
  }

  lineFlags(row, line, kind, content) {
    let flags = 0;
    if (asList(line.lost).length) flags |= LOST;
    if (Object.keys(asObject(content.changes)).length) flags |= CHANGED;
    if (asList(line.unarmed).length) flags |= UNARMED;
    if (line.withheld) flags |= WITHHELD;
    if (kind === GAP || kind === UNREADABLE || asText(line.error) || asText(content.error)) flags |= PROBLEM;
    if (line.result === "refused") flags |= REFUSED;
    this.eachRun(row, (run) => {
      const isShadow = this.runs.flags.values[run] & SHADOW;
      if (isShadow && this.runs.decision.values[run] >= ASK) flags |= SHADOW_REFUSAL;
    });
    return flags;
  }

  /** Links lines about the same call of the same session. */
  addToCall(row, line) {
    this.rows.nextOfCall.push(-1);
    const name = asText(line.call);
    if (!name) {
      this.rows.call.push(-1);
      return;
    }
    const call = this.calls.id(`${asText(line.session)}\n${name}`);
    this.rows.call.push(call);
    if (call === this.firstOfCall.length) {
      this.firstOfCall.push(row);
      this.lastOfCall.push(row);
    } else {
      this.rows.nextOfCall.values[this.lastOfCall.values[call]] = row;
      this.lastOfCall.values[call] = row;
    }
  }

  addToTurn(row, line, kind, time) {
    const turn = this.turnFor(line, kind, time);
    const ms = this.rows.ms.values[row];
    const { nextOfTurn } = this.rows;
    nextOfTurn.push(-1);
    this.rows.turn.push(turn.id);
    if (turn.last >= 0) nextOfTurn.values[turn.last] = row;
    else turn.first = row;
    turn.last = row;
    turn.count += 1;
    if (kind === EVENT && line.event === "BeforeAgent" && turn.prompt < 0) turn.prompt = row;
    if (!Number.isFinite(time)) return;
    // A line is written when what it tells of is over.
    turn.start = Math.min(turn.start, time - (ms > 0 ? ms : 0));
    turn.end = Math.max(turn.end, time);
  }

  /** Returns the turn of a line; a session without turns gets one per prompt. */
  turnFor(line, kind, time) {
    const isOfJournal = kind >= SEAL;
    const session = asText(line.session);
    const named = asText(line.turn) || asText(asObject(line.ids).prompt_id);
    const key = isOfJournal && !session ? "journal" : `${asText(line.agent)}\n${session}\n${named}`;
    const open = this.turns[this.turnIds.get(key)];
    const begins = !named && (line.event === "BeforeAgent" || time - (open?.end ?? time) > SILENCE_MS);
    if (open && !begins) return open;
    const turn = {
      id: this.turns.length,
      agent: asText(line.agent),
      session,
      name: named,
      project: asText(line.project),
      isOfJournal,
      first: -1,
      last: -1,
      prompt: -1,
      count: 0,
      start: Infinity,
      end: -Infinity,
      folded: false,
    };
    this.turns.push(turn);
    this.turnIds.set(key, turn.id);
    return turn;
  }

  text(row) {
    const { block, from, to } = this.rows;
    return this.blocks[block.values[row]].slice(from.values[row], to.values[row]);
  }

  /** Returns a line as an object, from a small cache. */
  line(row) {
    let line = this.parsed.get(row);
    if (line === undefined) {
      line = parseLine(this.text(row));
      if (this.parsed.size >= PARSED_LINES) this.parsed.delete(this.parsed.keys().next().value);
      this.parsed.set(row, line);
    }
    return line;
  }

  eachRun(row, visit) {
    const from = this.rows.runs.values[row];
    const to = from + this.rows.runCount.values[row];
    for (let run = from; run < to; run++) visit(run);
  }

  eachRowOfTurn(turn, visit) {
    for (let row = turn.first; row >= 0; row = this.rows.nextOfTurn.values[row]) visit(row);
  }

  /** Returns the lines about the call that a line is about: the first ones, if a journal has a great many. */
  rowsOfCall(row) {
    const call = this.rows.call.values[row];
    const found = [];
    if (call < 0) return found;
    const { values: next } = this.rows.nextOfCall;
    for (let at = this.firstOfCall.values[call]; at >= 0 && found.length < MAX_LINES_OF_CALL; at = next[at])
      found.push(at);
    return found;
  }

  rowOfSeq(seq) {
    const { values } = this.rows.seq;
    for (let row = 0; row < this.length; row++) if (values[row] === seq) return row;
    return -1;
  }

  /** Says whether a line is one that a reader looks for: a refusal, a question, or damage. */
  isRefusal(row) {
    return this.rows.verdict.values[row] >= ASK || (this.rows.flags.values[row] & (REFUSED | PROBLEM)) !== 0;
  }
}

/** Parses a line; one that is no JSON object gives an object that holds its text. */
function parseLine(text) {
  try {
    const line = JSON.parse(text);
    if (line !== null && typeof line === "object" && !Array.isArray(line)) return line;
  } catch {
    // Below.
  }
  return { kind: UNREADABLE_KIND, unreadable: text };
}

// No string that a line can hold.
const UNREADABLE_KIND = Symbol("unreadable");
const KIND_CODES = new Map(KINDS.slice(0, OTHER).map((name, code) => [name, code]));

function lineKind(line) {
  if (line.kind === UNREADABLE_KIND) return UNREADABLE;
  return KIND_CODES.get(line.kind) ?? OTHER;
}

function eventName(line, kind) {
  if (kind === EVENT) return asText(line.event) || "event";
  if (kind === CALL) return "tool call";
  if (kind === REQUEST) return "model request";
  return kind === OTHER ? oneLine(asText(line.kind) || "unknown", 60) : KINDS[kind];
}

function isFailedStatus(status) {
  return status === "failed" || status === "timed_out" || status === "signaled" || status === "not_started";
}

function effectBits(value) {
  const effects = asObject(value);
  let bits = effects.certain === false ? UNSURE_BIT : 0;
  EFFECTS.forEach((name, bit) => {
    if (asList(effects[name]).length) bits |= 1 << bit;
  });
  return bits;
}
