// What the tests of the journal page share: a browser, pages made by the program, and a record of what they loaded.
//
// HOOKWRIGHT_JOURNAL_PAGE names the program `journal_page` (a cargo example), HOOKWRIGHT_PAGE_MODULES the folder that
// npm put playwright-core and axe-core into, HOOKWRIGHT_CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const modules = process.env.HOOKWRIGHT_PAGE_MODULES;
const program = process.env.HOOKWRIGHT_JOURNAL_PAGE;
assert.ok(modules && program, "HOOKWRIGHT_PAGE_MODULES and HOOKWRIGHT_JOURNAL_PAGE must be set");
export const require = createRequire(join(modules, "/"));
const { chromium } = require("playwright-core");

const PROGRAM_TIMEOUT_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), "journal-page-"));
let starting;
let browser;
let pageCount = 0;

/** Starts the browser, once for all files of tests. */
export async function startBrowser() {
  browser = await (starting ??= launch());
}

function launch() {
  const executablePath =
    process.env.HOOKWRIGHT_CHROMIUM ??
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  // The page's own policy is under test, not the browser's sandbox, which needs rights that containers lack.
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

export async function stopBrowser() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Writes lines to a file; they are strings or values. */
export function writeLines(lines, name = `lines-${++pageCount}.jsonl`) {
  const path = join(folder, name);
  const file = openSync(path, "w");
  let pending = "";
  for (const line of lines) {
    pending += `${typeof line === "string" ? line : JSON.stringify(line)}\n`;
    if (pending.length > 1 << 20) {
      writeSync(file, pending);
      pending = "";
    }
  }
  writeSync(file, pending);
  closeSync(file);
  return path;
}

function writeMeta(meta) {
  const path = join(folder, `meta-${++pageCount}.json`);
  writeFileSync(path, JSON.stringify({ title: "Journal", hooks: [], ...meta }));
  return path;
}

/** Has the program write a page; returns its address. */
export function writePage(lines, meta = {}) {
  const path = join(folder, `page-${++pageCount}.html`);
  execFileSync(program, ["write", writeMeta(meta), writeLines(lines), path], { timeout: PROGRAM_TIMEOUT_MS });
  return pathToFileURL(path).href;
}

/** Starts the program's server for a file of lines. */
export async function serve(linesPath, meta = {}) {
  const server = spawn(program, ["serve", writeMeta(meta), linesPath], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", (line) => resolve([line]));
    server.once("exit", () => reject(new Error("the server ended")));
  });
  return { url, stop: () => new Promise((resolve) => (server.once("exit", resolve), server.stdin.end())) };
}

/** Opens a page, runs the test with it, and checks that it threw nothing and loaded nothing but itself. */
export async function withPage(url, options, test) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 860 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    ...options,
  });
  const problems = [];
  const own = url.startsWith("http") ? new URL(".", url).href : url;
  context.on("request", (request) => {
    const isOwn = request.url().startsWith(own.replace(/#.*/, "")) || request.url() === "data:,";
    if (!isOwn) problems.push(`requested ${request.url()}`);
  });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on("pageerror", (error) => problems.push(`threw ${error.stack}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") problems.push(`said ${message.text()}`);
    });
    page.on("dialog", (dialog) => {
      problems.push(`opened a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    await page.goto(url, { waitUntil: "commit" });
    await ready(page);
    try {
      await test(page, problems);
    } catch (error) {
      throw problems.length ? new Error(`the page ${problems.join("; it ")}`, { cause: error }) : error;
    }
    assert.deepEqual(problems, []);
    assert.equal(context.pages().length, 1, "another page was opened");
  } finally {
    await context.close();
  }
}

/** Waits until the page has read all its lines and shows them. */
export async function ready(page) {
  await page.waitForFunction(
    () => {
      const count = document.getElementById("count")?.textContent ?? "Reading";
      const isSettled = !count.startsWith("Reading") && count !== "Searching…";
      return isSettled && document.getElementById("range").textContent !== "";
    },
    null,
    { timeout: 90_000 },
  );
}

/** Waits until the text beside the filters says this. */
export function shows(page, count) {
  return page.waitForFunction((text) => document.getElementById("count").textContent === text, count);
}
