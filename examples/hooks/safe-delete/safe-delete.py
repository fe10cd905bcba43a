#!/usr/bin/env python3
"""safe-delete: where a command would delete files with rm, they move to a trash folder instead.

Event     BeforeTool, matcher "run_shell_command"; rewrites command: the word rm becomes this script with the word trash.
              rm -rf build && make   →   '…/.gemini/hooks/safe-delete.py' trash -rf build && make
          The user sees the rewritten command where it has to be approved, and the model is told that it changed.
Trash     the folder trash beside the script's own folder (.gemini/trash), one numbered folder per deleted thing.
          git ignores it; emptying it is left to people.
Settings  SAFE_DELETE_TRASH  another trash folder
Answers   tool_input with the new command; ask where rm stands in quoted or generated text that can't be rewritten;
          nothing for commands without rm (git rm, docker rm and words that only look alike stay as they are).
Alone     safe-delete.py trash [rm's options] FILE…   does the moving, with rm's manners: -r for folders, -f for silence.
"""

import json
import os
import re
import shutil
import sys
import time

SCRIPT = os.path.abspath(__file__)
# Words after which another program's name follows, with those of their options that take a value.
PREFIXES = {"sudo": "ugpCrtTUDRh", "doas": "uC", "env": "uC", "xargs": "IdaEsnPL", "nice": "n", "ionice": "cn",
            "timeout": "ks", "time": "fo", "exec": "a"}
PREFIXES.update((word, "") for word in "command builtin nohup then do else elif if while until ! { -exec -execdir -ok -okdir".split())
TOKEN = re.compile(r"""
    (?P<space>[ \t\r]+|\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<redirect>\d*(?:<<-?|<<<|<>|[<>]&|>>|>\||[<>])|&>>?)
  | (?P<operator>\$\(|<\(|>\(|&&|\|\||;;|\|&|[;&|()\n])
  | (?P<word>(?:[^\s;&|()<>'"\\$`\#]|(?<!\s)\#|\\[\s\S]|'[^']*'|"(?:[^"\\`$]|\\[\s\S]|\$(?!\())*"|\$(?!\())+)
""", re.X)


class Unreadable(Exception):
    """The command holds something that this simple reader does not take apart."""


def rewrite(command, replacement):
    """The command with every rm it runs replaced, or the same command."""
    out, at, expects_program, skip, values = [], 0, True, False, ""
    while at < len(command):
        match = TOKEN.match(command, at)
        if not match or (match.lastgroup == "redirect" and "<<" in match.group()):
            raise Unreadable
        text, kind, at = match.group(), match.lastgroup, match.end()
        if kind == "operator":
            expects_program, skip, values = True, False, ""
        elif kind == "redirect":
            skip = True  # the next word is its file
        elif kind == "word":
            if skip:
                skip = False
            else:
                plain = re.sub(r"\\([\s\S])|['\"]", lambda found: found.group(1) or "", text)
                if expects_program and plain in ("rm", "/bin/rm", "/usr/bin/rm"):
                    text = replacement
                if plain in PREFIXES:
                    expects_program, values = True, PREFIXES[plain]
                elif expects_program and is_option(plain):
                    skip = re.fullmatch(f"-[{values}]", plain) is not None if values else False
                else:
                    expects_program = False
        out.append(text)
    return "".join(out)


def is_option(word):
    """Whether a word may stand between `env` or `xargs` and the program: an option, an assignment, a number."""
    return bool(re.match(r"-.|[A-Za-z_]\w*=|\d+[smhd]?$", word))


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


def decide(call):
    command = call["tool_input"].get("command")
    if not isinstance(command, str) or not re.search(r"\brm\b|r['\"\\]+m\b", command):
        return None
    trash = os.environ.get("SAFE_DELETE_TRASH")
    replacement = f"{quoted(SCRIPT)} trash" + (f" --to={quoted(trash)}" if trash else "")
    try:
        changed = rewrite(command, replacement)
    except Unreadable:
        changed = command
        hidden = True
    else:
        left = changed.replace(replacement, "")
        hidden = bool(re.search(r"(?:^|[\s;&|(/])(?:sh|bash|zsh|dash|ksh|eval|ssh)\s[\s\S]*\brm\b", left))
    answer = {}
    if changed != command:
        answer["hookSpecificOutput"] = {"hookEventName": "BeforeTool", "tool_input": {"command": changed}}
        answer["systemMessage"] = "safe-delete: files go to the trash folder instead of being deleted"
    if hidden:
        answer["decision"] = "ask"
        answer["reason"] = "safe-delete: this command may delete files for good; its rm could not be rewritten"
    return answer or None


def move_to_trash(arguments):
    """What the rewritten command runs."""
    folder, force, recursive, verbose, names, options = None, False, False, False, [], True
    for word in arguments:
        if options and word == "--":
            options = False
        elif options and word.startswith("--to="):
            folder = word[len("--to="):]
        elif options and word.startswith("--"):
            force = force or word == "--force"
            recursive = recursive or word == "--recursive"
            verbose = verbose or word == "--verbose"
        elif options and word.startswith("-") and len(word) > 1:
            force = force or "f" in word
            recursive = recursive or "r" in word.lower()
            verbose = verbose or "v" in word
        else:
            names.append(word)
    if not names and not force:
        return complain("missing operand")
    trash = os.path.abspath(folder or os.path.join(os.path.dirname(SCRIPT), os.pardir, "trash"))
    status = 0
    for name in names:
        path = os.path.abspath(name)
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if name.rstrip("/") in ("", ".", "..") or name.rstrip("/").endswith(("/.", "/..")):
            status = complain(f"refusing to remove '{name}'")
        elif os.path.commonpath([real, os.path.realpath(trash)]) in (real, os.path.realpath(trash)):
            status = complain(f"'{name}' is, or is in, the trash; it is emptied by hand")
        elif not os.path.lexists(path):
            if not force:
                status = complain(f"cannot remove '{name}': No such file or directory")
        elif os.path.isdir(path) and not os.path.islink(path) and not recursive:
            status = complain(f"cannot remove '{name}': Is a directory")
        else:
            try:
                shutil.move(path, os.path.join(new_place(trash), os.path.basename(path)))
            except OSError as error:
                status = complain(f"cannot move '{name}' to the trash: {error}")
            else:
                if verbose:
                    print(f"moved '{name}' to {trash}")
    return status


def new_place(trash):
    """A new folder in the trash: nothing that was deleted earlier is overwritten."""
    if not os.path.isdir(trash):
        os.makedirs(trash, exist_ok=True)
        with open(os.path.join(trash, ".gitignore"), "w", encoding="utf-8") as ignore:
            ignore.write("*\n")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        place = os.path.join(trash, f"{stamp}-{number}")
        try:
            os.mkdir(place)
            return place
        except FileExistsError:
            number += 1


def complain(text):
    print(f"rm: {text}", file=sys.stderr)
    return 1


def main():
    if sys.argv[1:2] == ["trash"]:
        sys.exit(move_to_trash(sys.argv[2:]))
    try:
        answer = decide(json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass")))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        sys.exit(f"safe-delete: the input is not the JSON of a tool call: {error!r}")
    if answer:
        print(json.dumps(answer))


main()
