// Says which lines are shown.

class Filter {
  constructor() {
    this.clear();
  }

  clear() {
    this.verdicts = new Set();
    this.agent = -1;
    this.event = -1;
    this.hook = -1;
    this.effect = -1;
    this.text = "";
    this.since = -Infinity;
    this.until = Infinity;
  }

  isActive() {
    return (
      this.verdicts.size > 0 ||
      this.agent >= 0 ||
      this.event >= 0 ||
      this.hook >= 0 ||
      this.effect >= 0 ||
      this.text !== "" ||
      this.hasPeriod()
    );
  }

  hasPeriod() {
    return this.since > -Infinity || this.until < Infinity;
  }

  /** Says whether a line passes everything but the text. */
  accepts(store, row) {
    const { rows } = store;
    if (this.verdicts.size && !this.verdicts.has(rows.verdict.values[row])) return false;
    if (this.agent >= 0 && rows.agent.values[row] !== this.agent) return false;
    if (this.event >= 0 && rows.event.values[row] !== this.event) return false;
    if (this.effect >= 0 && !(rows.effects.values[row] & (1 << this.effect))) return false;
    if (this.hasPeriod()) {
      const time = rows.time.values[row];
      if (!(time >= this.since && time < this.until)) return false;
    }
    return this.hook < 0 || this.hasHook(store, row);
  }

  hasHook(store, row) {
    let found = false;
    store.eachRun(row, (run) => {
      found ||= store.runs.hook.values[run] === this.hook;
    });
    return found;
  }
}

/** Finds a text in the values of lines, in any case. */
class TextSearch {
  constructor(text) {
    this.wanted = text.toLowerCase();
    // Most lines are ruled out without parsing them. The text stands in them as JSON writes it; "<" may be escaped.
    const written = JSON.stringify(text)
      .slice(1, -1)
      .replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    this.pattern = new RegExp(written.replaceAll("<", "(?:<|\\\\u003c)"), "i");
  }

  matches(text) {
    if (!this.pattern.test(text)) return false;
    const line = parseLine(text);
    // The story repeats what the line says, in words of its own.
    delete line.why;
    return line.kind === UNREADABLE_KIND || this.isInValues(line);
  }

  /** Looks through all values, without recursion: a line may be nested as deeply as its writer wants. */
  isInValues(line) {
    const open = [line];
    while (open.length) {
      const value = open.pop();
      if (value !== null && typeof value === "object") {
        for (const key in value) open.push(value[key]);
      } else if (value !== null && String(value).toLowerCase().includes(this.wanted)) {
        return true;
      }
    }
    return false;
  }
}

/** Finds the lines that a filter lets through, in slices; returns null if `isStale` says that nobody waits for them. */
async function filterRows(store, filter, isStale) {
  const search = filter.text ? new TextSearch(filter.text) : null;
  const found = new Column(Uint32Array);
  let sliceEnd = performance.now() + SLICE_MS;
  for (let row = 0; row < store.length; row++) {
    if (filter.accepts(store, row) && (!search || search.matches(store.text(row)))) found.push(row);
    if ((row & 127) === 0 && performance.now() > sliceEnd) {
      await nextTask();
      if (isStale()) return null;
      sliceEnd = performance.now() + SLICE_MS;
    }
  }
  return found;
}
