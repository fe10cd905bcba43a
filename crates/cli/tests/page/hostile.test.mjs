// What hooks, tools and models write stays text, wherever it stands, and whatever its type is.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ready, startBrowser, stopBrowser, withPage, writePage } from "./browser.mjs";

before(startBrowser);
after(stopBrowser);

const PAYLOADS = [
  '<img src=x onerror="window.broken=1">',
  "</script><script>window.broken=1</script>",
  "<!--<script>",
  "javascript:window.broken=1",
  '"><svg/onload=window.broken=1>',
  "'-window.broken--1-'",
  "</title></style></pre><iframe srcdoc='<script>parent.broken=1</script>'></iframe>",
  "]\n</SCRIPT/x><base href=https://evil.example/><link rel=stylesheet href=//evil.example/x.css>",
  "${window.broken=1}{{script}}",
  "\u202Etxt.exe\u0000\u001b[31m\u2028\ud800",
  "__proto__",
  "constructor",
];

const FULL_EVENT = {
  seq: 1,
  prev: "p",
  time: "2026-11-18T16:02:03.120Z",
  kind: "event",
  agent: "claude",
  agent_version: "1",
  project: "/p",
  session: "s",
  turn: "t",
  call: "c",
  subagent: "a",
  ids: { prompt_id: "i" },
  event: "BeforeTool",
  host_event: "h",
  tool: "shell",
  host_tool: "Bash",
  verdict: "deny",
  decided_by: ["h"],
  hooks: [
    {
      hook: "h",
      source: "s",
      type: "rule",
      fingerprint: "f",
      guard: true,
      mode: "shadow",
      status: "ok",
      failure: "f",
      exit_code: 0,
      decision: "deny",
      ms: 1,
      matched: "m",
      background: true,
    },
  ],
  told: { verdict: "deny", exit: 2 },
  lost: [{ wanted: "ask", became: "deny" }],
  confined: ["c"],
  left_out: ["l"],
  unarmed: ["u"],
  ms: 1,
  content_digest: "d",
  withheld: "w",
  content: {
    salt: "s",
    input: {
      tool_name: "t",
      tool_input: { command: "c", more: ["m"] },
      tool_response: { a: "b" },
      prompt: "p",
      cwd: "c",
      big: { body: "sha256:1", bytes: 3 },
      gone: { omitted: "o", bytes: 3 },
    },
    effects: {
      commands: [["c"]],
      reads: ["r"],
      writes: ["w"],
      deletes: ["d"],
      network: ["n"],
      repository: ["r"],
      services: ["s"],
      processes: ["p"],
      privileged: ["p"],
      flows: [{ from: "f", to: "t", via: "v" }],
      certain: false,
      unsure: ["u"],
    },
    reason: "r",
    message: "m",
    context: "c",
    changes: { command: "x", other: { y: "z" } },
    runs: [{ reason: "r", stdout: "o", stderr: "e", error: "x" }],
  },
};
const OTHER_KINDS = [
  {
    seq: 2,
    time: "2026-11-18T16:02:04Z",
    kind: "call",
    agent: "a",
    session: "s",
    turn: "t",
    call: "c",
    tool: "t",
    result: "failed",
    refused_by: "r",
    ms: 1,
    exit_code: 1,
    content: { error: "e" },
  },
  {
    seq: 3,
    time: "2026-11-18T16:02:05Z",
    kind: "request",
    agent: "a",
    session: "s",
    turn: "t",
    model: "m",
    ms: 1,
    tokens_in: 1,
    tokens_out: 1,
    error: "e",
  },
  { seq: 4, time: "2026-11-18T16:02:06Z", kind: "seal", segment: 3, lines: 2, root: "r" },
  { seq: 5, time: "2026-11-18T16:02:07Z", kind: "gap", problem: "p" },
  { seq: 6, time: "2026-11-18T16:02:08Z", kind: "start", version: "v" },
  { seq: 7, time: "2026-11-18T16:02:09Z", kind: "forgot", what: "w", lines: 2 },
  { seq: 8, time: "2026-11-18T16:02:10Z", kind: "new-kind", what: "w" },
];

