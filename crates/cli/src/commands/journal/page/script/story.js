// Tells in plain sentences why a line says what it says. A sentence is a list of strings and of marked parts:
// `{ code }` for text of the journal, `{ verdict }` for an answer.

const EFFECT_VERBS = new Map([
  ["commands", "run"],
  ["reads", "read"],
  ["writes", "write"],
  ["deletes", "delete"],
  ["network", "contact"],
  ["repository", "change in the repository"],
  ["services", "act on"],
  ["processes", "signal"],
  ["privileged", "run as another user"],
  ["flows", "send data"],
]);
const MAX_NAMED_EFFECTS = 4;

/** Returns the story of a line: sentences, and one list of sentences for the hooks. */
function tellStory(store, row) {
  const line = store.line(row);
  const kind = store.rows.kind.values[row];
  if (kind === CALL) return [whoAsked(line), outcomeOfCall(line)];
  if (kind === REQUEST) return [requestSentence(line)];
  if (kind !== EVENT) return [journalSentence(line, kind)];
  return [
    whoAsked(line),
    ...whatItWouldDo(line),
    ...whoWasAsked(line),
    ...whoDecided(line),
    ...whatWasChanged(line),
    ...whatTheHostWasTold(line),
    ...whatBecameOfIt(store, row),
  ].filter((sentence) => sentence);
}

function whoAsked(line) {
  const agent = agentTitle(asText(line.agent)) || "An agent";
  const version = asText(line.agent_version);
  const who = [{ strong: version ? `${agent} ${oneLine(version, 40)}` : agent }];
  if (line.subagent) who.push(" (sub-agent ", code(line.subagent), ")");
  const tool = asText(line.tool) || asText(line.host_tool);
  if (line.kind === "call") return [...who, " called ", code(tool || "a tool"), "."];
  const sentence = tool
    ? [...who, line.event === "AfterTool" ? " has called " : " wanted to call ", code(tool), ...hostName(line)]
    : [...who, " reported the event ", code(line.event), ...hostEvent(line)];
  const argument = mainArgument(line);
  if (argument) sentence.push(tool ? " with " : ": ", code(argument));
  if (line.project) sentence.push(" in ", code(line.project));
  return [...sentence, "."];
}

function hostName(line) {
  const host = asText(line.host_tool);
  const event = asText(line.host_event) || asText(line.event);
  const named = host && host !== line.tool ? ["it calls it ", code(host), ", "] : [];
  return [" (", ...named, "event ", code(event), ")"];
}

function hostEvent(line) {
  const host = asText(line.host_event);
  return host && host !== line.event ? [" (it calls it ", code(host), ")"] : [];
}

function whatItWouldDo(line) {
  const effects = asObject(line.content).effects;
  if (!effects) return [];
  const parts = [];
  for (const [name, verb] of EFFECT_VERBS) {
    const values = asList(asObject(effects)[name]);
    if (!values.length) continue;
    parts.push(parts.length ? "; " : " ", `${verb} `);
    values.slice(0, MAX_NAMED_EFFECTS).forEach((value, at) => parts.push(at ? ", " : "", code(effectText(value))));
    if (values.length > MAX_NAMED_EFFECTS) parts.push(` and ${values.length - MAX_NAMED_EFFECTS} more`);
  }
  const does = line.event === "AfterTool" ? "It did this:" : "It would";
  const sentence = parts.length ? [does, ...parts, "."] : ["The analysis found no effect of it."];
  if (asObject(effects).certain === false) {
    const unsure = asList(asObject(effects).unsure).map(asText).filter(Boolean).join(", ");
    sentence.push(unsure ? ` It may do more: these lists may be incomplete: ${oneLine(unsure)}.` : " It may do more.");
  }
  return [sentence];
}

/** Returns an effect as text: commands come as words, flows as from, to and via. */
function effectText(value) {
  if (Array.isArray(value)) return value.map(asText).join(" ");
  const flow = asObject(value);
  if (flow.from !== undefined || flow.to !== undefined) {
    return `${asText(flow.from)} → ${asText(flow.to)}${flow.via ? ` via ${asText(flow.via)}` : ""}`;
  }
  return typeof value === "string" ? value : jsonText(value, 0);
}

function whoWasAsked(line) {
  const hooks = listed(line.hooks).map(asObject);
  const answers = listed(asObject(line.content).runs).map(asObject);
  const sentences = [];
  if (hooks.length) {
    const list = hooks.map((run, at) => hookSentence(run, asObject(answers[at])));
    const { length } = line.hooks;
    sentences.push([length === 1 ? "One hook was asked:" : `${length} hooks were asked, in this order:`]);
    sentences.push({ list });
    if (length > hooks.length) sentences.push([`The other ${length - hooks.length} are not shown.`]);
  } else {
    sentences.push(["No hook was asked."]);
  }
  for (const note of listed(line.left_out)) sentences.push(["Not asked: ", code(note), "."]);
  for (const note of listed(line.unarmed)) sentences.push(["A guard that should have been asked: ", code(note), "."]);
  return sentences;
}

