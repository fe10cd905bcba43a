// The list of turns and their lines. Only what can be seen, and a little more, has elements.

const OVERSCAN_ROWS = 8;
const MAX_HOOK_BARS = 7;
const HOOK_BAR_MIN_PX = 4, HOOK_BAR_MAX_PX = 34;

class Timeline {
  constructor(store, onOpen) {
    this.store = store;
    this.onOpen = onOpen;
    this.list = byId("list");
    this.rows = byId("rows");
    // A turn is -1 - its number, a line its row.
    this.items = new Int32Array(0);
    this.turnsBefore = new Uint32Array(0);
    this.active = -1;
    this.opened = -1;
    this.newestFirst = true;
    this.elements = new Map();
    this.measure();
    this.list.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("focus", () => this.onFocus());
    this.rows.addEventListener("click", (event) => this.onClick(event));
    new ResizeObserver(() => this.onResize()).observe(this.list);
  }

  /** Reads the heights that the style sheet sets for this width. */
  measure() {
    const style = getComputedStyle(this.list);
    this.rowHeight = parseFloat(style.getPropertyValue("--row-height")) || 30;
    this.turnHeight = parseFloat(style.getPropertyValue("--turn-height")) || 40;
  }

  onResize() {
    const before = this.rowHeight;
    this.measure();
    if (before !== this.rowHeight) this.clearElements();
    this.layout();
  }

  /** Shows these lines, grouped by turn. */
  show(found) {
    const anchor = this.items.length && this.list.scrollTop > 0 ? this.items[this.itemAt(this.list.scrollTop)] : null;
    const offset = anchor === null ? 0 : this.list.scrollTop - this.top(this.indexOf(anchor));
    const activeItem = this.items[this.active];
    this.found = found;
    this.group();
    this.clearElements();
    this.layout();
    this.active = activeItem === undefined ? -1 : this.indexOf(activeItem);
    const at = anchor === null ? -1 : this.indexOf(anchor);
    this.list.scrollTop = at < 0 ? 0 : this.top(at) + offset;
    this.render();
  }

  /** Puts the lines in the order in which they are listed. */
  group() {
    const { store, found } = this;
    const isFound = new Uint8Array(store.length);
    const counts = new Uint32Array(store.turns.length);
    for (let at = 0; at < found.length; at++) {
      isFound[found.values[at]] = 1;
      counts[store.rows.turn.values[found.values[at]]] += 1;
    }
    const items = new Int32Array(found.length + store.turns.length);
    const turnsBefore = new Uint32Array(items.length + 1);
    let length = 0, turnCount = 0;
    const push = (item) => {
      turnsBefore[length] = turnCount;
      items[length++] = item;
    };
    for (let at = 0; at < store.turns.length; at++) {
      const turn = store.turns[this.newestFirst ? store.turns.length - 1 - at : at];
      if (!counts[turn.id]) continue;
      push(-1 - turn.id);
      turnCount += 1;
      if (!turn.folded) store.eachRowOfTurn(turn, (row) => isFound[row] && push(row));
    }
    turnsBefore[length] = turnCount;
    this.counts = counts;
    this.turnCount = turnCount;
    this.items = items.subarray(0, length);
    this.turnsBefore = turnsBefore;
  }

  layout() {
    this.rows.style.height = `${this.top(this.items.length)}px`;
    this.render();
  }

  /** Returns where an item begins; its own kind counts from its end on. */
  top(index) {
    return index * this.rowHeight + this.turnsBefore[index] * (this.turnHeight - this.rowHeight);
  }

