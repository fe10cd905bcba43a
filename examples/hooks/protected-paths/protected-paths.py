#!/usr/bin/env python3
"""protected-paths: keeps edits away from files that an agent should not touch.

Event     BeforeTool, matcher "write_file|replace"; reads file_path.
Denies    .git, .env files, private keys, and the agent's own settings and hooks (a guard that can be edited away guards
          nothing). Asks about lock files, which package managers write.
Settings  PROTECTED_PATHS  more patterns to deny, separated by commas or newlines; "!name" takes one off the list
          ASK_PATHS        the same for the list that asks
          A pattern without a slash is a name anywhere in the path ("*.pem"); one with a slash is a path from the
          project's root ("infra/prod.tf"); one that ends with a slash is a folder with all it holds ("infra/").
          Case does not count, as on file systems that ignore it.
Answers   deny or ask, with the pattern that matched; exit 1 if the input can't be read ("guard": true makes that a refusal).
"""

import fnmatch
import json
import os
import re
import sys

DENY = [".git", ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "*.pem", "id_rsa", "id_ed25519",
        ".gemini/settings.json", ".gemini/hooks/"]
ASK = ["Cargo.lock", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "poetry.lock",
       "uv.lock", "Pipfile.lock", "Gemfile.lock", "composer.lock", "go.sum", "flake.lock"]


def patterns(defaults, variable):
    own = [word.strip() for word in re.split(r"[,\n]", os.environ.get(variable, ""))]
    return defaults + [word for word in own if word.strip("!/")]


def matches(pattern, path):
    """Whether a path from the project's root, in lower case, is meant by a pattern."""
    pattern = pattern.lower()
    if pattern.endswith("/"):
        folder = pattern.strip("/")
        if "/" in folder:
            return fnmatch.fnmatchcase(path, folder) or fnmatch.fnmatchcase(path, folder + "/*")
        return any(fnmatch.fnmatchcase(name, folder) for name in path.split("/")[:-1])
    if "/" in pattern:
        return fnmatch.fnmatchcase(path, pattern.lstrip("/"))
    return any(fnmatch.fnmatchcase(name, pattern) for name in path.split("/"))


def first_match(rules, path):
    """The pattern that decides, as in an ignore file: the last one that matches, unless it starts with "!"."""
    hit = None
    for rule in rules:
        if matches(rule.lstrip("!"), path):
            hit = None if rule.startswith("!") else rule
    return hit


def spellings(file_path, cwd, root):
    """The path as written and as it is on disk, links followed, both seen from the project's root."""
    written = os.path.normpath(os.path.join(cwd, file_path))
    for path, base in ((written, os.path.normpath(root)), (os.path.realpath(written), os.path.realpath(root))):
        try:
            inside = os.path.commonpath([path, base]) == base
        except ValueError:
            inside = False
        yield (os.path.relpath(path, base) if inside else path.lstrip("/")).replace(os.sep, "/").lower()


def decide(call):
    file_path = call["tool_input"].get("file_path")
    if not isinstance(file_path, str) or not file_path or "\0" in file_path:
        return None
    cwd = call.get("cwd") or os.getcwd()
    root = os.environ.get("GEMINI_PROJECT_DIR") or cwd
    paths = list(spellings(file_path, cwd, root))
    for decision, rules in (("deny", patterns(DENY, "PROTECTED_PATHS")), ("ask", patterns(ASK, "ASK_PATHS"))):
        for path in paths:
            rule = first_match(rules, path)
            if rule:
                advice = "Leave it to the user." if decision == "deny" else "Its package manager should write it."
                return {"decision": decision, "reason": f"protected-paths: {file_path} is protected ({rule}). {advice}"}
    return None


def main():
    try:
        answer = decide(json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass")))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        sys.exit(f"protected-paths: the input is not the JSON of a tool call: {error!r}")
    if answer:
        print(json.dumps(answer))


main()
