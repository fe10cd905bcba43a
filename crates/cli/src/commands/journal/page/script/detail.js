// The details of one line: its story, what each hook said, what was changed, what it does, what went in and out.

const MAX_STORY_LINES = 400;

class Detail {
  constructor(store, actions) {
    this.store = store;
    this.actions = actions;
    this.panel = byId("detail");
    this.row = -1;
    this.panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.actions.close();
    });
  }

  show(row, takesFocus) {
    this.row = row;
    const line = this.store.line(row);
    const parts = [
      this.header(row, line),
      this.commands(line),
      this.story(row),
      this.hookRuns(row, line),
      changeSection(line),
      effectSection(line),
      inputSection(line),
      outputSection(line),
      this.related(row),
      identitySection(line),
    ];
    this.panel.replaceChildren(...parts.filter((part) => part));
    this.panel.hidden = false;
    this.panel.scrollTop = 0;
    this.panel.setAttribute("aria-label", `Details of line ${asSeq(line.seq) ?? "without a number"}`);
    document.body.classList.add("has-detail");
    if (takesFocus) this.panel.focus();
  }

  hide() {
    this.row = -1;
    this.panel.hidden = true;
    this.panel.replaceChildren();
    document.body.classList.remove("has-detail");
  }

  header(row, line) {
    const { rows, events } = this.store;
    const kind = rows.kind.values[row];
    const close = button("Close", () => this.actions.close());
    const title = el(
      "h2",
      "",
      rowPill(line, kind, rows.verdict.values[row]),
      " ",
      oneLine(events.names[rows.event.values[row]], 60),
      line.tool ? el("span", "quiet", ` ${oneLine(line.tool, 60)}`) : "",
    );
    const time = rows.time.values[row];
    const when = Number.isFinite(time) ? `${formatTime(DATE, time)}, ${formatTime(CLOCK, time)}` : "no time";
    const seq = asSeq(line.seq);
    const facts = [seq === null ? "no number" : `line ${seq}`, when, duration(rows.ms.values[row])];
    return el(
      "header",
      "detail-head",
      el("div", "", title, el("p", "quiet", facts.filter(Boolean).join(" · "))),
      close,
    );
  }

  commands(line) {
    const seq = asSeq(line.seq);
    if (seq === null || line.kind !== "event") return null;
    return el(
      "div",
      "commands",
      copyCommand(`hookwright hooks why ${seq}`),
      copyCommand(`hookwright hooks test --from-journal ${seq}`),
    );
  }

  /** Shows the story as `hookwright hooks why` tells it, or, for lines without one, as this page reads the line. */
  story(row) {
    const told = listed(this.store.line(row).why, MAX_STORY_LINES).map(asText);
    const list = el("div", "story");
    if (told.length) list.append(...toldParts(told));
    else list.append(...this.readParts(row));
    const seq = asSeq(this.store.line(row).seq);
    if (!told.length && seq !== null && this.actions.why) this.replaceByTold(list, row, seq);
    return section("Why", list);
  }

  /** Asks the server for the story of a line; what is shown stays if it has none. */
  async replaceByTold(list, row, seq) {
    const told = listed(await this.actions.why(seq), MAX_STORY_LINES).map(asText);
    if (told.length && this.row === row) list.replaceChildren(...toldParts(told));
  }

  readParts(row) {
    const parts = [];
    for (const sentence of tellStory(this.store, row)) {
      if (sentence.list) parts.push(el("ol", "", ...sentence.list.map((one) => el("li", "", ...sentenceParts(one)))));
      else parts.push(el("p", "", ...sentenceParts(sentence)));
    }
    return parts;
  }

  hookRuns(row, line) {
    const hooks = listed(line.hooks).map(asObject);
    if (!hooks.length) return null;
    const answers = listed(asObject(line.content).runs).map(asObject);
    const longest = Math.max(...hooks.map((run) => asDuration(run.ms) || 0), 0.001);
    const list = el("ol", "runs", ...hooks.map((run, at) => hookRun(run, asObject(answers[at]), longest)));
    return section("Hooks", list);
  }

  /** Lists the other lines about the same call. */
  related(row) {
    const others = this.store
      .rowsOfCall(row)
      .filter((other) => other !== row)
      .slice(0, 20);
    if (!others.length) return null;
    const items = others.map((other) => {
      const { rows, events } = this.store;
      const seq = rows.seq.values[other];
      const name = `${seq >= 0 ? `${seq} ` : ""}${oneLine(events.names[rows.event.values[other]], 40)}`;
      return el(
        "li",
        "",
        button(name, () => this.actions.goTo(other)),
        " ",
        rowPill(this.store.line(other), rows.kind.values[other], rows.verdict.values[other]),
      );
    });
    return section("Same call", el("ul", "related", ...items));
  }
}

