// Builds elements and formats values. Strings reach the page as text nodes only: nothing here parses HTML.

const TEXT_LIMIT = 4000;
const MAX_LISTED = 100;
// A year; more is an error of the writer.
const MAX_DURATION_MS = 366 * 24 * 3600 * 1000;
// The last moment that a Date can be.
const MAX_TIME_MS = 8.64e15;
// Work that takes longer is cut into slices, with time for the browser between them.
const SLICE_MS = 12;

/** Creates an element with a class, and with children that are elements or text. */
function el(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const child of children) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

function button(label, onClick, className = "plain") {
  const element = el("button", className, label);
  element.type = "button";
  element.addEventListener("click", onClick);
  return element;
}

// Characters that would change how the text around them is shown: controls, and marks of the writing direction.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Returns the text with invisible characters written out, so that it cannot pretend to be another text. */
function visible(text) {
  return text.replace(UNSEEN, (char) => {
    const code = char.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** Returns the value as one short line. */
function oneLine(value, limit = 160) {
  const text = typeof value === "string" ? value : jsonText(value, 0);
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return visible(cut.replace(/\s+/g, " ").trim());
}

/** Returns the value as JSON text; a value that is nested too deeply for that gives a note. */
function jsonText(value, indent = 2) {
  try {
    return JSON.stringify(value, null, indent) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
}

// What the journal holds is not trusted to have the types that its format names.
function asText(value) {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function asNumber(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : NaN;
}

function asList(value) {
  return Array.isArray(value) ? value : [];
}

/** Returns the beginning of a list, as far as it is shown. */
function listed(value, limit = MAX_LISTED) {
  return asList(value).slice(0, limit);
}

function asObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** Returns the value if it is a duration that can be true. */
function asDuration(value) {
  return typeof value === "number" && value >= 0 && value <= MAX_DURATION_MS ? value : NaN;
}

/** Returns the value if it is a whole number that a command line can name. */
function asSeq(value) {
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < 0.0995) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_599_500) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

function bytes(count) {
  if (!Number.isFinite(count)) return "";
  if (count < 1000) return plural(count, "byte");
  return count < 1e6 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const SHORT_DATE = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** Formats a time in milliseconds, or returns nothing where it is not known. */
function formatTime(format, ms) {
  return Math.abs(ms) <= MAX_TIME_MS ? format.format(ms) : "";
}

const AGENT_TITLES = new Map([
  ["hookwright", "Hookwright"],
  ["claude", "Claude Code"],
  ["codex", "Codex"],
  ["gemini", "Gemini CLI"],
  ["copilot", "Copilot"],
  ["qwen", "Qwen Code"],
  ["opencode", "opencode"],
  ["droid", "Droid"],
  ["cursor", "Cursor"],
]);

function agentTitle(agent) {
  return AGENT_TITLES.get(agent) ?? oneLine(agent, 40);
}

/** Shows a text that may be long: its beginning, and the rest on request. */
function longText(text, className = "text") {
  const block = el("pre", className, visible(text.slice(0, TEXT_LIMIT)));
  // What scrolls must be reachable by keyboard.
  block.tabIndex = 0;
  if (text.length <= TEXT_LIMIT) return block;
  const more = button(`Show all (${bytes(text.length)})`, () => {
    block.textContent = visible(text);
    more.remove();
    block.focus();
  });
  return el("div", "", block, more);
}

function pill(code, word) {
  return el("span", `pill v-${code}`, word);
}

/** Shows a command with a button that copies it. */
function copyCommand(command) {
  const code = el("code", "", command);
  const label = el("span", "", "Copy");
  const copy = button(label, async () => {
    label.textContent = (await copyText(command, code)) ? "Copied" : "Select and copy";
    setTimeout(() => (label.textContent = "Copy"), 1500);
  });
  copy.setAttribute("aria-label", `Copy ${command}`);
  return el("div", "command", code, copy);
}

async function copyText(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}

/** Lets the browser draw and react before the work goes on. */
const nextTask = (() => {
  const channel = new MessageChannel();
  const waiting = [];
  channel.port1.onmessage = () => waiting.shift()();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      channel.port2.postMessage(null);
    });
})();
