#!/usr/bin/env python3
"""pii-redactor: takes personal data out of the model's answer, before it is shown, stored or sent on.

Event     AfterModel; reads llm_response, content and full_content. "chunks": "sentence" in the settings hands it whole
          sentences, so that nothing of a number is shown before all of it is here.
Redacts   e-mail addresses, card numbers (13 to 19 digits that pass the Luhn check) and phone numbers.
Settings  PII_ALLOW  texts that may stay, separated by commas; one that starts with @ is a domain (default: git@)
          PII_KINDS  what to look for: email, card, phone (default: all)
Answers   llm_response with the text replaced and everything else as it came, or nothing.

Without "chunks", and in Gemini CLI, which does not know it, a number may arrive in two pieces. The text so far is looked
at too, so the second piece is redacted; what an earlier piece has already shown stays shown.
"""

import json
import os
import re
import sys

LOOK_BACK = 120  # longer than anything that is looked for
EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
PHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}"  # +44 20 7946 0958
    r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4})(?![\w-]|\.\d)")  # (415) 555-0132, 415-555-0132


def is_card(text):
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit if at % 2 == 0 else digit * 2 - 9 * (digit > 4) for at, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def is_phone(text):
    return 8 <= sum(char.isdigit() for char in text) <= 15


def allowed(text):
    for word in os.environ.get("PII_ALLOW", "git@").split(","):
        word = word.strip().lower()
        if word and (text.lower().endswith(word) if word.startswith("@") else word in text.lower()):
            return True
    return False


def finds(text):
    """Where personal data stands: start, end, kind. Earlier kinds win where two overlap."""
    wanted = {kind.strip() for kind in os.environ.get("PII_KINDS", "email,card,phone").split(",")}
    taken = []
    for kind, pattern, check in (("email", EMAIL, None), ("card", CARD, is_card), ("phone", PHONE, is_phone)):
        if kind not in wanted:
            continue
        for match in pattern.finditer(text):
            start, end = match.span()
            if (check is None or check(match.group())) and not allowed(match.group()):
                if all(end <= other[0] or start >= other[1] for other in taken):
                    taken.append((start, end, kind))
    return sorted(taken)


def redact(text, before=""):
    """The text without what is found in it, knowing the text that came before it."""
    before = before[-LOOK_BACK:]
    pieces, at = [], len(before)
    for start, end, kind in finds(before + text):
        if end > len(before):
            pieces += [(before + text)[at:max(start, at)], f"[{kind} redacted]"]
            at = end
    return "".join(pieces) + (before + text)[at:] if pieces else text


def redact_response(event):
    """The response with its texts redacted, or nothing if there was nothing to redact."""
    response = event["llm_response"]
    content, full = event.get("content") or "", event.get("full_content") or ""
    changed = False
    for index, candidate in enumerate(response.get("candidates") or []):
        parts = candidate.get("content", {}).get("parts") or []
        text = "".join(part for part in parts if isinstance(part, str))
        before = full[:-len(text)] if index == 0 and text and text == content and full.endswith(text) else ""
        clean = redact(text, before)
        if clean != text:
            # All text in the first part: a find may have begun in one part and ended in the next.
            candidate["content"]["parts"] = [clean] + [""] * (len(parts) - 1)
            changed = True
    if response.get("candidates"):
        if changed and isinstance(response.get("text"), str):
            response["text"] = "".join(response["candidates"][0].get("content", {}).get("parts") or [])
        return response if changed else None
    clean = redact(response.get("text") or content, full[:-len(content)] if content and full.endswith(content) else "")
    return {**response, "text": clean} if clean != (response.get("text") or content) else None


def main():
    try:
        event = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))
        response = redact_response(event)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        sys.exit(f"pii-redactor: the input is not the JSON of a model's answer: {error!r}")
    if response is not None:
        # This hook's input is what it redacts: it must not stand in logs either.
        output = {"hookEventName": "AfterModel", "llm_response": response}
        print(json.dumps({"suppressOutput": True, "hookSpecificOutput": output}))


main()
