// The list of turns and their lines. Only what can be seen, and a little more, has elements.

const OVERSCAN_ROWS = 8;

class Timeline {
  constructor(store, onOpen) {
    this.store = store;
    this.onOpen = onOpen;
    this.rowView = new RowView(store);
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
    let length = 0,
      turnCount = 0;
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
    let low = 0,
      high = this.items.length - 1;
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
    const element = item < 0 ? this.makeTurn(-1 - item) : this.rowView.row(item);
    element.id = `item-${index}`;
    element.dataset.index = index;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", item < 0 ? "1" : "2");
    element.setAttribute("aria-setsize", this.items.length);
    element.setAttribute("aria-posinset", index + 1);
    element.style.transform = `translateY(${this.top(index)}px)`;
    return element;
  }

  makeTurn(id) {
    return this.rowView.turn(this.store.turns[id], this.counts[id]);
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
      ["j", 1],
      ["ArrowDown", 1],
      ["k", -1],
      ["ArrowUp", -1],
      ["PageDown", page],
      ["PageUp", -page],
      ["Home", -Infinity],
      ["End", Infinity],
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

function isNarrow() {
  return matchMedia("(max-width: 760px)").matches;
}
