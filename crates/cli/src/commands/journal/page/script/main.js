// Reads the page's data, and connects filters, views and keys.

// How often the list grows while lines are read.
const REFRESH_MS = 700;
const MAX_OPTIONS = 500;
const THEMES = ["system", "light", "dark"];

class Page {
  constructor() {
    this.meta = asObject(parseLine(byId("meta").textContent));
    this.store = new LineStore();
    this.filter = new Filter();
    this.generation = 0;
    this.isReading = true;
    const actions = {
      close: () => this.closeDetail(),
      goTo: (row) => this.goTo(row),
      hook: (id) => this.filterBy({ hook: id }),
      period: (since, until) => this.filterBy({ since, until }),
    };
    if (this.meta.live === true) actions.why = fetchStory;
    this.timeline = new Timeline(this.store, (row, takesFocus) => this.openDetail(row, takesFocus));
    this.detail = new Detail(this.store, actions);
    this.overview = new Overview(this.store, this.meta, actions);
    this.found = new Column(Uint32Array);
    this.isOverview = false;
  }

  async start() {
    const title = oneLine(asText(this.meta.title) || "Journal", 200);
    byId("title").textContent = title;
    document.title = title;
    this.connectFilters();
    this.connectViews();
    this.connectKeys();
    // Each block is a JSON array whose brackets have lines of their own.
    for (const block of document.querySelectorAll("script.lines")) await this.add(block.textContent.slice(2, -2));
    this.isReading = this.meta.live === true;
    await this.refresh();
    this.openFromAddress();
    if (this.meta.live === true) {
      const feed = new LiveFeed(
        (text) => this.add(text),
        () => this.onIdle(),
      );
      await feed.follow();
    }
  }

  /** Adds lines in slices. */
  async add(text) {
    if (!text) return;
    let sliceEnd = performance.now() + SLICE_MS;
    this.nextRefresh ??= performance.now() + REFRESH_MS;
    for (const _ of this.store.addText(text)) {
      if (performance.now() < sliceEnd) continue;
      await nextTask();
      if (performance.now() > this.nextRefresh) {
        this.describe();
        // Later refreshes are rarer: each one goes through all lines.
        this.nextRefresh = performance.now() + REFRESH_MS + this.store.length / 20;
        await this.refresh();
      }
      sliceEnd = performance.now() + SLICE_MS;
    }
    this.isStale = true;
  }

  async onIdle() {
    if (!this.isStale && !this.isReading) return;
    this.isStale = false;
    this.isReading = false;
    await this.refresh();
  }

  /** Applies the filter and shows the result. */
  async refresh() {
    const generation = ++this.generation;
    if (this.filter.text && this.store.length > 5000) byId("count").textContent = "Searching…";
    const found = await filterRows(this.store, this.filter, () => generation !== this.generation);
    if (!found) return;
    this.found = found;
    this.fillFilters();
    this.timeline.show(found);
    if (this.isOverview) this.overview.show(found);
    this.describe();
  }

  /** Says what is shown. */
  describe() {
    const { store } = this;
    const times = store.rows.time.values;
    const [first, last] = [times[0], times[store.length - 1]];
    const range = [formatTime(DATE, first), formatTime(DATE, last)].filter(Boolean);
    const period = range[0] === range[1] ? range[0] : range.join(" – ");
    byId("range").textContent = [plural(store.length, "line"), period].filter(Boolean).join(" · ");
    const active = this.filter.isActive();
    const shown = active ? `${this.found.length.toLocaleString("en")} of ${plural(store.length, "line")}` : "";
    byId("count").textContent = this.isReading ? `Reading: ${plural(store.length, "line")}` : shown;
    byId("reset").hidden = !active;
    const empty = byId("empty");
    empty.hidden = this.found.length > 0 || this.isReading;
    empty.textContent = store.length ? "No line passes these filters." : "The journal has no lines yet.";
    const periodButton = byId("period");
    periodButton.hidden = !this.filter.hasPeriod();
    periodButton.textContent = this.filter.hasPeriod() ? `${periodTitle(this.filter)} ✕` : "";
  }

