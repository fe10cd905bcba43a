// Not run: what must, and must not, pass a type checker. A test gives it to tsc where there is one.
import { allow, ask, clearContext, combine, context, deny, hook, message, request, respond, rewrite, stop, tailCall, tools } from "hookwright-hook";
import { fire } from "hookwright-hook/test";
hook.on("BeforeTool", async (input) => {
  if (input.tool_name === "x" && input.effects?.writes.includes("a")) return deny("no");
  if (input.tool_input.command) return rewrite({ command: "ls" });
  if (input.requested_by === "user") return ask("sure?");
  if (input.host?.name) return combine(allow(), message("x"));
  return { decision: "block", hookSpecificOutput: { redact_input: true } };
});
hook.on("SessionStart", () => context("hi"))
  .on("AfterModel", ({ full_content }) => respond((full_content ?? "").toUpperCase()))
  .on("BeforeModel", (input) => request({ messages: input.llm_request.messages.slice(1) }))
  .on("BeforeModel", () => stop("x"))
  .on("BeforeToolSelection", () => tools("ANY", ["a"]))
  .on("AfterTool", () => tailCall("x"))
  .on("AfterAgent", () => clearContext())
  .on("Notification", () => {});
export const tried = async () => {
  const r = await fire("BeforeTool", { tool_name: "x" });
  return r.decision satisfies string | undefined;
};
// @ts-expect-error SessionStart can't be denied
hook.on("SessionStart", () => deny("x"));
// @ts-expect-error no such event
hook.on("PreToolUse", () => deny("x"));
// @ts-expect-error no such decision
hook.on("BeforeTool", () => ({ decision: "denied" }));
// @ts-expect-error only BeforeTool can be asked about
hook.on("AfterTool", () => ask("x"));
// @ts-expect-error no such field
hook.on("BeforeTool", (input) => deny(input.tool_nam));
