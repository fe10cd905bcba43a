// The elements of the timeline: one per turn, one per line.

const MAX_HOOK_BARS = 7;
const HOOK_BAR_MIN_PX = 4,
  HOOK_BAR_MAX_PX = 34;

class RowView {
  constructor(store) {
    this.store = store;
  }

  /** Makes the element of a turn, `shown` of whose lines pass the filter. */
  turn(turn, shown) {
    const fold = el("span", "fold", turn.folded ? "▸" : "▾");
    fold.setAttribute("aria-hidden", "true");
    const prompt = turn.prompt >= 0 ? mainArgument(this.store.line(turn.prompt)) : "";
    const title = turn.isOfJournal ? "Journal" : agentTitle(turn.agent) || "Unknown agent";
    const place = [turn.project.split("/").filter(Boolean).pop() ?? "", turn.name || turn.session.slice(0, 8)];
    const head = el(
      "span",
      "turn-title",
      el("b", "", title),
      el("span", "quiet", oneLine(place.filter(Boolean).join(" · "), 60)),
    );
    const span = turn.end - turn.start;
    const axis = el("span", "axis", el("span", "", "0"), el("span", "", span > 0 ? duration(span) : ""));
    axis.setAttribute("aria-hidden", "true");
    const count = shown === turn.count ? plural(turn.count, "line") : `${shown} of ${plural(turn.count, "line")}`;
    const about = el(
      "span",
      "turn-about",
      fold,
      el("span", "turn-time", this.turnTime(turn)),
      head,
      el("span", "prompt", oneLine(prompt, 200)),
    );
    const element = el("div", "item turn", about, axis, el("span", "took", count));
    element.setAttribute("aria-expanded", String(!turn.folded));
    return element;
  }

  turnTime(turn) {
    if (!Number.isFinite(turn.start)) return "no time";
    return `${formatTime(SHORT_DATE, turn.start)}, ${formatTime(MINUTES, turn.start)}`;
  }

  /** Makes the element of a line. */
  row(row) {
    const { store } = this;
    const { rows } = store;
    const line = store.line(row);
    const kind = rows.kind.values[row];
    const time = el("time", "time", formatTime(CLOCK, rows.time.values[row]) || "–");
    time.title = oneLine(asText(line.time), 40);
    return el(
      "div",
      "item row",
      time,
      el("span", "verdict", rowPill(line, kind, rows.verdict.values[row])),
      el("span", "event", oneLine(store.events.names[rows.event.values[row]], 40)),
      el("span", "call", ...this.callCell(row, line, kind)),
      this.hooksCell(row, line),
      this.lane(row, kind),
      el("span", "took", duration(rows.ms.values[row])),
    );
  }

  callCell(row, line, kind) {
    const flags = this.store.rows.flags.values[row];
    const tool = oneLine(asText(line.tool), 60);
    const tags = [];
    if (flags & CHANGED) tags.push(el("span", "tag", "changed"));
    if (flags & LOST) tags.push(el("span", "tag warn", "lowered"));
    if (flags & UNARMED) tags.push(el("span", "tag warn", "guard not armed"));
    if (flags & SHADOW_REFUSAL) tags.push(el("span", "tag shadow", "shadow refusal"));
    return [tool && el("span", "tool", tool), el("code", "", rowSummary(line, kind)), ...tags];
  }

  /** Shows each hook as a bar: as long as the logarithm of its time, in the colour of its answer. */
  hooksCell(row, line) {
    const { store } = this;
    const cell = el("span", "hooks");
    const count = store.rows.runCount.values[row];
    if (!count) return cell;
    const bars = el("span", "hook-bars");
    bars.setAttribute("aria-hidden", "true");
    store.eachRun(row, (run) => {
      if (bars.childElementCount < MAX_HOOK_BARS) bars.append(this.hookBar(run));
    });
    cell.append(bars);
    const named = listed(line.decided_by, 20).map(asText).filter(Boolean);
    const names = named.length && store.rows.verdict.values[row] > PASS ? named.join(", ") : plural(count, "hook");
    cell.append(el("span", named.length ? "decider" : "quiet", oneLine(names, 60)));
    return cell;
  }

