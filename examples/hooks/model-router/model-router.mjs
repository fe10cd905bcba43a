#!/usr/bin/env node
// model-router: short questions to a small model, sober sampling, and a ceiling on what one request may cost.
//
// Event     BeforeModel; reads llm_request.
// Settings  MODEL_ROUTER_SMALL            the model for small requests; without it the model is never changed
//           MODEL_ROUTER_SMALL_TOKENS     up to how many tokens a request is small (default 2000)
//           MODEL_ROUTER_KEEP             models never to change, separated by commas
//           MODEL_ROUTER_MAX_TEMPERATURE  a higher temperature is lowered to this
//           MODEL_ROUTER_MAX_TOKENS       a request with more tokens is denied
// Tokens are guessed from the text: about four bytes each. Only text counts; images and tool results are not seen here.
// Answers   llm_request with the fields to change and no others, or deny with the reason, or nothing.

import fs from "node:fs";

/** A number from the settings; anything else is a mistake that should be heard. */
function number(variable) {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${variable} should be a number, not "${text}"`);
  return value;
}

function route(request) {
  const texts = request.messages.map((message) => (typeof message.content === "string" ? message.content : ""));
  const tokens = Math.ceil(Buffer.byteLength(texts.join("")) / 4);
  const ceiling = number("MODEL_ROUTER_MAX_TOKENS");
  if (ceiling !== undefined && tokens > ceiling) {
    const reason = `model-router: this request has about ${tokens} tokens, more than the ${ceiling} allowed. Compress the history or start a new session.`;
    return { decision: "deny", reason };
  }
  const changes = {};
  const small = process.env.MODEL_ROUTER_SMALL;
  const kept = (process.env.MODEL_ROUTER_KEEP ?? "").split(",").map((name) => name.trim());
  if (small && request.model !== small && !kept.includes(request.model) && tokens <= (number("MODEL_ROUTER_SMALL_TOKENS") ?? 2000)) {
    changes.model = small;
  }
  const hottest = number("MODEL_ROUTER_MAX_TEMPERATURE");
  if (hottest !== undefined && (request.config?.temperature ?? Infinity) > hottest) {
    changes.config = { temperature: hottest };
  }
  if (Object.keys(changes).length === 0) return undefined;
  return { hookSpecificOutput: { hookEventName: "BeforeModel", llm_request: changes } };
}

try {
  const answer = route(JSON.parse(fs.readFileSync(0, "utf8")).llm_request);
  if (answer) console.log(JSON.stringify(answer));
} catch (error) {
  console.error(`model-router: ${error.message}`);
  process.exitCode = 1;
}
