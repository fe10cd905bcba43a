//! What `hooks new --worker` writes: scripts that stay for a session and answer line by line. They need no library, and run as
//! command hooks, too.

use hookwright_hooks::EventKind;

use super::templates::{TRIGGER, answer, commented, is_selective, powers};
use crate::args::Language;

const HOW: &str = "Called with the input of an event; what it returns is the answer, nothing is \"no objection\":";

/// A script that answers for as long as it is asked.
pub(super) fn script(event: EventKind, language: Language, name: &str) -> String {
    let about = format!("{name}: runs {}.", event.info().fires);
    match language {
        Language::Sh => sh(event, &about),
        Language::Python => python(event, &about),
        Language::Node => node(event, &about),
    }
}

fn sh(event: EventKind, about: &str) -> String {
    let how =
        "Called with the input of an event; what it prints, in one line, is the answer, nothing is \"no objection\":";
    let head = commented("#", about, how, &powers(event));
    let say = format!("printf '%s' '{}'", answer(event));
    let body = match is_selective(event) {
        true => format!("    case $1 in\n    *{TRIGGER}*)\n        {say}\n        ;;\n    esac\n"),
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
    let head = commented("#", about, HOW, &powers(event));
    let body = match is_selective(event) {
        true => {
            format!("    if \"{TRIGGER}\" in json.dumps(event):\n        return {}\n    return None\n", answer(event))
        }
        false => format!("    return {}\n", answer(event)),
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
    let head = commented("//", about, HOW, &powers(event));
    let body = match is_selective(event) {
        true => format!("  if (JSON.stringify(event).includes('{TRIGGER}')) {{\n    return {};\n  }}\n", answer(event)),
        false => format!("  return {};\n", answer(event)),
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
