#!/usr/bin/env python3
"""response-checker: sends an unfinished answer back, once.

Event     AfterAgent; reads prompt, prompt_response and stop_hook_active.
Rejects   an answer that leaves placeholders (TODO, FIXME, "rest of the code") or gives up ("I was unable to"), and an
          empty one. What the prompt itself talks about does not count: "list all TODO comments" may be answered.
Settings  RESPONSE_CHECKER_PATTERNS  more regular expressions that no answer may match, one per line
          RESPONSE_CHECKER_ALLOW     kinds not to look for: placeholder, gave-up, empty (separated by commas)
Answers   deny: the reason becomes the model's next prompt. If an answer was already sent back (stop_hook_active) it lets
          the next one pass: a model that can't do better should tell the user, not run in circles.
"""

import json
import os
import re
import sys

RULES = [
    ("placeholder", r"\b(?:TODO|FIXME|XXX)\b", "leaves a {found}"),
    ("placeholder", r"(?i)(?:\.\.\.|…)\s*(?:the\s+)?rest of (?:the|your) (?:\w+ )?(?:code|file|function|implementation)",
     "leaves code out (“{found}”)"),
    ("placeholder", r"(?i)\b(?:your|implementation|logic) (?:code )?goes here\b", "leaves code out (“{found}”)"),
    ("gave-up", r"(?i)\bI (?:was|am|'m) (?:unable|not able) to\b|\bI (?:could not|couldn't|wasn't able to)\b", "gives up (“{found}”)"),
]


def objections(prompt, answer):
    skipped = {kind.strip() for kind in os.environ.get("RESPONSE_CHECKER_ALLOW", "").split(",")}
    if not answer.strip():
        return [] if "empty" in skipped else ["is empty"]
    answer, prompt = answer.replace("’", "'"), prompt.replace("’", "'").lower()
    found = []
    for kind, pattern, words in RULES:
        match = None if kind in skipped else re.search(pattern, answer)
        if match and match.group().lower() not in prompt:
            found.append(words.format(found=match.group()))
    for pattern in filter(None, map(str.strip, os.environ.get("RESPONSE_CHECKER_PATTERNS", "").splitlines())):
        match = re.search(pattern, answer)
        if match:
            found.append(f"holds “{match.group()[:80]}”")
    return found


def main():
    try:
        event = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))
        if event.get("stop_hook_active") is True:
            return
        found = objections(event.get("prompt") or "", event["prompt_response"])
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        sys.exit(f"response-checker: the input is not the JSON of an answer: {error!r}")
    except re.error as error:
        sys.exit(f"response-checker: RESPONSE_CHECKER_PATTERNS: {error}")
    if found:
        reason = f"Your answer {', '.join(found)}. Finish the work now. If that is impossible, say plainly what is missing and why."
        print(json.dumps({"decision": "deny", "reason": reason}))


main()
