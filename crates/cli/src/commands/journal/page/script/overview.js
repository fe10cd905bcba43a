// The overview of the lines that pass the filter: refusals over time, hooks, shadow hooks, and which agent asked which
// guard.

const MINUTE = 60_000,
  HOUR = 60 * MINUTE,
  DAY = 24 * HOUR;
const BUCKETS_MS = [
  1000,
  10_000,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  DAY,
  7 * DAY,
  30 * DAY,
  365 * DAY,
];
const MAX_BUCKETS = 60;
const MAX_TABLE_ROWS = 25;
const MAX_AGENTS = 20;

/** Sums up lines: per verdict, per hook, per agent and guard. */
class Summary {
  constructor(store, found) {
    this.store = store;
    this.found = found;
    this.verdicts = VERDICTS.map(() => 0);
    this.hooks = new Map();
    this.toolEvents = new Map();
    this.asked = new Map();
    this.unarmed = 0;
    this.lost = 0;
    const beforeTool = store.events.ids.get("BeforeTool");
    for (let at = 0; at < found.length; at++) this.addRow(found.values[at], beforeTool);
  }

  addRow(row, beforeTool) {
    const { rows } = this.store;
    if (rows.kind.values[row] !== EVENT) return;
    this.verdicts[rows.verdict.values[row]] += 1;
    const flags = rows.flags.values[row];
    if (flags & UNARMED) this.unarmed += 1;
    if (flags & LOST) this.lost += 1;
    const agent = rows.agent.values[row];
    const isTool = rows.event.values[row] === beforeTool;
    if (isTool) this.toolEvents.set(agent, (this.toolEvents.get(agent) ?? 0) + 1);
    this.store.eachRun(row, (run) => this.addRun(row, run, agent));
  }

  addRun(row, run, agent) {
    const { runs, rows } = this.store;
    const id = runs.hook.values[run];
    const flags = runs.flags.values[run];
    let hook = this.hooks.get(id);
    if (!hook) {
      hook = {
        id,
        runs: 0,
        refusals: 0,
        failures: 0,
        shadow: 0,
        shadowAnswers: VERDICTS.map(() => 0),
        shadowNew: 0,
        isGuard: false,
        times: new Column(Float32Array),
      };
      this.hooks.set(id, hook);
    }
    const decision = runs.decision.values[run];
    hook.runs += 1;
    hook.isGuard ||= (flags & GUARD) !== 0;
    if (flags & FAILED) hook.failures += 1;
    if (flags & SHADOW) {
      hook.shadow += 1;
      hook.shadowAnswers[decision] += 1;
      if (decision > Math.max(rows.verdict.values[row], ALLOW)) hook.shadowNew += 1;
    } else if (decision >= DENY) {
      hook.refusals += 1;
    }
    const ms = runs.ms.values[run];
    if (Number.isFinite(ms)) hook.times.push(ms);
    const key = `${agent} ${id}`;
    this.asked.set(key, (this.asked.get(key) ?? 0) + 1);
  }
}

/** Returns the value that a share of all values does not exceed. */
function quantile(sorted, share) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] : NaN;
}

class Overview {
  constructor(store, meta, actions) {
    this.store = store;
    this.knownHooks = asList(meta.hooks)
      .map(asObject)
      .filter((hook) => asText(hook.hook));
    this.actions = actions;
    this.panel = byId("overview");
  }

  show(found) {
    const summary = new Summary(this.store, found);
    this.panel.replaceChildren(
      this.totals(summary, found),
      this.refusals(found),
      this.slowest(summary),
      this.silent(summary),
      this.shadows(summary),
      this.coverage(summary),
    );
  }

  totals(summary, found) {
    const figures = [STOP, DENY, ASK, CONFINE, ALLOW, PASS].map((code) =>
      el(
        "div",
        "figure",
        el("b", "", summary.verdicts[code].toLocaleString("en")),
        pill(VERDICTS[code], VERDICTS[code]),
      ),
    );
    const notes = [];
    if (summary.lost) notes.push(`${plural(summary.lost, "answer")} had to be lowered for the host.`);
    if (summary.unarmed) notes.push(`At ${plural(summary.unarmed, "event")} a guard was not armed.`);
    return card(
      "Verdicts",
      "wide",
      el("div", "figures", ...figures),
      el("p", "quiet", `${plural(found.length, "line")}. ${notes.join(" ")}`),
    );
  }