  /** Returns the item at a height, by bisection. */
  itemAt(y) {
    let low = 0, high = this.items.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  indexOf(item) {
    return this.items.indexOf(item);
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.render();
    });
  }

  /** Makes the elements of what can be seen, and drops the others. */
  render() {
    const { scrollTop, clientHeight } = this.list;
    if (!this.items.length) {
      this.clearElements();
      return;
    }
    const first = Math.max(0, this.itemAt(scrollTop) - OVERSCAN_ROWS);
    const last = Math.min(this.items.length - 1, this.itemAt(scrollTop + clientHeight) + OVERSCAN_ROWS);
    for (const [index, element] of this.elements) {
      if (index < first || index > last) {
        element.remove();
        this.elements.delete(index);
      }
    }
    const added = document.createDocumentFragment();
    for (let index = first; index <= last; index++) {
      if (this.elements.has(index)) continue;
      const element = this.makeItem(index);
      this.elements.set(index, element);
      added.append(element);
    }
    this.rows.append(added);
    this.mark();
  }

  clearElements() {
    this.rows.replaceChildren();
    this.elements.clear();
  }

  makeItem(index) {
    const item = this.items[index];
    const element = item < 0 ? this.makeTurn(this.store.turns[-1 - item]) : this.makeRow(item);
    element.id = `item-${index}`;
    element.dataset.index = index;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", item < 0 ? "1" : "2");
    element.setAttribute("aria-setsize", this.items.length);
    element.setAttribute("aria-posinset", index + 1);
    element.style.transform = `translateY(${this.top(index)}px)`;
    return element;
  }

  makeTurn(turn) {
    const fold = el("span", "fold", turn.folded ? "▸" : "▾");
    fold.setAttribute("aria-hidden", "true");
    const prompt = turn.prompt >= 0 ? mainArgument(this.store.line(turn.prompt)) : "";
    const title = turn.isOfJournal ? "Journal" : agentTitle(turn.agent) || "Unknown agent";
    const place = [turn.project.split("/").filter(Boolean).pop() ?? "", turn.name || turn.session.slice(0, 8)];
    const head = el("span", "turn-title", el("b", "", title), el("span", "quiet", oneLine(place.filter(Boolean).join(" · "), 60)));
    const span = turn.end - turn.start;
    const axis = el("span", "axis", el("span", "", "0"), el("span", "", span > 0 ? duration(span) : ""));
    axis.setAttribute("aria-hidden", "true");
    const shown = this.counts[turn.id];
    const count = shown === turn.count ? plural(turn.count, "line") : `${shown} of ${plural(turn.count, "line")}`;
    const about = el("span", "turn-about", fold, el("span", "turn-time", this.turnTime(turn)), head,
      el("span", "prompt", oneLine(prompt, 200)));
    const element = el("div", "item turn", about, axis, el("span", "took", count));
    element.setAttribute("aria-expanded", String(!turn.folded));
    return element;
  }

  turnTime(turn) {
    if (!Number.isFinite(turn.start)) return "no time";
    return `${formatTime(SHORT_DATE, turn.start)}, ${formatTime(MINUTES, turn.start)}`;
  }

  makeRow(row) {
    const { store } = this;
    const { rows } = store;
    const line = store.line(row);
    const kind = rows.kind.values[row];
    const time = el("time", "time", formatTime(CLOCK, rows.time.values[row]) || "–");
    time.title = oneLine(asText(line.time), 40);
    return el("div", "item row", time,
      el("span", "verdict", rowPill(line, kind, rows.verdict.values[row])),
      el("span", "event", oneLine(store.events.names[rows.event.values[row]], 40)),
      el("span", "call", ...this.callCell(row, line, kind)),
      this.hooksCell(row, line),
      this.lane(row, kind),
      el("span", "took", duration(rows.ms.values[row])));
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
    const className = kind === CALL ? "k-call" : kind === REQUEST ? "k-request" : `v-${VERDICTS[rows.verdict.values[row]]}`;
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

  /** Marks the active item and the opened one. */
  mark() {
    for (const [index, element] of this.elements) {
      const isActive = index === this.active;
      element.classList.toggle("active", isActive);
      element.setAttribute("aria-selected", String(this.items[index] >= 0 && this.items[index] === this.opened));
    }
    const element = this.elements.get(this.active);
    if (element) this.list.setAttribute("aria-activedescendant", element.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** Makes an item the active one, and scrolls it into view. */
  activate(index) {
    if (!this.items.length) return;
    this.active = Math.min(Math.max(index, 0), this.items.length - 1);
    const top = this.top(this.active);
    const bottom = this.top(this.active + 1);
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop) this.list.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) this.list.scrollTop = bottom - clientHeight;
    this.render();
    // In a wide window the details follow.
    if (this.opened >= 0 && this.items[this.active] >= 0 && !isNarrow()) this.open(this.items[this.active], false);
  }

  /** Shows a line's details. */
  open(row, takesFocus) {
    this.opened = row;
    this.mark();
    this.onOpen(row, takesFocus);
  }

  close() {
    this.opened = -1;
    this.mark();
    this.list.focus();
  }

  /** Goes to a line, wherever it is; returns whether it is listed. */
  reveal(row) {
    const turn = this.store.turns[this.store.rows.turn.values[row]];
    if (turn.folded) this.fold(turn, false);
    const index = this.indexOf(row);
    if (index < 0) return false;
    this.activate(index);
    this.open(row, false);
    return true;
  }

  fold(turn, folded) {
    if (turn.folded === folded) return;
    turn.folded = folded;
    this.show(this.found);
    this.activate(this.indexOf(-1 - turn.id));
  }

  onFocus() {
    if (this.active < 0) this.activate(this.itemAt(this.list.scrollTop));
  }

  onClick(event) {
    const element = event.target.closest(".item");
    if (!element) return;
    this.activate(Number(element.dataset.index));
    this.press();
  }

  /** Opens the active line, or folds the active turn. */
  press() {
    const item = this.items[this.active];
    if (item === undefined) return;
    if (item >= 0) this.open(item, true);
    else this.fold(this.store.turns[-1 - item], !this.store.turns[-1 - item].folded);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / this.rowHeight) - 1);
    const moves = new Map([
      ["j", 1], ["ArrowDown", 1], ["k", -1], ["ArrowUp", -1], ["PageDown", page], ["PageUp", -page],
      ["Home", -Infinity], ["End", Infinity],
    ]);
    if (moves.has(event.key)) this.activate(this.active + moves.get(event.key));
    else if (event.key === "Enter" || event.key === " ") this.press();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.foldActive(event.key === "ArrowLeft");
    else if (event.key === "n" || event.key === "N") this.nextRefusal(event.key === "n" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  foldActive(folded) {
    const item = this.items[this.active];
    if (item === undefined) return;
    this.fold(this.store.turns[item < 0 ? -1 - item : this.store.rows.turn.values[item]], folded);
  }

  nextRefusal(step) {
    for (let index = this.active + step; index >= 0 && index < this.items.length; index += step) {
      if (this.items[index] >= 0 && this.store.isRefusal(this.items[index])) {
        this.activate(index);
        return;
      }
    }
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

function isNarrow() {
  return matchMedia("(max-width: 760px)").matches;
}

const CALL_RESULTS = new Map([["ran", "ran"], ["failed", "failed"], ["refused", "deny"], ["cancelled", "none"]]);

function rowPill(line, kind, verdict) {
  if (kind === EVENT) return pill(VERDICTS[verdict], verdict === NONE ? "–" : VERDICTS[verdict]);
  if (kind === CALL) {
    const known = CALL_RESULTS.get(line.result);
    return pill(known ?? "none", known ? line.result : "–");
  }
  if (kind === GAP || kind === UNREADABLE) return pill("failed", KINDS[kind] === "gap" ? "gap" : "damaged");
  return pill("none", kind === REQUEST && line.error ? "failed" : "–");
}

/** Returns what a row says of its line beside the tool. */
function rowSummary(line, kind) {
  const content = asObject(line.content);
  switch (kind) {
    case EVENT:
      return oneLine(mainArgument(line) || (line.withheld ? `content withheld: ${asText(line.withheld)}` : ""));
    case CALL:
      return oneLine(asText(content.error) || (line.refused_by ? `refused by ${asText(line.refused_by)}` : exitText(line)));
    case REQUEST:
      return oneLine([asText(line.model), tokenText(line), asText(line.error)].filter(Boolean).join(" · "));
    case UNREADABLE:
      return oneLine(line.unreadable);
    default:
      return oneLine(journalSentence(line, kind).map((part) => (typeof part === "string" ? part : part.code ?? part.quote)).join(""));
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
