// Answers and handlers, without a process.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  allow, ask, clearContext, combine, context, deny, events, hook, message, request, respond, rewrite, stop, suggest, tailCall, tools,
} from "../index.js";
import { fire } from "../test.js";

test("helpers make plain objects", () => {
  assert.deepEqual(allow(), { decision: "allow" });
  assert.deepEqual(deny("a"), { decision: "deny", reason: "a" });
  assert.deepEqual(ask("a"), { decision: "ask", reason: "a" });
  assert.deepEqual(stop("a"), { continue: false, stopReason: "a" });
  assert.deepEqual(message("a"), { systemMessage: "a" });
  assert.deepEqual(context("a"), { hookSpecificOutput: { additionalContext: "a" } });
  assert.deepEqual(rewrite({ a: 1 }), { hookSpecificOutput: { tool_input: { a: 1 } } });
  assert.deepEqual(request({ model: "m" }), { hookSpecificOutput: { llm_request: { model: "m" } } });
  const response = { candidates: [{ content: { role: "model", parts: ["a"] } }] };
  assert.deepEqual(respond("a"), { hookSpecificOutput: { llm_response: response } });
  assert.deepEqual(respond({ text: "a" }), { hookSpecificOutput: { llm_response: { text: "a" } } });
  assert.deepEqual(tools("ANY", ["a"]), { hookSpecificOutput: { toolConfig: { mode: "ANY", allowedFunctionNames: ["a"] } } });
  assert.deepEqual(tailCall("a"), { hookSpecificOutput: { tailToolCallRequest: { name: "a", args: {} } } });
  assert.deepEqual(clearContext(), { hookSpecificOutput: { clearContext: true } });
});

test("several answers are one", () => {
  assert.deepEqual(combine(), {});
  assert.deepEqual(combine(null, undefined), {});
  assert.deepEqual(combine(allow(), ask("a"), { decision: "block", reason: "b" }, allow()), { decision: "block", reason: "a\nb" });
  assert.deepEqual(combine(stop("a"), { continue: true }, { continue: false, reason: "b" }), { continue: false, stopReason: "a\nb", reason: "b" });
  assert.deepEqual(combine({ continue: true }, message("a"), message("")), { systemMessage: "a" });
  assert.deepEqual(combine(context("a"), context("b")), context("a\nb"));
  assert.deepEqual(combine(rewrite({ a: 1, b: 1 }), rewrite({ b: 2 })), rewrite({ a: 1, b: 2 }));
  const odd = combine(rewrite(JSON.parse('{"__proto__": {"a": 1}}')), rewrite({ b: 2 }));
  assert.equal(JSON.stringify(odd), '{"hookSpecificOutput":{"tool_input":{"__proto__":{"a":1},"b":2}}}');
  const [first, second] = [request({ model: "a", config: { x: 1, y: 1 } }), request({ config: { y: 2 } })];
  assert.deepEqual(combine(first, second), request({ model: "a", config: { x: 1, y: 2 } }));
  assert.deepEqual(combine(tools("AUTO", ["b"]), tools("ANY", ["a", "b"])), tools("ANY", ["a", "b"]));
  assert.deepEqual(combine(tools("NONE"), tools("ANY", ["a"])), tools("NONE"));
  assert.deepEqual(combine({ suppressOutput: true }, { suppressOutput: false }), { suppressOutput: true });
  assert.deepEqual(combine(clearContext(), context("a")), { hookSpecificOutput: { clearContext: true, additionalContext: "a" } });
});

test("what is no answer is an error, never a yes", () => {
  for (const bad of ["deny", true, 7, [], deny, { decision: "Deny" }, { decision: true }, { continue: "false" }, { decision: "toString" }, { hookSpecificOutput: "x" }]) {
    assert.throws(() => combine(bad), TypeError, String(bad));
  }
});

test("near and foreign names are understood", () => {
  assert.equal(suggest("PreToolUse"), "BeforeTool");
  assert.equal(suggest("beforetool"), "BeforeTool");
  assert.equal(suggest("SesionStart"), "SessionStart");
  assert.equal(suggest("Banana"), undefined);
  assert.throws(() => hook.on("PreToolUse", () => {}), /did you mean BeforeTool/);
  assert.throws(() => hook.on("toString", () => {}), /there is no event/);
  assert.throws(() => hook.on("BeforeTool"), /no function/);
  assert.equal(events.length, 11);
});

test("a test fires events itself", async () => {
  hook.on("SessionStart", ({ source, cwd }) => context(`${source} ${cwd === process.cwd()}`));
  hook.on("AfterAgent", ({ stop_hook_active }) => message(String(stop_hook_active)));
  const said = await fire("SessionStart", { source: "startup" });
  assert.deepEqual(said, { hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: "startup true" } });
  assert.deepEqual(await fire("AfterAgent"), { systemMessage: "false" });
  await assert.rejects(fire("SessionEnd"), /no handler/);
  await assert.rejects(hook.fire(null), /hook_event_name/);
});

test("handlers are asked in order, until one says no", async () => {
  const asked = [];
  hook.on("BeforeModel", async (input) => (asked.push(input.llm_request), request({ config: { temperature: 0 } })));
  hook.on("BeforeModel", (input) => (asked.push(input.llm_request), deny("no")));
  hook.on("BeforeModel", () => asked.push("never"));
  const said = await fire("BeforeModel", { llm_request: { model: "m", messages: [], config: { topK: 1 } } });
  assert.equal(said.reason, "no");
  assert.deepEqual(asked, [
    { model: "m", messages: [], config: { topK: 1 } },
    { model: "m", messages: [], config: { topK: 1, temperature: 0 } },
  ]);
  hook.on("BeforeAgent", () => context("more"));
  hook.on("BeforeAgent", ({ prompt }) => message(prompt));
  assert.equal((await fire("BeforeAgent", { prompt: "a" })).systemMessage, "a\n\nmore");
});