/** Yields copies of a value in which one part is another one: each leaf, each name of a field, or each part at all. */
function* mutations(value, replacement, parts) {
  if (value === null || typeof value !== "object") {
    if (parts !== "names") yield replacement;
    return;
  }
  if (parts === "all") yield replacement;
  for (const [key, inner] of Object.entries(value)) {
    for (const changed of mutations(inner, replacement, parts))
      yield Object.assign(structuredClone(value), { [key]: changed });
    if (parts === "names" && !Array.isArray(value)) {
      yield Object.fromEntries(Object.entries(value).map(([name, one]) => [name === key ? replacement : name, one]));
    }
  }
}

/** Opens the details of every line, and the overview. */
async function lookAtEverything(page) {
  return page.evaluate(async () => {
    const list = document.getElementById("list");
    const press = (key) => list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    list.focus();
    press("Home");
    let opened = 0,
      shown = "";
    for (let at = 0, last = -1; ; at++) {
      const active = document.querySelector(".item.active");
      if (!active || Number(active.dataset.index) === last) break;
      last = Number(active.dataset.index);
      if (active.classList.contains("row")) {
        press("Enter");
        for (const button of document.querySelectorAll("#detail button"))
          if (button.textContent.startsWith("Show all")) button.click();
        for (const details of document.querySelectorAll("#detail details")) details.open = true;
        if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve));
        shown += document.getElementById("detail").textContent;
        opened += 1;
      }
      press("j");
    }
    document.getElementById("show-overview").click();
    shown += document.getElementById("overview").textContent;
    const foreign = [...document.querySelectorAll("*")].filter(
      (element) =>
        ["IMG", "IFRAME", "SVG", "OBJECT", "EMBED", "BASE", "FORM", "A", "META", "LINK", "SCRIPT", "STYLE"].includes(
          element.tagName.toUpperCase(),
        ) || [...element.attributes].some(({ name }) => name.startsWith("on")),
    );
    return {
      opened,
      shown,
      broken: window.broken,
      polluted: {}.polluted,
      foreign: foreign.map((element) => element.outerHTML.slice(0, 60)),
    };
  });
}

// What the page itself has of these.
const OWN_ELEMENTS = ["<meta", "<meta", "<meta", "<meta", "<meta", "<link", "<style"];

async function checkLines(lines, check, meta = {}) {
  await withPage(writePage(lines, meta), {}, async (page) => {
    const result = await lookAtEverything(page);
    assert.equal(result.broken, undefined, "a payload ran");
    const foreign = result.foreign.filter((html) => !html.startsWith("<script"));
    assert.deepEqual(
      foreign.map((html) => html.split(/[ >]/)[0]),
      OWN_ELEMENTS,
    );
    for (const html of result.foreign.filter((one) => one.startsWith("<script"))) {
      assert.match(html, /^<script( type="application\/json" (class="lines"|id="meta"))?>/);
    }
    await check?.(result, page);
  });
}

for (const payload of PAYLOADS) {
  test(`a string in any field stays text: ${JSON.stringify(payload).slice(0, 40)}`, async () => {
    const lines = [FULL_EVENT, ...OTHER_KINDS].flatMap((line) => [...mutations(line, payload, "strings")]);
    // Settings have whole characters only.
    const named = payload.replace("\ud800", "");
    const meta = { title: named, hooks: [{ hook: named, event: named, source: named, guard: true, mode: named }] };
    await checkLines(
      lines,
      async ({ opened, shown }, page) => {
        assert.equal(opened, lines.length);
        // What is shown is the payload itself, with unseen characters written out.
        const start = payload.startsWith("\u202e") ? "<U+202E>txt.exe␀␛[31m" : payload.split("\n")[0];
        assert.ok(shown.includes(start));
        assert.ok((await page.title()).includes(start.slice(0, 20)));
      },
      meta,
    );
  });
}

test("names of fields stay text", async () => {
  const payloads = [PAYLOADS[0], PAYLOADS[1], "__proto__"];
  const lines = payloads.flatMap((payload) => [...mutations(FULL_EVENT, payload, "names")]);
  await checkLines(lines, ({ opened }) => assert.equal(opened, lines.length));
});

test("a value of any type in any place breaks nothing", async () => {
  const values = [null, -1, 1e308, true, "", [null], { toString: 1 }];
  const kinds = [FULL_EVENT, OTHER_KINDS[0], OTHER_KINDS[1]];
  const lines = values
    .flatMap((value) => kinds.flatMap((line) => [...mutations(line, value, "all")]))
    .map((line) => JSON.stringify(line));
  await checkLines(lines, ({ opened }) => assert.equal(opened, lines.length));
});

