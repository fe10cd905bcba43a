// A hook that does what its input asks for: the same in every language, so that one test tries them all.
import { ask, context, deny, hook, message, respond, rewrite } from "hookwright-hook";

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

hook.on("BeforeTool", async ({ tool_name, tool_input: { say, path, wait: ms } }) => {
  switch (tool_name) {
    case "deny": return deny(say);
    case "ask": return ask(say);
    case "rewrite": return rewrite({ path: `${path}!` });
    case "message": return message(say);
    case "hand-written": return { decision: "block", reason: "by hand", hookSpecificOutput: { redact_input: true } };
    case "print": console.log("console.log"); process.stdout.write("stdout.write\n"); return message("printed");
    case "throw": throw new Error(say);
    case "leave": process.exit(0);
    case "not an answer": return say;
    case "not a decision": return { decision: say };
    case "large": return message("x".repeat(2 * 1024 * 1024));
    case "wait": await wait(ms); return message(`waited ${ms}`);
    case "never": await new Promise(() => {}); return undefined;
  }
});

hook.on("BeforeTool", ({ tool_name, tool_input }) => {
  if (tool_name === "rewrite") return deny(`second: ${tool_input.path}`);
});

// A file may take its time before all handlers are there.
await wait(50);

hook.on("BeforeTool", ({ tool_name }) => (tool_name === "late" ? deny("late") : undefined));

hook.on("BeforeAgent", ({ prompt }) => context(`heard ${prompt}`));

hook.on("AfterModel", (input) => {
  if (input.content === "unseen") return message("unseen");
  const { messages } = input.llm_request;
  const seen = `${messages.length} ${messages[0].content.length} ${messages[0].content.slice(0, 5)} ${input.full_content}`;
  messages[0].content = "spoilt";
  messages.pop();
  input.llm_request = null;
  return respond(seen);
});