function section(title, ...children) {
  return el("section", "", el("h3", "", title), ...children);
}

/** Turns a story in lines of text into elements: a title, parts with a heading, and indented details. */
function toldParts(lines) {
  const parts = [];
  for (const line of lines) {
    const detail = /^ {2}(.*)$/s.exec(line);
    const part = /^([a-z]+): (.*)$/s.exec(line);
    if (detail) {
      if (parts.at(-1)?.tagName !== "UL") parts.push(el("ul"));
      parts.at(-1).append(el("li", "", detail[1]));
    } else if (part && parts.length) parts.push(el("p", "", el("strong", "", `${part[1]}: `), part[2]));
    else parts.push(el("p", "", el("strong", "", line)));
  }
  return parts;
}

/** Turns the parts of a sentence into elements. */
function sentenceParts(parts) {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.verdict !== undefined) return el("strong", `word v-${VERDICTS[part.verdict]}`, VERDICTS[part.verdict]);
    if (part.strong !== undefined) return el("strong", "", part.strong);
    return part.quote !== undefined ? el("q", "", part.quote) : el("code", "", part.code);
  });
}

function hookRun(run, answer, longest) {
  const decision = DECISION_CODES.get(run.decision) ?? NONE;
  const failed = isFailedStatus(run.status) || typeof run.failure === "string";
  const shown = failed ? "failed" : VERDICTS[decision];
  const word = decision > NONE ? VERDICTS[decision] : failed ? "failed" : "pass";
  const bar = el("i", `bar v-${shown}${run.mode === "shadow" ? " is-shadow" : ""}`);
  bar.style.width = `${Math.min(100, (100 * (asDuration(run.ms) || 0)) / longest)}%`;
  const track = el("span", "track", bar);
  track.setAttribute("aria-hidden", "true");
  const tags = [run.guard === true && "guard", run.mode === "shadow" && "shadow", asText(run.type), asText(run.source)];
  const head = el(
    "div",
    "run-head",
    el("b", "", oneLine(run.hook || "(no name)", 80)),
    pill(
      decision > NONE ? VERDICTS[decision] : failed ? "failed" : "pass",
      run.mode === "shadow" && decision > PASS ? `would ${word}` : word,
    ),
    ...tags.filter(Boolean).map((tag) => el("span", tag === "shadow" ? "tag shadow" : "tag", oneLine(tag, 30))),
    el("span", "took", duration(asDuration(run.ms))),
  );
  const facts = [
    ["matched", run.matched],
    ["status", run.status === "ok" ? "" : run.status],
    ["failure", run.failure],
    ["exit code", run.exit_code === 0 ? "" : run.exit_code],
    ["fingerprint", run.fingerprint],
  ];
  const item = el("li", "", head, track, factList(facts));
  for (const [name, value] of [
    ["reason", answer.reason],
    ["error", answer.error],
    ["stdout", answer.stdout],
    ["stderr", answer.stderr],
  ]) {
    if (value !== undefined && value !== null && value !== "")
      item.append(el("div", "field", el("span", "label", name), valueBlock(value)));
  }
  return item;
}

function factList(facts) {
  const known = facts.filter(([, value]) => asText(value) !== "");
  if (!known.length) return null;
  return el(
    "dl",
    "facts",
    ...known.flatMap(([name, value]) => [el("dt", "", name), el("dd", "", oneLine(asText(value), 400))]),
  );
}