function hookSentence(run, answer) {
  const kinds = [
    asText(run.type),
    run.guard === true ? "guard" : "",
    run.mode === "shadow" ? "shadow" : "",
    run.background === true ? "in the background" : "",
  ].filter(Boolean);
  const sentence = [code(run.hook || "(no name)")];
  if (kinds.length) sentence.push(` (${oneLine(kinds.join(", "), 80)})`);
  if (asText(run.matched)) sentence.push(" matched ", code(run.matched), " and");
  sentence.push(...answerWords(run));
  if (Number.isFinite(asDuration(run.ms))) sentence.push(` after ${duration(run.ms)}`);
  const reason = asText(answer.reason) || asText(answer.error);
  if (reason) sentence.push(": ", { quote: oneLine(reason, 400) });
  return [...sentence, "."];
}

function answerWords(run) {
  const decision = DECISION_CODES.get(run.decision) ?? NONE;
  const status = asText(run.status);
  const failure = FAILURES.get(status) ?? (asText(run.failure) ? ` failed (${oneLine(run.failure, 40)})` : "");
  if (failure) {
    const exit = Number.isFinite(asNumber(run.exit_code)) && run.exit_code ? ` with exit code ${run.exit_code}` : "";
    const counts = run.guard === true ? ", which counts as " : ", counted as ";
    return [failure, exit, ...(decision > PASS ? [counts, { verdict: decision }] : [])];
  }
  if (decision > PASS) return [run.mode === "shadow" ? " would have said " : " said ", { verdict: decision }];
  if (asText(run.decision) && decision === NONE) return [" said ", code(run.decision)];
  return [status === "cancelled" ? " was cancelled" : " had no objection"];
}

const FAILURES = new Map([
  ["failed", " failed"],
  ["signaled", " was killed by a signal"],
  ["timed_out", " did not answer in time"],
  ["not_started", " could not be started"],
]);

function whoDecided(line) {
  const verdict = VERDICT_CODES.get(line.verdict) ?? NONE;
  const deciders = listed(line.decided_by, 20).map(asText).filter(Boolean);
  const reason = asText(asObject(line.content).reason);
  const sentences = [];
  if (verdict === PASS) sentences.push(["No answer that counts objected, so the verdict is ", { verdict }, "."]);
  else if (verdict !== NONE) sentences.push(decisionSentence(line, verdict, deciders));
  const isSaid = listed(asObject(line.content).runs).some((run) => asObject(run).reason === reason);
  if (reason && verdict > PASS && !isSaid) sentences.push(["The reason: ", { quote: oneLine(reason, 600) }, "."]);
  const limits = listed(line.confined).map(asText).filter(Boolean);
  if (limits.length) sentences.push(["The call runs confined: ", ...joined(limits), "."]);
  for (const run of listed(line.hooks).map(asObject)) {
    const decision = DECISION_CODES.get(run.decision) ?? NONE;
    if (run.mode !== "shadow" || decision <= PASS) continue;
    sentences.push([
      code(run.hook),
      " is in shadow mode: its answer ",
      { verdict: decision },
      " was recorded and decided nothing.",
    ]);
  }
  return sentences;
}

function decisionSentence(line, verdict, deciders) {
  const isAlone = asList(line.hooks).length === 1;
  const rule = isAlone ? "" : ". The strongest answer counts: stop before deny, ask, confine and allow";
  if (!deciders.length) return ["The verdict is ", { verdict }, "; the line names no hook that decided it."];
  return [...joined(deciders), " decided: the verdict is ", { verdict }, rule, "."];
}

function whatWasChanged(line) {
  const keys = Object.keys(asObject(asObject(line.content).changes)).slice(0, 20);
  return keys.length ? [["Hooks changed ", ...joined(keys), " of the call; the difference is below."]] : [];
}

function whatTheHostWasTold(line) {
  const sentences = [];
  const told = asObject(line.told);
  if (told.verdict !== undefined) {
    const exit = Number.isFinite(asNumber(told.exit)) ? ` (exit code ${told.exit})` : "";
    sentences.push([`${agentTitle(asText(line.agent)) || "The host"} was told `, answer(told.verdict), `${exit}.`]);
  }
  for (const loss of listed(line.lost).map(asObject)) {
    sentences.push(["It cannot do ", answer(loss.wanted), ", so that became ", answer(loss.became), "."]);
  }
  return sentences;
}