  connectFilters() {
    let typing = 0;
    byId("text").addEventListener("input", (event) => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        this.filter.text = event.target.value.trim();
        this.refresh();
      }, 120);
    });
    for (const name of ["agent", "event", "hook", "effect"]) {
      byId(name).addEventListener("change", (event) => {
        this.filter[name] = Number(event.target.value);
        this.refresh();
      });
    }
    byId("reset").addEventListener("click", () => this.clearFilters());
    byId("period").addEventListener("click", () => this.filterBy({ since: -Infinity, until: Infinity }));
    for (const code of [STOP, DENY, ASK, CONFINE, ALLOW, PASS]) byId("verdicts").append(this.verdictChip(code));
  }

  verdictChip(code) {
    const chip = button(
      "",
      () => {
        if (!this.filter.verdicts.delete(code)) this.filter.verdicts.add(code);
        this.refresh();
      },
      `chip v-${VERDICTS[code]}`,
    );
    chip.dataset.code = code;
    chip.setAttribute("aria-pressed", "false");
    chip.append(el("span", "", VERDICTS[code]), el("span", "chip-count", "0"));
    return chip;
  }

  filterBy(change) {
    Object.assign(this.filter, change);
    this.showView(false);
    this.refresh();
  }

  clearFilters() {
    this.filter.clear();
    byId("text").value = "";
    this.refresh();
    byId("text").focus();
  }

  /** Puts names and counts into the filters. */
  fillFilters() {
    const { store, filter } = this;
    for (const chip of byId("verdicts").children) {
      const code = Number(chip.dataset.code);
      chip.lastChild.textContent = store.verdictCounts[code].toLocaleString("en");
      chip.setAttribute("aria-pressed", String(filter.verdicts.has(code)));
    }
    fillSelect("agent", "All agents", store.agents, filter.agent, agentTitle);
    fillSelect("event", "All events", store.events, filter.event, (name) => name);
    fillSelect("hook", "All hooks", store.hooks, filter.hook, (name) => name);
    const effects = { names: [...EFFECTS, "unsure"], counts: null };
    fillSelect("effect", "All effects", effects, filter.effect, (name) => name);
  }

  connectViews() {
    byId("show-timeline").addEventListener("click", () => this.showView(false));
    byId("show-overview").addEventListener("click", () => this.showView(true));
    byId("order").addEventListener("click", (event) => {
      this.timeline.newestFirst = !this.timeline.newestFirst;
      event.target.textContent = this.timeline.newestFirst ? "Newest turn first" : "Oldest turn first";
      this.timeline.show(this.found);
      this.timeline.list.scrollTop = 0;
    });
    byId("theme").addEventListener("click", () => {
      const theme = document.documentElement.dataset.theme ?? "system";
      this.setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    });
  }

  setTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = `Theme: ${theme}`;
    byId("theme").setAttribute("aria-label", `Theme: ${theme}`);
  }

  showView(isOverview) {
    this.isOverview = isOverview;
    byId("timeline").hidden = isOverview;
    byId("overview").hidden = !isOverview;
    byId("show-timeline").setAttribute("aria-pressed", String(!isOverview));
    byId("show-overview").setAttribute("aria-pressed", String(isOverview));
    if (isOverview) this.overview.show(this.found);
    else this.timeline.layout();
  }

  connectKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const isTyping = event.target.matches("input, select, textarea");
      if (event.key === "Escape") this.onEscape(event.target);
      else if (isTyping) return;
      else if (event.key === "/") byId("text").focus();
      else if ("jknN".includes(event.key) && !this.isOverview) {
        this.timeline.list.focus();
        this.timeline.onKey(event);
      } else return;
      event.preventDefault();
    });
  }

  /** Goes one step back: from the search to the list, then out of the details. */
  onEscape(target) {
    if (target === byId("text") && target.value) {
      target.value = "";
      this.filter.text = "";
      this.refresh();
    } else if (target === byId("text")) {
      this.timeline.list.focus();
    } else if (this.detail.row >= 0) {
      this.closeDetail();
    }
  }

  openDetail(row, takesFocus) {
    this.detail.show(row, takesFocus);
    const seq = this.store.rows.seq.values[row];
    if (seq >= 0) history.replaceState(null, "", `#${seq}`);
  }

  closeDetail() {
    this.detail.hide();
    this.timeline.close();
    history.replaceState(null, "", " ");
  }

  /** Goes to a line, without the filters if they hide it. */
  async goTo(row) {
    if (this.timeline.reveal(row)) return;
    this.filter.clear();
    byId("text").value = "";
    await this.refresh();
    this.timeline.reveal(row);
  }

  openFromAddress() {
    const seq = /^#(\d{1,15})$/.exec(location.hash);
    const row = seq ? this.store.rowOfSeq(Number(seq[1])) : -1;
    if (row >= 0) this.goTo(row);
  }
}

function periodTitle({ since, until }) {
  const clock = (time) => formatTime(MINUTES, time);
  return `${formatTime(SHORT_DATE, since)}, ${clock(since)} – ${clock(until)}`;
}

/** Fills a list of names, the most frequent first, unless it already holds them. */
function fillSelect(id, all, names, chosen, title) {
  const select = byId(id);
  const size = names.names.length;
  if (select.dataset.size !== String(size)) {
    const order = [...names.names.keys()].filter((at) => names.names[at] !== "");
    if (names.counts) order.sort((a, b) => names.counts[b] - names.counts[a]);
    const shown = order.slice(0, MAX_OPTIONS).map((at) => option(at, oneLine(title(names.names[at]), 60)));
    select.replaceChildren(option(-1, all), ...shown);
    select.dataset.size = size;
  }
  select.value = String(chosen);
}

function option(value, text) {
  const element = el("option", "", text);
  element.value = value;
  return element;
}

new Page().start();
