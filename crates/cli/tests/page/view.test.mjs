// The page renders, filters, tells its story, and can be used with keys alone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { serve, shows, startBrowser, stopBrowser, withPage, writePage } from "./browser.mjs";
import { SAMPLE_HOOKS, sampleLines } from "./sample.mjs";

before(startBrowser);
after(stopBrowser);

const PUSH = {
  seq: 4821,
  prev: "9f",
  time: "2026-11-18T16:02:03.120Z",
  kind: "event",
  agent: "claude",
  agent_version: "2.1.30",
  project: "/home/u/app",
  session: "5b1c",
  turn: "t-3",
  call: "toolu_01",
  event: "BeforeTool",
  host_event: "PreToolUse",
  tool: "run_shell_command",
  host_tool: "Bash",
  verdict: "deny",
  decided_by: ["no-force-push"],
  ms: 3.4,
  hooks: [
    { hook: "log", source: "user", type: "command", status: "ok", exit_code: 0, ms: 2.5 },
    {
      hook: "no-force-push",
      source: "project",
      type: "rule",
      guard: true,
      status: "ok",
      decision: "deny",
      ms: 0.031,
      matched: "always",
    },
    { hook: "try-me", source: "project", type: "rule", mode: "shadow", status: "ok", decision: "stop", ms: 0.02 },
    {
      hook: "slow",
      source: "project",
      type: "command",
      guard: true,
      status: "timed_out",
      failure: "timeout",
      decision: "deny",
      ms: 3,
    },
  ],
  told: { verdict: "deny", exit: 2 },
  lost: [{ wanted: "stop", became: "deny" }],
  confined: ["no network"],
  left_out: ["hook x: the folder is not trusted"],
  unarmed: ["guard y is not armed"],
  content: {
    salt: "0",
    input: { tool_name: "run_shell_command", tool_input: { command: "git push --force", note: "one\ntwo\nthree" } },
    effects: { commands: [["git", "push", "--force"]], network: ["origin"], certain: false, unsure: ["writes"] },
    reason: "rewrites shared history",
    changes: { command: "git push --force-with-lease", note: "one\n2\nthree" },
    runs: [{ stdout: "logged" }, { reason: "rewrites shared history" }, {}, { error: "no answer within 3 ms" }],
  },
};
const REFUSED = {
  seq: 4822,
  time: "2026-11-18T16:02:03.200Z",
  kind: "call",
  agent: "claude",
  session: "5b1c",
  turn: "t-3",
  call: "toolu_01",
  tool: "run_shell_command",
  result: "refused",
  refused_by: "hook",
};
const READ = {
  ...PUSH,
  seq: 4823,
  call: "toolu_02",
  event: "BeforeTool",
  tool: "read_file",
  verdict: "pass",
  decided_by: [],
  hooks: [],
  told: undefined,
  lost: undefined,
  confined: undefined,
  left_out: undefined,
  unarmed: undefined,
  content: {
    salt: "1",
    input: { tool_input: { file_path: "notes.md" } },
    effects: { reads: ["notes.md"], certain: true },
  },
};

const visibleText = (page, selector) =>
  page.locator(selector).evaluate((element) => element.innerText.replace(/\s+/g, " "));

test("the sample journal is listed by turn, with bars and words", async () => {
  await withPage(writePage(sampleLines(1000), { title: "My week", hooks: SAMPLE_HOOKS }), {}, async (page) => {
    assert.equal(await page.title(), "My week");
    assert.match(await page.textContent("#range"), /^1,000 lines · 12 Nov 2026 – 18 Nov 2026$/);
    const first = page.locator(".turn").first();
    assert.match(await first.innerText(), /Codex/);
    for (const selector of [".lane .bar.v-deny", ".lane .bar.k-call", ".hook-bars .bar"]) {
      assert.ok(await page.locator(selector).count(), selector);
    }
    for (const row of await page.locator(".row:has(.verdict .v-deny)").all()) {
      assert.match(await row.locator(".verdict").innerText(), /^(deny|refused)$/);
    }
    await page.fill("#text", "gemini-3-pro");
    await page.locator(".lane .bar.k-request").first().waitFor();
  });
});