  /** Draws the events that were not let through, per period. */
  refusals(found) {
    const buckets = refusalBuckets(this.store, found);
    if (!buckets.length)
      return card("Refusals over time", "wide", el("p", "quiet", "No event was refused or asked about."));
    const most = Math.max(...buckets.map((bucket) => bucket.deny + bucket.stop + bucket.ask));
    const chart = el("div", "chart");
    chart.setAttribute("aria-hidden", "true");
    for (const bucket of buckets) chart.append(this.column(bucket, most));
    const axis = el(
      "div",
      "chart-axis quiet",
      el("span", "", bucketTitle(buckets[0])),
      el("span", "", bucketTitle(buckets.at(-1))),
    );
    axis.setAttribute("aria-hidden", "true");
    const busy = buckets.filter((bucket) => bucket.deny + bucket.stop + bucket.ask);
    const table = dataTable(
      ["Period", "stop", "deny", "ask"],
      busy.map((bucket) => [
        button(bucketTitle(bucket), () => this.actions.period(bucket.from, bucket.to)),
        bucket.stop,
        bucket.deny,
        bucket.ask,
      ]),
    );
    const legend = el("p", "legend quiet", pill("stop", "stop"), pill("deny", "deny"), pill("ask", "ask"));
    return card(
      "Refusals over time",
      "wide",
      legend,
      chart,
      axis,
      el("details", "", el("summary", "", "As a table"), table),
    );
  }

  column(bucket, most) {
    const column = el("div", "column");
    for (const name of ["ask", "deny", "stop"]) {
      if (!bucket[name]) continue;
      const part = el("i", `part v-${name}`);
      part.style.height = `${(100 * bucket[name]) / most}%`;
      column.append(part);
    }
    column.title = `${bucketTitle(bucket)}: ${bucket.stop} stop, ${bucket.deny} deny, ${bucket.ask} ask`;
    column.addEventListener("click", () => this.actions.period(bucket.from, bucket.to));
    return column;
  }

  hookButton(id) {
    return button(oneLine(this.store.hooks.names[id] || "(no name)", 60), () => this.actions.hook(id), "link");
  }

  slowest(summary) {
    const hooks = [...summary.hooks.values()].map((hook) => ({
      ...hook,
      sorted: hook.times.values.subarray(0, hook.times.length).slice().sort(),
    }));
    hooks.sort((a, b) => (quantile(b.sorted, 0.99) || 0) - (quantile(a.sorted, 0.99) || 0));
    const slowest = quantile(hooks[0]?.sorted ?? [], 0.99) || 1;
    const rows = hooks.slice(0, MAX_TABLE_ROWS).map((hook) => {
      const p99 = quantile(hook.sorted, 0.99);
      return [
        this.hookButton(hook.id),
        hook.runs.toLocaleString("en"),
        hook.refusals.toLocaleString("en"),
        hook.failures.toLocaleString("en"),
        duration(quantile(hook.sorted, 0.5)),
        barCell(duration(p99), p99 / slowest),
      ];
    });
    const body = rows.length
      ? dataTable(["Hook", "runs", "refusals", "failures", "median", "99 %"], rows)
      : el("p", "quiet", "No hook ran.");
    return card("Slowest hooks", "", body);
  }

  /** Lists hooks that are configured and were never asked. */
  silent(summary) {
    if (!this.knownHooks.length) {
      return card(
        "Hooks that never fire",
        "",
        el("p", "quiet", "This page was written without a list of the configured hooks."),
      );
    }
    const fired = new Set([...summary.hooks.keys()].map((id) => this.store.hooks.names[id]));
    const rows = this.knownHooks
      .filter((hook) => !fired.has(asText(hook.hook)))
      .slice(0, 200)
      .map((hook) => [
        el("code", "", oneLine(hook.hook, 60)),
        oneLine(hook.event ?? "", 30),
        oneLine(hook.source ?? "", 30),
        hook.guard === true ? "guard" : hook.mode === "shadow" ? "shadow" : "",
      ]);
    const all = `All ${plural(this.knownHooks.length, "configured hook")} ran.`;
    const body = rows.length ? dataTable(["Hook", "event", "source", ""], rows, true) : el("p", "quiet", all);
    return card("Hooks that never fire", "", body);
  }

  shadows(summary) {
    const hooks = [...summary.hooks.values()].filter((hook) => hook.shadow).sort((a, b) => b.shadowNew - a.shadowNew);
    if (!hooks.length) return card("Shadow hooks", "", el("p", "quiet", "No hook ran in shadow mode."));
    const rows = hooks.slice(0, MAX_TABLE_ROWS).map((hook) => {
      const words = [STOP, DENY, ASK, CONFINE].filter((code) => hook.shadowAnswers[code]);
      const answers = el(
        "span",
        "answers",
        ...words.map((code) => pill(VERDICTS[code], `${hook.shadowAnswers[code]} ${VERDICTS[code]}`)),
      );
      return [
        this.hookButton(hook.id),
        hook.shadow.toLocaleString("en"),
        words.length ? answers : "nothing",
        hook.shadowNew.toLocaleString("en"),
      ];
    });
    return card(
      "Shadow hooks",
      "",
      dataTable(["Hook", "asked", "would have said", "would change"], rows, [2]),
      el("p", "quiet", "“Would change” counts events whose verdict would have been stricter."),
    );
  }

