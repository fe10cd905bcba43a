// Compares two texts, by line or, where both have one line, by word.

// The table of a comparison grows with the product of the lengths.
const MAX_DIFF_CELLS = 4_000_000;

/** Returns the parts of both texts as `[sign, text]` with sign " ", "-" or "+"; null if they are too long to compare. */
function diffParts(before, after) {
  let from = 0, oldEnd = before.length, newEnd = after.length;
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
      lengths[at] = before[i] === after[j]
        ? lengths[at + width + 1] + 1
        : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const parts = [];
  let i = 0, j = 0;
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
  const split = (text) => (isByWord ? text.match(/\s+|\w+|[^\s\w]/g) ?? [] : text.split("\n"));
  const parts = diffParts(split(before), split(after));
  if (!parts) return el("div", "", longText(before, "text old"), longText(after, "text new"));
  const block = el("pre", "diff");
  block.tabIndex = 0;
  if (isByWord) {
    block.append(wordLine("-", parts), wordLine("+", parts));
  } else {
    for (const [sign, text] of parts) {
      const tag = sign === "-" ? "del" : sign === "+" ? "ins" : "span";
      block.append(el(tag, "line", `${sign} ${visible(text)}\n`));
    }
  }
  return block;
}

/** Shows one side of a comparison by word, with the words that differ marked. */
function wordLine(sign, parts) {
  const line = el(sign === "-" ? "del" : "ins", "line", `${sign} `);
  for (const [side, text] of parts) {
    if (side === " ") line.append(visible(text));
    else if (side === sign) line.append(el("mark", "", visible(text)));
  }
  line.append("\n");
  return line;
}