test("filters narrow the list, alone and together", async () => {
  await withPage(writePage([PUSH, REFUSED, READ]), {}, async (page) => {
    const rows = page.locator(".row");
    assert.equal(await rows.count(), 3);
    await page.click("#verdicts .v-deny");
    await shows(page, "1 of 3 lines");
    await page.click("#verdicts .v-pass");
    await shows(page, "2 of 3 lines");
    await page.selectOption("#effect", { label: "reads" });
    await shows(page, "1 of 3 lines");
    assert.match(await rows.innerText(), /notes\.md/);
    await page.click("#reset");
    await shows(page, "");
    await page.selectOption("#hook", { label: "try-me" });
    await shows(page, "1 of 3 lines");
    await page.selectOption("#hook", { label: "All hooks" });
    await page.selectOption("#event", { label: "tool call" });
    await shows(page, "1 of 3 lines");
    await page.selectOption("#event", { label: "All events" });
    await page.selectOption("#agent", { label: "Claude Code" });
    await shows(page, "3 of 3 lines");
    // Text is found in values, in any case, and not in the names of fields.
    for (const [text, count] of [
      ["FORCE-with", 1],
      ["notes.md", 1],
      ["tool_input", 0],
      ["one\\n", 0],
      ["no line has this", 0],
    ]) {
      await page.fill("#text", text);
      await shows(page, `${count} of 3 lines`);
    }
    assert.equal(await page.textContent("#empty"), "No line passes these filters.");
  });
});

test("a line tells why: who asked, what it would do, who was asked and decided, what became of it", async () => {
  await withPage(writePage([PUSH, REFUSED, READ]), {}, async (page) => {
    await page.click(".row:has-text('BeforeTool') >> nth=0");
    const story = await visibleText(page, ".story");
    for (const sentence of [
      "Claude Code 2.1.30 wanted to call run_shell_command (it calls it Bash, event PreToolUse) with git push --force in /home/u/app.",
      "It would run git push --force; contact origin. It may do more: these lists may be incomplete: writes.",
      "4 hooks were asked, in this order: log (command) had no objection after 2.5 ms. no-force-push (rule, guard) matched always and said deny after 31 µs: rewrites shared history.",
      "try-me (rule, shadow) would have said stop after 20 µs.",
      "slow (command, guard) did not answer in time, which counts as deny after 3.0 ms: no answer within 3 ms.",
      "Not asked: hook x: the folder is not trusted.",
      "A guard that should have been asked: guard y is not armed.",
      "no-force-push decided: the verdict is deny. The strongest answer counts: stop before deny, ask, confine and allow.",
      "The call runs confined: no network.",
      "try-me is in shadow mode: its answer stop was recorded and decided nothing.",
      "Hooks changed command and note of the call; the difference is below.",
      "Claude Code was told deny (exit code 2). It cannot do stop, so that became deny.",
      "The call was refused by a hook.",
    ])
      assert.ok(story.includes(sentence), `${sentence}\nis not in\n${story}`);
    await page.click(".row:has-text('notes.md')");
    assert.match(
      await visibleText(page, ".story"),
      /No hook was asked\. No answer that counts objected, so the verdict is pass\. The journal has no line about what became of the call\./,
    );
  });
});

test("details show input, output, each hook's run, and what was changed as a difference", async () => {
  await withPage(
    writePage([PUSH, REFUSED, READ]),
    { permissions: ["clipboard-read", "clipboard-write"] },
    async (page) => {
      await page.click(".row >> nth=0");
      const changes = page.locator(".diff");
      assert.equal(await changes.nth(0).innerText(), "- git push --force\n+ git push --force-with-lease");
      assert.deepEqual(await changes.nth(0).locator("mark").allInnerTexts(), ["-with-lease"]);
      assert.equal(await changes.nth(1).innerText(), "  one\n- two\n+ 2\n  three");
      assert.deepEqual(await page.locator(".runs .run-head .pill").allInnerTexts(), [
        "pass",
        "deny",
        "would stop",
        "deny",
      ]);
      for (const name of ["Hooks", "Changed by hooks", "Effects", "Input", "Output", "Same call", "Ids"]) {
        await page.locator(`.detail h3:text-is("${name}")`).waitFor();
      }
      for (const command of ["hookwright hooks why 4821", "hookwright hooks test --from-journal 4821"]) {
        await page.click(`button[aria-label="Copy ${command}"]`);
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
      }
      await page.click("text=The line as JSON");
      await page.locator("details pre").waitFor();
      await page.click(".related button");
      await page.locator(".detail-head:has-text('line 4822')").waitFor();
    },
  );
});

test("the overview counts refusals, slow, silent and shadow hooks, and which agent asked which guard", async () => {
  await withPage(writePage(sampleLines(2000), { hooks: SAMPLE_HOOKS }), {}, async (page) => {
    await page.click("#show-overview");
    const card = (title) => page.locator(`.card:has(h2:text-is("${title}"))`);
    assert.ok(await card("Refusals over time").locator(".part.v-deny").count());
    assert.match(await card("Slowest hooks").innerText(), /format.*\d+ ms/s);
    assert.match(await card("Hooks that never fire").innerText(), /licence-check.*no-prod-database.*guard/s);
    assert.match(await card("Shadow hooks").innerText(), /no-containers\s+\d+\s+\d+ deny\s+\d+/);
    const coverage = await card("Agents and guards").innerText();
    assert.match(coverage, /no-force-push\s+asked \d+×/);
    assert.match(coverage, /no-prod-database\s+never asked/);
    // A hook's name leads to its lines; a period to its own.
    await card("Slowest hooks").locator("button:text-is('known-hosts')").click();
    await page.waitForFunction(() => / of 2,000 lines$/.test(document.getElementById("count").textContent));
    assert.ok(await page.locator(".row").count());
    await page.click("#reset");
    await page.click("#show-overview");
    await card("Refusals over time").locator("summary").click();
    await card("Refusals over time").locator("td ~ td, th button").first().click();
    await page.locator("#period").waitFor();
    await page.click("#period");
    await page.locator("#period").waitFor({ state: "hidden" });
  });
});