  /** Shows how often each agent asked each guard. */
  coverage(summary) {
    const { hooks: names, agents } = this.store;
    const guards = new Set(this.knownHooks.filter((hook) => hook.guard === true).map((hook) => asText(hook.hook)));
    for (const hook of summary.hooks.values()) if (hook.isGuard) guards.add(names.names[hook.id]);
    const columns = [...summary.toolEvents.keys()]
      .sort((a, b) => summary.toolEvents.get(b) - summary.toolEvents.get(a))
      .slice(0, MAX_AGENTS);
    if (!guards.size || !columns.length)
      return card("Agents and guards", "wide", el("p", "quiet", "No guard or no tool call is in these lines."));
    const rows = [...guards]
      .sort()
      .slice(0, 100)
      .map((guard) => {
        const cells = columns.map((agent) =>
          coverageCell(summary.asked.get(`${agent} ${names.ids.get(guard)}`) ?? 0, summary.toolEvents.get(agent)),
        );
        return [el("code", "", oneLine(guard, 60)), ...cells];
      });
    const heads = columns.map(
      (agent) =>
        `${agentTitle(agents.names[agent]) || "unknown"} (${plural(summary.toolEvents.get(agent), "tool call")})`,
    );
    return card(
      "Agents and guards",
      "wide",
      dataTable(["Guard", ...heads], rows),
      el(
        "p",
        "quiet",
        "How often each guard was asked in each agent. A guard is asked only where its matcher and its `when` match.",
      ),
    );
  }
}

function coverageCell(count, toolEvents) {
  const cell = el(
    "span",
    count ? "covered" : "uncovered",
    count ? `asked ${count.toLocaleString("en")}×` : "never asked",
  );
  cell.title = `${count} of ${toolEvents} tool calls`;
  return cell;
}

function card(title, className, ...children) {
  return el("section", `card ${className}`, el("h2", "", title), ...children);
}

function barCell(text, share) {
  const bar = el("i", "bar v-pass");
  bar.style.width = `${Math.min(100, Math.max(1, 100 * (share || 0)))}%`;
  const track = el("span", "track", bar);
  track.setAttribute("aria-hidden", "true");
  return el("span", "bar-cell", track, el("span", "", text));
}

/** Builds a table whose first column names its rows. */
function dataTable(heads, rows, textColumns = []) {
  const isText = (at) => at === 0 || textColumns === true || (textColumns.includes && textColumns.includes(at));
  const head = el(
    "tr",
    "",
    ...heads.map((name, at) => {
      const cell = el("th", isText(at) ? "" : "number", name || el("span", "hidden", "kind"));
      cell.scope = "col";
      return cell;
    }),
  );
  const body = rows.map((cells) =>
    el(
      "tr",
      "",
      ...cells.map((value, at) => {
        const cell = el(
          at ? "td" : "th",
          isText(at) ? "" : "number",
          typeof value === "number" ? String(value) : value,
        );
        if (!at) cell.scope = "row";
        return cell;
      }),
    ),
  );
  const scroller = el("div", "scroller", el("table", "", el("thead", "", head), el("tbody", "", ...body)));
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "group");
  scroller.setAttribute("aria-label", `Table by ${heads[0].toLowerCase()}`);
  return scroller;
}

/** Counts refused events per period, with periods that fit the whole span. */
function refusalBuckets(store, found) {
  const { rows } = store;
  let first = Infinity,
    last = -Infinity,
    refused = 0;
  for (let at = 0; at < found.length; at++) {
    const time = rows.time.values[found.values[at]];
    if (!Number.isFinite(time)) continue;
    first = Math.min(first, time);
    last = Math.max(last, time);
    if (rows.verdict.values[found.values[at]] >= ASK) refused += 1;
  }
  if (!refused) return [];
  const size = BUCKETS_MS.find((ms) => (last - first) / ms < MAX_BUCKETS) ?? (last - first) / (MAX_BUCKETS - 1);
  // Days begin at midnight here, not in Greenwich.
  const shift = size >= HOUR ? new Date(first).getTimezoneOffset() * MINUTE : 0;
  const begin = Math.floor((first - shift) / size) * size + shift;
  const buckets = [];
  for (let from = begin; from <= last; from += size) buckets.push({ from, to: from + size, ask: 0, deny: 0, stop: 0 });
  for (let at = 0; at < found.length; at++) {
    const row = found.values[at];
    const verdict = rows.verdict.values[row];
    const bucket = buckets[Math.floor((rows.time.values[row] - begin) / size)];
    if (bucket && verdict >= ASK) bucket[VERDICTS[verdict]] += 1;
  }
  return buckets;
}

function bucketTitle(bucket) {
  const size = bucket.to - bucket.from;
  if (size >= DAY) return formatTime(SHORT_DATE, bucket.from);
  const clock = size < MINUTE ? CLOCK : MINUTES;
  return `${formatTime(SHORT_DATE, bucket.from)}, ${formatTime(clock, bucket.from)}`;
}