test("lines that are no objects, or no JSON at all, are listed as damaged", async () => {
  const deep = `{"seq":1,"kind":"event","content":{"input":{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}}}`;
  const lines = [
    "42",
    "null",
    "[]",
    '"text"',
    "{",
    "]",
    "</script><script>window.broken=1</script>",
    '{"seq":1},',
    '"\\u003c',
    "\u0001",
    deep,
    '{"__proto__":{"polluted":1},"kind":"event","constructor":{"prototype":{"polluted":1}}}',
  ];
  await checkLines(lines, ({ opened, polluted }) => {
    assert.equal(opened, lines.length);
    assert.equal(polluted, undefined);
  });
});

test("commands to copy hold numbers only", async () => {
  const seqs = ["1; rm -rf ~", "$(reboot)", -1, 1.5, 1e300, null, [1], { a: 1 }, true];
  await checkLines(
    seqs.map((seq) => ({ ...FULL_EVENT, seq })),
    ({ shown }) => assert.ok(!shown.includes("hooks why")),
  );
});

test("no line, one line, and a line without content", async () => {
  await withPage(writePage([]), {}, async (page) => {
    assert.equal(await page.textContent("#empty"), "The journal has no lines yet.");
    await page.click("#show-overview");
    assert.match(await page.innerText("#overview"), /0 lines/);
    await page.keyboard.press("j");
  });
  await checkLines(
    [
      {
        seq: 1,
        time: "2026-11-18T16:02:03Z",
        kind: "event",
        event: "BeforeTool",
        verdict: "pass",
        withheld: "journal.content is none",
      },
    ],
    ({ opened, shown }) => {
      assert.equal(opened, 1);
      assert.match(shown, /The content is not in the journal: journal\.content is none\./);
    },
  );
});

test("strings of a megabyte are cut until they are wanted", async () => {
  const text = "<b>x</b> ".repeat(120_000);
  const line = structuredClone(FULL_EVENT);
  line.content.input.tool_input.command = text;
  line.content.runs[0].stdout = text;
  line.content.changes.command = `${text}y`;
  line.tool = text;
  line.hooks[0].hook = text;
  await withPage(writePage([line]), {}, async (page) => {
    await page.click(".row");
    const length = await page.evaluate(() => document.getElementById("detail").textContent.length);
    assert.ok(length < 60_000, String(length));
    await page.locator("#detail button:has-text('Show all (1.1 MB)')").first().click();
    assert.ok((await page.evaluate(() => document.getElementById("detail").textContent.length)) > 1_000_000);
  });
});

test("very many hooks, fields and names stay few elements", async () => {
  const crowd = structuredClone(FULL_EVENT);
  crowd.hooks = Array.from({ length: 150_000 }, (_, at) => ({ hook: `h${at}`, decision: "deny", ms: 1 }));
  crowd.decided_by = crowd.hooks.map(({ hook }) => hook);
  crowd.content.effects.writes = crowd.decided_by;
  crowd.content.changes = Object.fromEntries(crowd.decided_by.slice(0, 5000).map((name) => [name, name]));
  crowd.content.input.tool_input = crowd.content.changes;
  const others = Array.from({ length: 3000 }, (_, at) => ({
    ...FULL_EVENT,
    agent: `a${at}`,
    event: `e${at}`,
    session: `s${at}`,
  }));
  await withPage(
    writePage([crowd, ...others, ...others.map((line) => ({ ...line, event: "BeforeTool" }))]),
    {},
    async (page) => {
      await page.focus("#list");
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      assert.match(
        await page.textContent(".story"),
        /150000 hooks were asked, in this order:.*The other 149900 are not shown\./,
      );
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 8000);
      await page.click("#show-overview");
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 12_000);
    },
  );
});

test("a search for markup finds it and runs nothing", async () => {
  await withPage(writePage([FULL_EVENT, { ...FULL_EVENT, tool: PAYLOADS[0] }]), {}, async (page) => {
    for (const text of ["<IMG src", 'onerror="window']) {
      await page.fill("#text", text);
      await page.waitForFunction(() => document.getElementById("count").textContent === "1 of 2 lines");
    }
    for (const text of [".*", "(", "\\", "[a-"]) {
      await page.fill("#text", text);
      await page.waitForFunction(() => document.getElementById("count").textContent === "0 of 2 lines");
    }
    await ready(page);
  });
});