  hookBar(run) {
    const { runs, hooks } = this.store;
    const flags = runs.flags.values[run];
    const ms = runs.ms.values[run];
    const shown = flags & FAILED ? "failed" : VERDICTS[runs.decision.values[run]];
    const bar = el("i", `bar v-${shown}${flags & SHADOW ? " is-shadow" : ""}`);
    const share = Math.min(1, Math.max(0, (Math.log10(Math.max(ms || 0, 0.01)) + 2) / 6));
    bar.style.width = `${HOOK_BAR_MIN_PX + share * (HOOK_BAR_MAX_PX - HOOK_BAR_MIN_PX)}px`;
    bar.title = `${oneLine(hooks.names[runs.hook.values[run]], 60)}: ${shown}, ${duration(ms)}`;
    return bar;
  }

  /** Shows when the line's work took place in its turn. */
  lane(row, kind) {
    const { rows, turns } = this.store;
    const lane = el("span", "lane");
    lane.setAttribute("aria-hidden", "true");
    const turn = turns[rows.turn.values[row]];
    const end = rows.time.values[row];
    if (!(turn.end > turn.start) || !Number.isFinite(end)) return lane;
    const start = end - Math.max(0, rows.ms.values[row] || 0);
    const toolStart = this.toolStart(row);
    if (toolStart < start) lane.append(laneBar(turn, toolStart, start, "k-call"));
    const className =
      kind === CALL ? "k-call" : kind === REQUEST ? "k-request" : `v-${VERDICTS[rows.verdict.values[row]]}`;
    lane.append(laneBar(turn, start, end, className));
    return lane;
  }

  /** Returns when the tool of an AfterTool event began, if no line of its own says how long it took. */
  toolStart(row) {
    const { rows, events } = this.store;
    const nameOf = (other) => events.names[rows.event.values[other]];
    if (nameOf(row) !== "AfterTool") return NaN;
    const lines = this.store.rowsOfCall(row);
    if (lines.some((other) => rows.kind.values[other] === CALL)) return NaN;
    const before = lines.find((other) => nameOf(other) === "BeforeTool");
    return before === undefined ? NaN : rows.time.values[before];
  }
}

function laneBar(turn, start, end, className) {
  const bar = el("i", `bar ${className}`);
  const span = turn.end - turn.start;
  const left = Math.min(100, Math.max(0, (100 * (start - turn.start)) / span));
  bar.style.left = `min(${left}%, calc(100% - 3px))`;
  bar.style.width = `${Math.min(100 - left, (100 * (end - start)) / span)}%`;
  return bar;
}

const CALL_RESULTS = new Map([
  ["ran", "ran"],
  ["failed", "failed"],
  ["refused", "deny"],
  ["cancelled", "none"],
]);

function rowPill(line, kind, verdict) {
  if (kind === EVENT)
    return pill(VERDICTS[verdict], verdict === NONE ? oneLine(line.verdict ?? "–", 12) : VERDICTS[verdict]);
  if (kind === CALL) {
    const known = CALL_RESULTS.get(line.result);
    return pill(known ?? "none", known ? line.result : "–");
  }
  if (kind === GAP || kind === UNREADABLE) return pill("failed", KINDS[kind] === "gap" ? "gap" : "damaged");
  return kind === REQUEST && line.error ? pill("failed", "failed") : pill("none", "–");
}

/** Returns what a row says of its line beside the tool. */
function rowSummary(line, kind) {
  const content = asObject(line.content);
  switch (kind) {
    case EVENT:
      return oneLine(mainArgument(line) || (line.withheld ? `content withheld: ${asText(line.withheld)}` : ""));
    case CALL:
      return oneLine(
        asText(content.error) || (line.refused_by ? `refused by ${asText(line.refused_by)}` : exitText(line)),
      );
    case REQUEST:
      return oneLine([asText(line.model), tokenText(line), asText(line.error)].filter(Boolean).join(" · "));
    case UNREADABLE:
      return oneLine(line.unreadable);
    default:
      return oneLine(
        journalSentence(line, kind)
          .map((part) => (typeof part === "string" ? part : (part.code ?? part.quote)))
          .join(""),
      );
  }
}

function exitText(line) {
  return Number.isFinite(asNumber(line.exit_code)) ? `exit code ${line.exit_code}` : "";
}

function tokenText(line) {
  const [inward, outward] = [asNumber(line.tokens_in), asNumber(line.tokens_out)];
  if (!Number.isFinite(inward) && !Number.isFinite(outward)) return "";
  return `${(inward || 0).toLocaleString("en")} → ${(outward || 0).toLocaleString("en")} tokens`;
}
