// Compares two texts, by line or, where both have one line, by word.

// The table of a comparison grows with the product of the lengths.
const MAX_DIFF_CELLS = 4_000_000;
const MAX_DIFF_CHARS = 200_000;
// How many lines that stayed are shown beside one that changed.
const CONTEXT_LINES = 3;

/** Returns the parts of both texts as `[sign, text]`, sign " ", "-" or "+"; null if they are too long to compare. */
function diffParts(before, after) {
  let from = 0,
    oldEnd = before.length,
    newEnd = after.length;
  while (from < oldEnd && from < newEnd && before[from] === after[from]) from += 1;
  while (oldEnd > from && newEnd > from && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd -= 1;
    newEnd -= 1;
  }
  const middle = diffMiddle(before.slice(from, oldEnd), after.slice(from, newEnd));
  if (!middle) return null;
  const same = (parts) => parts.map((part) => [" ", part]);
  return [...same(before.slice(0, from)), ...middle, ...same(before.slice(oldEnd))];
}

/** Compares by the longest common subsequence. */
function diffMiddle(before, after) {
  const width = after.length + 1;
  if ((before.length + 1) * width > MAX_DIFF_CELLS) return null;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] =
        before[i] === after[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const parts = [];
  let i = 0,
    j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      parts.push([" ", before[i++]]);
      j += 1;
    } else if (j >= after.length || (i < before.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      parts.push(["-", before[i++]]);
    } else {
      parts.push(["+", after[j++]]);
    }
  }
  return parts;
}

/** Shows what became of a text. */
function diffBlock(before, after) {
  const isByWord = !before.includes("\n") && !after.includes("\n");
  const split = (text) => (isByWord ? (text.match(/\s+|\w+|[^\s\w]/gu) ?? []) : text.split("\n"));
  const isShort = before.length + after.length <= MAX_DIFF_CHARS;
  const parts = isShort ? diffParts(split(before), split(after)) : null;
  if (!parts) return el("div", "", longText(before, "text old"), longText(after, "text new"));
  const block = el("pre", "diff");
  block.tabIndex = 0;
  block.append(...(isByWord ? [wordLine("-", parts), wordLine("+", parts)] : changedLines(parts)));
  return block;
}

/** Shows one side of a comparison by word, with the words that differ marked. */
function wordLine(sign, parts) {
  const line = el(sign === "-" ? "del" : "ins", "line", `${sign} `);
  let run = "",
    runSide = " ";
  const flush = () => {
    if (run) line.append(runSide === " " ? visible(run) : el("mark", "", visible(run)));
    run = "";
  };
  for (const [side, text] of parts) {
    if (side !== " " && side !== sign) continue;
    if (side !== runSide) flush();
    runSide = side;
    run += text;
  }
  flush();
  return line;
}

/** Shows the lines that changed, with a few of those around them. */
function changedLines(parts) {
  const changed = parts.flatMap(([sign], at) => (sign === " " ? [] : [at]));
  const lines = [];
  let next = 0,
    omitted = 0;
  parts.forEach(([sign, text], at) => {
    while (changed[next] < at - CONTEXT_LINES) next += 1;
    if (!(Math.abs(changed[next] - at) <= CONTEXT_LINES)) {
      omitted += 1;
      return;
    }
    if (omitted) lines.push(omission(omitted));
    omitted = 0;
    const tag = sign === "-" ? "del" : sign === "+" ? "ins" : "span";
    lines.push(el(tag, "line", `${sign} ${visible(text)}`));
  });
  if (omitted) lines.push(omission(omitted));
  return lines;
}

function omission(count) {
  return el("span", "line quiet", `  … ${plural(count, "line")} as before`);
}
