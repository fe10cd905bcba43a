//! The texts that `hooks new --worker` writes: scripts that run for the whole session and answer line by line. They
//! need no library, and also run as command hooks.

use hookwright_hooks::EventKind;

use super::templates::{TRIGGER_TEXT, answer_options, comment_block, is_selective, sample_answer};
use crate::args::ScriptLanguage;

const HANDLER_COMMENT: &str =
    "Called with the input of an event; what it returns is the answer, nothing is \"no objection\":";

/// Returns a script that answers requests until its stdin is closed.
pub(super) fn script(event: EventKind, language: ScriptLanguage, name: &str) -> String {
    let about = format!("{name}: runs {}.", event.info().fires_when);
    match language {
        ScriptLanguage::Sh => sh(event, &about),
        ScriptLanguage::Python => python(event, &about),
        ScriptLanguage::Node => node(event, &about),
    }
}

fn sh(event: EventKind, about: &str) -> String {
    let how =
        "Called with the input of an event; what it prints, in one line, is the answer, nothing is \"no objection\":";
    let head = comment_block("#", about, how, &answer_options(event));
    let say = format!("printf '%s' '{}'", sample_answer(event));
    let body = match is_selective(event) {
        true => format!("    case $1 in\n    *{TRIGGER_TEXT}*)\n        {say}\n        ;;\n    esac\n"),
        false => format!("    {say}\n"),
    };
    format!(
        r#"#!/bin/sh
{head}judge() {{
{body}}}

# A command hook gets its input as it is.
if [ -z "$HOOKWRIGHT_WORKER" ]; then
    judge "$(cat)"
    exit
fi

# A worker gets one request a line, {{"id":N,"input":{{…}}}}, and answers each with a line of its own. Where judge fails or
# leaves, so does the worker: 2 is a no, anything else a failure.
while IFS= read -r line; do
    id=${{line#'{{"id":'}}
    id=${{id%%,*}}
    output=$(judge "$line") || exit
    printf '{{"id":%s,"output":%s}}\n' "$id" "${{output:-null}}"
done
"#
    )
}

fn python(event: EventKind, about: &str) -> String {
    let head = comment_block("#", about, HANDLER_COMMENT, &answer_options(event));
    let body = match is_selective(event) {
        true => {
            format!(
                "    if \"{TRIGGER_TEXT}\" in json.dumps(event):\n        return {}\n    return None\n",
                sample_answer(event)
            )
        }
        false => format!("    return {}\n", sample_answer(event)),
    };
    format!(
        r#"#!/usr/bin/env python3
{head}import json
import os
import sys


def judge(event):
{body}

# A command hook gets its input as it is.
if not os.environ.get("HOOKWRIGHT_WORKER"):
    print(json.dumps(judge(json.load(sys.stdin)) or {{}}))
    sys.exit()

# A worker gets one request a line, {{"id": N, "input": {{…}}}}, and answers each with a line of its own.
for line in sys.stdin:
    request = json.loads(line)
    if "input" not in request:
        continue
    try:
        reply = {{"id": request["id"], "output": judge(request["input"])}}
    except Exception as error:
        reply = {{"id": request["id"], "error": repr(error)}}
    print(json.dumps(reply), flush=True)
"#
    )
}

fn node(event: EventKind, about: &str) -> String {
    let head = comment_block("//", about, HANDLER_COMMENT, &answer_options(event));
    let body = match is_selective(event) {
        true => format!(
            "  if (JSON.stringify(event).includes('{TRIGGER_TEXT}')) {{\n    return {};\n  }}\n",
            sample_answer(event)
        ),
        false => format!("  return {};\n", sample_answer(event)),
    };
    format!(
        r#"#!/usr/bin/env node
{head}async function judge(event) {{
{body}}}

async function command() {{
  // A command hook gets its input as it is.
  const event = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  console.log(JSON.stringify((await judge(event)) ?? {{}}));
}}

async function reply({{ id, input }}) {{
  try {{
    return {{ id, output: (await judge(input)) ?? null }};
  }} catch (error) {{
    return {{ id, error: String(error) }};
  }}
}}

function worker() {{
  // A worker gets one request a line, {{"id": N, "input": {{…}}}}, and answers each with a line of its own.
  const lines = require('readline').createInterface({{ input: process.stdin }});
  lines.on('line', async (line) => {{
    const request = JSON.parse(line);
    if (request.input) {{
      process.stdout.write(`${{JSON.stringify(await reply(request))}}\n`);
    }}
  }});
}}

process.env.HOOKWRIGHT_WORKER ? worker() : command();
"#
    )
}