/** Shows what hooks changed in the call's arguments. */
function changeSection(line) {
  const content = asObject(line.content);
  const changes = Object.entries(asObject(content.changes));
  if (!changes.length) return null;
  const before = asObject(asObject(content.input).tool_input);
  const blocks = changes.slice(0, 50).map(([key, value]) => {
    const old = Object.hasOwn(before, key) ? plainText(before[key]) : "";
    return el("div", "field", el("span", "label", oneLine(key, 80)), diffBlock(old, plainText(value)));
  });
  return section("Changed by hooks", ...blocks);
}

function plainText(value) {
  return typeof value === "string" ? value : jsonText(value);
}

function effectSection(line) {
  const effects = asObject(asObject(line.content).effects);
  const rows = EFFECTS.filter((name) => asList(effects[name]).length);
  const isUnsure = effects.certain === false;
  if (!rows.length && !isUnsure) return null;
  const facts = rows.flatMap((name) => [
    el("dt", "", name),
    el("dd", "", ...listed(effects[name]).map((value) => el("code", "", oneLine(effectText(value), 400)))),
  ]);
  const unsure = listed(effects.unsure)
    .map((name) => oneLine(name, 60))
    .join(", ");
  const note = isUnsure
    ? el("p", "quiet", `In doubt: these lists may be incomplete${unsure ? `: ${unsure}` : ""}.`)
    : null;
  return section("Effects", el("dl", "facts wide", ...facts), note);
}

function inputSection(line) {
  const input = asObject(line.content).input;
  if (input === undefined) {
    const why = asText(line.withheld);
    return why ? section("Input", el("p", "quiet", `The content is not in the journal: ${oneLine(why, 200)}.`)) : null;
  }
  const fields = Object.entries(asObject(input))
    .filter(([name]) => name !== "tool_response")
    .flatMap(([name, value]) => {
      const parts = name === "tool_input" ? Object.entries(asObject(value)) : [];
      return parts.length ? parts.map(([key, part]) => [`${name}.${key}`, part]) : [[name, value]];
    });
  return fields.length
    ? section("Input", ...fields.slice(0, 100).map(([name, value]) => fieldBlock(name, value)))
    : null;
}

function outputSection(line) {
  const content = asObject(line.content);
  const fields = [
    ["reason", content.reason],
    ["message", content.message],
    ["context", content.context],
    ["tool_response", asObject(content.input).tool_response],
    ["error", content.error ?? line.error],
    ["line", line.unreadable],
  ];
  const known = fields.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return known.length ? section("Output", ...known.map(([name, value]) => fieldBlock(name, value))) : null;
}

function fieldBlock(name, value) {
  return el("div", "field", el("span", "label", oneLine(name, 80)), valueBlock(value));
}

/** Shows any value; a stored body or an omitted one gives a note. */
function valueBlock(value) {
  const { body, omitted, bytes: size } = asObject(value);
  if (typeof body === "string")
    return el("p", "quiet", `Stored apart: ${bytes(asNumber(size))}, ${oneLine(body, 100)}`);
  if (typeof omitted === "string")
    return el("p", "quiet", `Omitted (${oneLine(omitted, 100)}): ${bytes(asNumber(size))}`);
  const text = plainText(value);
  if (text.length < 100 && !text.includes("\n")) return el("code", "short", visible(text));
  return longText(text);
}

const IDENTITY_FIELDS = [
  "agent",
  "agent_version",
  "project",
  "session",
  "turn",
  "call",
  "subagent",
  "host_event",
  "host_tool",
  "segment",
  "lines",
  "root",
  "what",
  "problem",
  "model",
  "version",
  "prev",
  "content_digest",
];

function identitySection(line) {
  const facts = IDENTITY_FIELDS.map((name) => [name, line[name]]);
  for (const [name, value] of Object.entries(asObject(line.ids)).slice(0, 20)) facts.push([oneLine(name, 60), value]);
  const raw = el("details", "", el("summary", "", "The line as JSON"));
  raw.addEventListener(
    "toggle",
    () => raw.open && raw.childElementCount === 1 && raw.append(longText(jsonText({ ...line, why: undefined }))),
    { once: true },
  );
  return section("Ids", factList(facts), raw);
}