test("keys alone lead everywhere", async () => {
  await withPage(writePage(sampleLines(300)), {}, async (page) => {
    const reached = new Set();
    for (let at = 0; at < 40; at++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
    }
    for (const id of [
      "show-timeline",
      "show-overview",
      "theme",
      "text",
      "agent",
      "event",
      "hook",
      "effect",
      "list",
      "order",
    ]) {
      assert.ok(reached.has(id), `${id} of ${[...reached]}`);
    }
    const active = () => page.locator(".item.active").getAttribute("data-index").then(Number);
    await page.focus("#list");
    const start = await active();
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowDown");
    assert.equal(await active(), start + 2);
    await page.keyboard.press("k");
    assert.equal(await active(), start + 1);
    assert.equal(await page.getAttribute("#list", "aria-activedescendant"), `item-${start + 1}`);
    assert.notEqual(await page.locator(".item.active").evaluate((item) => getComputedStyle(item).boxShadow), "none");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "detail");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Close");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, "solid");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.id), "list");
    assert.ok(await page.locator("#detail").isHidden());
    await page.keyboard.press("n");
    assert.match(await page.locator(".item.active .verdict").innerText(), /deny|ask|stop|refused|failed/);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.locator(".item.active").getAttribute("aria-expanded"), "false");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.locator(".item.active").getAttribute("aria-expanded"), "true");
    await page.keyboard.press("End");
    assert.match(await page.locator(".item.active").innerText(), /start|journal/i);
    await page.keyboard.press("Home");
    assert.equal(await active(), 0);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "text");
    await page.keyboard.type("force");
    await page.waitForFunction(() => / of 300 lines$/.test(document.getElementById("count").textContent));
    await page.keyboard.press("Escape");
    await shows(page, "");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.id), "list");
  });
});

test("the theme follows the system until it is chosen", async () => {
  const url = writePage([PUSH]);
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await withPage(url, { colorScheme: "dark" }, async (page) => {
    const dark = await background(page);
    await page.click("#theme");
    assert.equal(await page.textContent("#theme"), "Theme: light");
    const light = await background(page);
    assert.notEqual(light, dark);
    await page.click("#theme");
    assert.equal(await background(page), dark);
  });
});

test("an address with a line's number opens that line", async () => {
  await withPage(`${writePage([PUSH, REFUSED, READ])}#4823`, {}, async (page) => {
    await page.locator(".detail-head:has-text('line 4823')").waitFor();
  });
});

test("a live page follows the journal and says when it is cut off", async () => {
  const { appendFileSync } = await import("node:fs");
  const { writeLines } = await import("./browser.mjs");
  const lines = writeLines([]);
  const server = await serve(lines);
  const refused = (url, headers = {}) => statusOf(url, headers);
  await withPage(server.url, {}, async (page, problems) => {
    assert.equal(await page.textContent("#empty"), "The journal has no lines yet.");
    for (const line of sampleLines(4500)) appendFileSync(lines, `${line}\n`);
    await page.waitForFunction(() => document.getElementById("range").textContent.startsWith("4,500 lines"));
    assert.equal(await page.textContent("#live"), "Following");
    appendFileSync(lines, `${JSON.stringify({ ...PUSH, time: "2026-11-18T17:00:00Z" })}\n`);
    await page.waitForFunction(() => document.getElementById("range").textContent.startsWith("4,501 lines"));
    await page.locator(".row:has-text('git push --force')").first().waitFor();
    const { port, pathname } = new URL(server.url);
    const token = pathname.slice(1, -1);
    assert.equal(await refused(server.url), 200);
    for (const path of [
      "/",
      "/lines",
      `/${token}`,
      `/${"0".repeat(64)}/`,
      `/${token.slice(1)}/lines`,
      "/favicon.ico",
    ]) {
      assert.equal(await refused(`http://127.0.0.1:${port}${path}`), 403, path);
    }
    for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1", "[::1]"]) {
      assert.equal(await refused(server.url, { host }), 421, host);
    }
    await server.stop();
    await page.waitForFunction(() => document.getElementById("live").textContent.startsWith("Not connected"));
    // The browser reports the connections that failed.
    problems.splice(0, problems.length, ...problems.filter((problem) => !problem.includes("ERR_CONNECTION_REFUSED")));
  });
});

async function statusOf(url, headers) {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end();
  });
}
