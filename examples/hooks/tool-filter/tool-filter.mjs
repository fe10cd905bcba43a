#!/usr/bin/env node
// tool-filter: questions get reading tools only. "Explain", "review", "why does …": nothing to be changed there.
//
// Event     BeforeToolSelection; reads the user's last message in llm_request.
// Rule      the message starts with a word of asking, after any "please" or "can you", and does not go on to ask for a
//           change ("review this and fix it"). Context that other hooks added does not count as the user's words.
// Settings  TOOL_FILTER_WORDS  words of asking, separated by commas
//           TOOL_FILTER_TOOLS  the tools that stay, separated by commas
// Answers   toolConfig with mode AUTO and the reading tools: the model may call those or just answer. (Mode ANY would
//           force a call with every request and never come to an answer.) Otherwise nothing: all tools stay.

import fs from "node:fs";

const list = (variable, fallback) => {
  const names = (process.env[variable] ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  return names.length > 0 ? names : fallback;
};
const tools = list("TOOL_FILTER_TOOLS", [
  "read_file", "read_many_files", "list_directory", "glob", "search_file_content", "google_web_search", "web_fetch",
]);
const words = list("TOOL_FILTER_WORDS", [
  "explain", "review", "describe", "summarize", "summarise", "compare", "what", "why", "how", "where", "which", "who",
]);

const politeness = /^(?:(?:please|kindly|hi|hello|hey|ok|okay|so|now|(?:can|could|would|will) you(?: please)?)[\s,!.]+)*/i;
const change =
  /(?:\b(?:and|then|also|but)\b|[,;.?!])\s+(?:then\s+|also\s+|please\s+)*(?:fix|change|edit|write|implement|refactor|add|update|create|apply|rename|remove|delete|move|run|commit|correct|improve|make|do)\b/i;
const howTo = /^how (?:about|do you feel about)\b/i;

const literally = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether the user only wants to know something. */
function onlyAsks(message) {
  // Files that were attached come after the request; the request itself is at the start.
  const request = message.trim().slice(0, 600).replace(politeness, "");
  const asks = new RegExp(`^(?:${words.map(literally).join("|")})(?![\\w-])`, "i");
  return asks.test(request) && !change.test(request) && !howTo.test(request);
}

try {
  const { llm_request: request } = JSON.parse(fs.readFileSync(0, "utf8"));
  const said = request.messages
    .filter((message) => message.role === "user" && typeof message.content === "string")
    .map((message) => message.content.replace(/<hook_context>[\s\S]*?<\/hook_context>/g, "").trim())
    .filter(Boolean);
  if (said.length > 0 && onlyAsks(said.at(-1))) {
    const toolConfig = { mode: "AUTO", allowedFunctionNames: tools };
    console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: "BeforeToolSelection", toolConfig } }));
  }
} catch (error) {
  console.error(`tool-filter: the input is not the JSON of a model request: ${error.message}`);
  process.exitCode = 1;
}