function whatBecameOfIt(store, row) {
  const related = store.rowsOfCall(row).filter((other) => other !== row);
  for (const other of related) {
    if (store.rows.kind.values[other] === CALL) return [outcomeOfCall(store.line(other))];
  }
  const line = store.line(row);
  if (line.event !== "BeforeTool") return [];
  if (related.some((other) => store.line(other).event === "AfterTool")) {
    return [["The call ran: an AfterTool event follows."]];
  }
  return [["The journal has no line about what became of the call."]];
}

const REFUSERS = new Map([
  ["hook", "a hook"],
  ["guard", "a guard"],
  ["policy", "a policy"],
  ["user", "the user"],
]);
const RESULTS = new Map([
  ["ran", "The call ran"],
  ["failed", "The call ran and failed"],
  ["refused", "The call was refused"],
  ["cancelled", "The call was cancelled"],
]);

function outcomeOfCall(line) {
  const sentence = [RESULTS.get(line.result) ?? "The call ended"];
  if (asText(line.refused_by)) sentence.push(" by ", REFUSERS.get(line.refused_by) ?? code(line.refused_by));
  const policy = asObject(line.policy);
  if (asText(policy.by)) sentence.push("; a policy said ", answer(policy.verdict), ": ", code(policy.by));
  if (Number.isFinite(asDuration(line.ms)) && line.result !== "refused") sentence.push(` after ${duration(line.ms)}`);
  if (Number.isFinite(asNumber(line.exit_code))) sentence.push(` with exit code ${line.exit_code}`);
  const error = asText(asObject(line.content).error);
  if (error) sentence.push(": ", { quote: oneLine(error, 400) });
  return [...sentence, "."];
}

function requestSentence(line) {
  const sentence = [
    { strong: agentTitle(asText(line.agent)) || "The agent" },
    " asked the model ",
    code(line.model || "(no name)"),
  ];
  if (Number.isFinite(asDuration(line.ms))) sentence.push(`, which took ${duration(line.ms)}`);
  const tokens = [
    [line.tokens_in, "in"],
    [line.tokens_out, "out"],
  ].filter(([count]) => Number.isFinite(asNumber(count)));
  if (tokens.length) sentence.push(` (${tokens.map(([count, way]) => `${plural(count, "token")} ${way}`).join(", ")})`);
  if (line.error) sentence.push(". It failed: ", { quote: oneLine(line.error, 400) });
  return [...sentence, "."];
}

function journalSentence(line, kind) {
  switch (kind) {
    case SEAL:
      return [
        "The segment ",
        code(line.segment),
        " is complete: ",
        code(line.lines),
        " lines, root ",
        code(line.root),
        ".",
      ];
    case GAP:
      return [
        "Lines are missing before this one: ",
        { quote: oneLine(line.problem ?? "no reason is given", 400) },
        ".",
      ];
    case START:
      return [
        "The journal begins here",
        ...(line.version ? [", written by Hookwright ", code(line.version)] : []),
        ".",
      ];
    case FORGOT:
      return [
        "The user removed the content of ",
        code(line.lines),
        " lines: ",
        { quote: oneLine(line.what ?? "", 200) },
        ".",
      ];
    case UNREADABLE:
      return ["This line is not a JSON object, so it cannot be read."];
    default:
      return ["This page does not know lines of the kind ", code(line.kind), "; its fields are below."];
  }
}

function answer(word) {
  const verdict = DECISION_CODES.get(word);
  return verdict === undefined ? code(word) : { verdict };
}

function code(value) {
  return { code: oneLine(value ?? "", 240) };
}

function joined(names) {
  return names.flatMap((name, at) => [at === 0 ? "" : at === names.length - 1 ? " and " : ", ", code(name)]);
}

// The argument of a call that says most about it.
const MAIN_ARGUMENTS = [
  "command",
  "cmd",
  "file_path",
  "absolute_path",
  "path",
  "url",
  "pattern",
  "query",
  "prompt",
  "description",
];

/** Returns what an event is about in one line, or an empty text. */
function mainArgument(line) {
  const input = asObject(asObject(line.content).input);
  const argumentsOfTool = asObject(input.tool_input);
  for (const name of MAIN_ARGUMENTS) {
    const value = argumentsOfTool[name];
    if (typeof value === "string" && value) return value;
    if (Array.isArray(value) && value.length) return effectText(value);
  }
  for (const value of Object.values(argumentsOfTool)) if (typeof value === "string" && value) return value;
  for (const name of ["prompt", "prompt_response", "content", "trigger", "source", "reason"]) {
    if (typeof input[name] === "string" && input[name]) return input[name];
  }
  return "";
}
