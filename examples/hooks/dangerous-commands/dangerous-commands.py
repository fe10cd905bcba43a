#!/usr/bin/env python3
"""dangerous-commands: reads shell commands the way a shell does and stops the ones that can't be taken back.

Event     BeforeTool, matcher "run_shell_command"; reads command and dir_path.
Denies    recursive deletes (and chmod, chown) of /, system folders, the home folder or a parent of the project;
          downloads piped into an interpreter; forced pushes to a protected branch; writing to disk devices; fork bombs.
Asks      sudo and its kin, git push, recursive deletes of the whole project or of a path that hangs on an unknown
          variable, power commands, commands that can't be read.
Settings  DANGEROUS_DENY, DANGEROUS_ASK  more program names, separated by commas
          PROTECTED_BRANCHES             default: main,master
Answers   deny or ask with the reason; exit 1 if the input can't be read ("guard": true makes that a refusal).

It sees through quotes, variables set in the same command, cd, pipes, subshells, $( ), sh -c, eval, xargs, env, sudo and
here-documents. It is a seat belt, not a wall: a program that deletes files by itself is out of its sight.
"""

import fnmatch
import json
import os
import posixpath
import re
import subprocess
import sys

UNKNOWN = "\0"  # stands for text that only running the command would tell
MAX_DEPTH = 12

SHELLS = {"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"}
INTERPRETERS = SHELLS | {"python", "python2", "python3", "perl", "ruby", "node", "php", "lua", "osascript"}
SOURCES = {"curl": "a download", "wget": "a download", "fetch": "a download", "aria2c": "a download",
           "http": "a download", "https": "a download", "base64": "decoded text", "xxd": "decoded text"}
PRIVILEGE = {"sudo", "doas", "pkexec", "su", "run0"}
PRINTERS = {"echo", "printf"}
POWER = {"shutdown", "reboot", "halt", "poweroff"}
DISK_TOOLS = {"wipefs", "shred", "blkdiscard", "mkswap", "sfdisk", "sgdisk", "fdisk", "parted", "tee"}
SAFE_DEVICES = re.compile(r"/dev/(null|zero|full|tty|stdin|stdout|stderr|u?random|(fd|shm|pts|tcp|udp)/.*)$")
SYSTEM = ["/" + name for name in (
    "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var usr/bin usr/lib usr/local "
    "usr/sbin usr/share var/lib Users System Library Applications Volumes private").split()]
# Programs that run another one, with those of their options that take a value.
WRAPPERS = {"sudo": "ugpCrtTUDRh", "doas": "uC", "pkexec": "", "run0": "", "env": "uC", "command": "", "builtin": "",
            "exec": "a", "nohup": "", "time": "fo", "setsid": "", "nice": "n", "ionice": "cn", "stdbuf": "ioe",
            "timeout": "ks", "xargs": "IinPLdEsa", "busybox": "", "caffeinate": "", "unbuffer": ""}
OPENERS = {"while", "until", "for", "if", "case", "select", "{"}
CLOSERS = {"done", "fi", "esac", "}"}
JOINERS = {"do", "then", "else", "elif", "!"}


class Unreadable(Exception):
    """The text is no complete shell command."""


class Word:
    """One word after expansion: its text, and the commands inside it whose output it stands for."""

    def __init__(self, text="", scripts=(), literal=True):
        self.text, self.scripts, self.literal = text, list(scripts), literal

    @property
    def known(self):
        return self.text.replace(UNKNOWN, "")


class Command:
    def __init__(self):
        self.words, self.outputs, self.inputs, self.upstream = [], [], [], []


class Reader:
    """Splits a script into simple commands, each with the commands whose output it reads."""

    def __init__(self, text, variables):
        self.text, self.at, self.variables = text, 0, variables
        self.after_bodies = None  # where the text goes on after this line and its here-documents

    def commands(self):
        """Yields the commands in order; the caller may act on each before the next one is read."""
        done, stack, current = [], [], Command()
        upstream, inherited, last, redirect = [], [], [], None

        def finish():
            nonlocal current, last
            command, current = current, Command()
            if not (command.words or command.outputs or command.inputs):
                return None
            command.upstream = inherited + upstream
            done.append(command)
            last = [command]
            return command

        while True:
            kind, value = self.token()
            if kind == "word":
                if redirect is not None:
                    redirect(value[0] if value else Word())
                    redirect = None
                    continue
                if not current.words and len(value) == 1 and value[0].literal:
                    if value[0].text in JOINERS:
                        continue
                    if value[0].text in OPENERS:
                        stack.append((value[0].text, len(done), upstream, inherited))
                        inherited, upstream, last = inherited + upstream, [], []
                        continue
                    if value[0].text in CLOSERS and stack and stack[-1][0] != "(":
                        _, start, upstream, inherited = stack.pop()
                        last = done[start:]
                        continue
                current.words.extend(value)
                continue
            if kind == "redirect":
                redirect = self.redirection(value, current)
                continue
            command = finish()
            if command:
                yield command
            if kind == "end":
                return
            if value in ("|", "|&"):
                upstream = upstream + last
            elif value == "(":
                stack.append(("(", len(done), upstream, inherited))
                inherited, upstream, last = inherited + upstream, [], []
            elif value == ")" and stack and stack[-1][0] == "(":
                _, start, upstream, inherited = stack.pop()
                last = done[start:]
            else:
                upstream, last = [], []

    def redirection(self, operator, command):
        if operator.startswith("<<") and operator != "<<<":
            return lambda word: command.inputs.append(self.body(word.text, operator == "<<-"))
        if operator == "<<<":
            return command.inputs.append
        if operator.startswith("<"):
            return lambda word: command.inputs.append(Word(scripts=word.scripts))  # what the file holds is not known
        return command.outputs.append

    def token(self):
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if text.startswith("\\\n", self.at):
                self.at += 2
            elif char in " \t\r":
                self.at += 1
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif char == "\n":
                self.at, self.after_bodies = self.after_bodies or self.at + 1, None
                return "op", "\n"
            else:
                break
        if self.at >= len(text):
            return "end", ""
        match = re.compile(r"\d*(<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())|&>>?").match(text, self.at)
        if match:
            self.at = match.end()
            return "redirect", match.group(1) or ">"
        match = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()]").match(text, self.at)
        if match:
            self.at = match.end()
            return "op", match.group()
        return "word", self.word()

    def body(self, end, strip):
        """The here-document that starts on the next line, or after the one before it."""
        start = self.after_bodies or self.text.find("\n", self.at) + 1 or len(self.text)
        lines = []
        while start < len(self.text):
            stop = self.text.find("\n", start)
            stop = len(self.text) if stop < 0 else stop
            line, start = self.text[start:stop], stop + 1
            line = line.lstrip("\t") if strip else line
            if line == end:
                break
            lines.append(line)
        self.after_bodies = min(start, len(self.text))
        return Word("\n".join(lines))

    def word(self):
        """A word and what it expands to: usually one, several for an unquoted variable or braces."""
        text, fields, scripts, literal, braces = self.text, [""], [], True, False
        started = False
        while self.at < len(text):
            char = text[self.at]
            if char in " \t\r\n;&|()" or (char in "<>" and not text.startswith("(", self.at + 1)):
                break
            if char == "~" and not started and re.match(r"~(/|$|[\s;&|)])", text[self.at:self.at + 2] or "~"):
                fields[-1] += os.path.expanduser("~")
                self.at += 1
            elif char in "<>":
                self.at += 2
                scripts.append(self.nested())
                fields[-1] += UNKNOWN
            elif char == "'":
                end = text.find("'", self.at + 1)
                if end < 0:
                    raise Unreadable("a single quote is not closed")
                fields[-1] += text[self.at + 1:end]
                self.at, literal = end + 1, False
            elif char == '"':
                self.at += 1
                fields[-1] += self.double_quoted(scripts)
                literal = False
            elif char == "\\":
                if not text.startswith("\\\n", self.at):
                    fields[-1] += text[self.at + 1:self.at + 2]
                    literal = False
                self.at += 2
            elif char == "$" and text.startswith("'", self.at + 1):
                fields[-1] += self.ansi_quoted()
                literal = False
            elif char in "$`":
                value = self.expansion(scripts)
                parts = re.split(r"\s+", value)
                fields[-1] += parts[0]
                fields.extend(parts[1:])
                literal = False
            else:
                braces = braces or char == "{"
                fields[-1] += char
                self.at += 1
            started = True
        words = [Word(field, literal=literal) for at, field in enumerate(fields) if field or at == 0]
        words[0].scripts = scripts
        return [Word(each, word.scripts, literal) for word in words for each in expand_braces(word.text)] if braces else words

    def double_quoted(self, scripts):
        text, value = self.text, ""
        while self.at < len(text):
            char = text[self.at]
            if char == '"':
                self.at += 1
                return value
            if char == "\\" and text[self.at + 1:self.at + 2] in ("$", "`", '"', "\\", "\n"):
                value += text[self.at + 1].replace("\n", "")
                self.at += 2
            elif char in "$`":
                value += self.expansion(scripts)
            else:
                value += char
                self.at += 1
        raise Unreadable("a double quote is not closed")

    def ansi_quoted(self):
        match = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.S).match(self.text, self.at)
        if not match:
            raise Unreadable("a $'…' quote is not closed")
        self.at = match.end()

        def unescape(found):
            code = found.group(1)
            if code[0] in "xuU" and len(code) > 1:
                number = int(code[1:], 16)
                return chr(number) if 0 < number < 0x110000 else UNKNOWN
            if code[0] in "01234567":
                return chr(int(code, 8) % 256)
            return {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}.get(code, code)

        return re.sub(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", unescape,
                      match.group(1), flags=re.S)

    def expansion(self, scripts):
        """What follows a `$` or a backtick: the text it stands for, as far as it can be known."""
        text = self.text
        if text[self.at] == "`":
            match = re.compile(r"`((?:[^`\\]|\\.)*)`", re.S).match(text, self.at)
            if not match:
                raise Unreadable("a backtick is not closed")
            self.at = match.end()
            scripts.append(re.sub(r"\\([$`\\])", r"\1", match.group(1)))
            return UNKNOWN
        if text.startswith("$((", self.at):
            end = text.find("))", self.at)
            if end < 0:
                raise Unreadable("arithmetic is not closed")
            self.at = end + 2
            return UNKNOWN
        if text.startswith("$(", self.at):
            self.at += 2
            script = self.nested()
            if script.strip() == "pwd":
                return self.variables["PWD"]
            scripts.append(script)
            return UNKNOWN
        match = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})").match(text, self.at)
        if match:
            self.at = match.end()
            return self.variables.get(match.group(1) or match.group(2), UNKNOWN)
        match = re.compile(r"\$\{([A-Za-z_]\w*)?").match(text, self.at)
        if match:
            self.at = match.end()
            depth = 1
            while depth and self.at < len(text):
                depth += {"{": 1, "}": -1}.get(text[self.at], 0)
                self.at += 1
            if depth:
                raise Unreadable("a ${ is not closed")
            # "${HOME:?}" and the like: close enough to the variable itself.
            return self.variables.get(match.group(1), UNKNOWN) if match.group(1) else UNKNOWN
        match = re.compile(r"\$[0-9@*#?$!_-]").match(text, self.at)
        self.at = match.end() if match else self.at + 1
        return UNKNOWN if match else "$"

    def nested(self):
        """The script up to the matching parenthesis."""
        start, depth, text = self.at, 1, self.text
        while self.at < len(text):
            char = text[self.at]
            if char == "\\":
                self.at += 1
            elif char == "'":
                end = text.find("'", self.at + 1)
                if end < 0:
                    break
                self.at = end
            elif char == '"':
                self.at += 1
                self.double_quoted([])
                continue
            elif char in "()":
                depth += 1 if char == "(" else -1
                if depth == 0:
                    self.at += 1
                    return text[start:self.at - 1]
            self.at += 1
        raise Unreadable("a parenthesis is not closed")


def expand_braces(text, limit=64):
    """`a{b,c}` → `ab`, `ac`."""
    done, todo = [], [text]
    while todo and len(done) + len(todo) < limit:
        each = todo.pop()
        match = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if match:
            todo.extend(each[:match.start()] + part + each[match.end():] for part in match.group(1).split(","))
        else:
            done.append(each)
    return done + todo


def program(word):
    return posixpath.basename(word.known)


class Judge:
    """Reads scripts, follows `cd` and assignments, and gathers objections."""

    def __init__(self, root, cwd):
        self.root, self.cwd = root, cwd
        self.home = os.path.expanduser("~")
        self.variables = {"HOME": self.home, "PWD": cwd, "IFS": " "}
        self.denials, self.questions = [], []
        self.branches = names("PROTECTED_BRANCHES", "main,master")
        self.more_denials, self.more_questions = names("DANGEROUS_DENY"), names("DANGEROUS_ASK")

    def deny(self, reason):
        self.denials.append(reason)

    def ask(self, reason):
        self.questions.append(reason)

    def script(self, text, depth=0):
        if depth > MAX_DEPTH:
            self.ask("it is nested too deeply to be read")
            return
        if "|" in text and re.search(r"([^\s(){}|&;]{1,32})\(\)\{\1\|\1&\};?\1", re.sub(r"\s+", "", text)):
            self.deny("a fork bomb")
        for command in Reader(text, self.variables).commands():
            self.command(command, depth)

    def command(self, command, depth):
        for word in command.words + command.outputs + command.inputs:
            for script in word.scripts:
                cwd, variables = self.cwd, dict(self.variables)
                self.script(script, depth + 1)
                self.cwd, self.variables = cwd, variables
        for target in command.outputs:
            self.device(target.known, "redirects into")
        words, wrapped = self.unwrap(command, depth)
        if not words:
            return
        if "xargs" in wrapped:
            printed = [source.words for source in command.upstream if source.words and program(source.words[0]) in PRINTERS]
            words = words + [word for line in printed for word in line[1:]]
        name, args = program(words[0]), words[1:]
        if name in self.more_denials:
            self.deny(f"{name} is on the list of denied programs")
        if name in PRIVILEGE or name in POWER or name in self.more_questions:
            self.ask(f"runs {name}")
        if name in INTERPRETERS or name == "su" or re.fullmatch(r"python[\d.]+", name):
            self.interpreter(name, args, command, depth)
        elif name == "eval":
            self.runs_foreign_text(name, args)
            self.script(" ".join(word.text for word in args), depth + 1)
        elif name in ("source", "."):
            self.runs_foreign_text(name, args)
        elif name == "cd":
            self.change_directory(args)
        elif name in ("rm", "chmod", "chown", "chgrp"):
            self.recursive(name, args)
        elif name == "find":
            self.find(args, depth)
        elif name == "dd":
            for word in args:
                if word.known.startswith("of="):
                    self.device(word.known[3:], "dd writes to")
        elif name in DISK_TOOLS or name.startswith("mkfs") or name.startswith("newfs"):
            for word in args:
                self.device(word.known, f"{name} writes to")
        elif name in ("cp", "mv", "install") and args:
            self.device(args[-1].known, f"{name} writes to")
        elif name == "git":
            self.git(args)

    def unwrap(self, command, depth):
        """The words of the program that really runs, without assignments, sudo, env, xargs and the like."""
        words, wrapped = list(command.words), set()
        while words:
            match = re.match(r"([A-Za-z_]\w*)\+?=(.*)", words[0].text, re.S)
            if match:
                if len(words) == 1 or not wrapped:
                    self.variables[match.group(1)] = match.group(2)
                words.pop(0)
                continue
            name = program(words[0])
            if name in ("export", "declare", "local", "readonly", "typeset") and len(words) > 1:
                words = [word for word in words[1:] if not word.text.startswith("-")]
                continue
            if name not in WRAPPERS:
                break
            wrapped.add(name)
            if name in PRIVILEGE:
                self.ask(f"runs {name}")
            words.pop(0)
            takes_value = WRAPPERS[name]
            while words and words[0].text.startswith("-") and words[0].text != "-":
                option = words.pop(0).text
                if option == "--":
                    break
                if name == "env" and option in ("-S", "--split-string") and words:
                    self.script(words.pop(0).text, depth + 1)
                if not option.startswith("--") and option[-1] in takes_value and len(option) == 2 and words:
                    words.pop(0)
            if name == "timeout" and words:
                words.pop(0)
        return words, wrapped

    def interpreter(self, name, args, command, depth):
        self.runs_foreign_text(name, args)
        operands, at = [], 0
        while at < len(args):
            text = args[at].text
            if (name in SHELLS or name == "su") and re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*|--command", text) and at + 1 < len(args):
                self.script(args[at + 1].text, depth + 1)
                return
            if name == "su":
                at += 1
                continue
            if text in ("-", "-s"):
                break
            if not text.startswith(("-", "+") if name in SHELLS else "-"):
                operands.append(text)
                break
            if name not in SHELLS and re.match(r"-[A-Za-z]*[cmeErp]$|--eval|--print", text):
                return  # code or a module on the command line: stdin is data
            at += 2 if name in SHELLS and re.fullmatch(r"[-+]\w*[oO]|--rcfile|--init-file", text) else 1
        if operands and not args[at].scripts:
            return
        for source in command.upstream:
            words, _ = self.quiet_unwrap(source)
            origin = program(words[0]) if words else ""
            if origin in SOURCES or any(self.foreign(script) for word in source.words for script in word.scripts):
                self.deny(f"pipes {SOURCES.get(origin, 'a download')} into {name}")
            elif origin in PRINTERS and name in SHELLS:
                self.script(" ".join(word.text for word in words[1:]), depth + 1)
            elif origin in ("cat", "tee") and name in SHELLS:
                self.script("\n".join(word.known for word in source.inputs), depth + 1)
        for word in command.inputs:
            if any(self.foreign(script) for script in word.scripts):
                self.deny(f"feeds a download to {name}")
            elif name in SHELLS:
                self.script(word.known, depth + 1)

    def quiet_unwrap(self, command):
        other = Judge(self.root, self.cwd)
        return other.unwrap(command, MAX_DEPTH)

    def foreign(self, script):
        """Whether a script's output comes from elsewhere."""
        try:
            for command in Reader(script, dict(self.variables)).commands():
                words, _ = self.quiet_unwrap(command)
                if words and program(words[0]) in SOURCES:
                    return True
                if any(self.foreign(inner) for word in command.words for inner in word.scripts):
                    return True
        except Unreadable:
            return True
        return False

    def runs_foreign_text(self, name, args):
        if any(self.foreign(script) for word in args for script in word.scripts):
            self.deny(f"hands a download to {name}")

    def change_directory(self, args):
        targets = [word for word in args if not (word.text.startswith("-") and len(word.text) > 1)]
        if not targets:
            self.cwd = self.home
        elif UNKNOWN in targets[0].text or targets[0].text == "-" or self.cwd is None and not targets[0].text.startswith("/"):
            self.cwd = None
        else:
            self.cwd = posixpath.normpath(posixpath.join(self.cwd or "/", targets[0].text))
        self.variables["PWD"] = self.cwd or UNKNOWN

    def recursive(self, name, args):
        texts = [word.text for word in args]
        options = [text for text in texts if text.startswith("-")]
        if "--no-preserve-root" in options:
            self.deny(f"{name} --no-preserve-root")
        is_recursive = "--recursive" in options or any(re.match(r"-\w*[rR]", option) for option in options)
        if not is_recursive:
            return
        for word in args:
            if word.text.startswith("-") and word.text != "-":
                continue
            place, sure = self.place(word.text)
            if place and sure:
                self.deny(f"{name} runs through {place}")
            elif place:
                self.ask(f"{name} runs through {place}")

    def find(self, args, depth):
        texts = [word.text for word in args]
        first_test = next((at for at, text in enumerate(texts) if re.match(r"[-(!]", text) and text not in "-H-L-P"), len(texts))
        runs = [at for at, text in enumerate(texts) if text in ("-exec", "-execdir", "-ok", "-okdir")]
        deletes = "-delete" in texts or any(program(args[at + 1]) in ("rm", "shred") for at in runs if at + 1 < len(args))
        if deletes:
            for text in texts[:first_test]:
                place, sure = self.place(text)
                if place and sure:
                    self.deny(f"find deletes in {place}")
        for at in runs:
            inner = Command()
            inner.words = [word for word in args[at + 1:] if word.text not in (";", "+", "{}")]
            if inner.words and program(inner.words[0]) not in ("rm", "shred"):
                self.command(inner, depth + 1)

    def place(self, text):
        """The dangerous place a path names, and whether it surely does; nothing for a harmless path."""
        if UNKNOWN in text:
            place, _ = self.place(text.replace(UNKNOWN, ""))
            surely, sure = self.place(text.replace(UNKNOWN, "x")) if place else (None, False)
            return (surely, sure) if surely else (f"{place} if a variable is empty" if place else None, False)
        if re.fullmatch(r"~[\w.-]+/*\**", text):
            return "a home folder", True
        if not text or (self.cwd is None and not text.startswith("/")):
            return ("a folder that can't be known", False) if re.fullmatch(r"[.*/]+", text) else (None, False)
        path = posixpath.normpath(posixpath.join(self.cwd or "/", text))
        path = "/" + path.lstrip("/")
        while path != "/" and re.fullmatch(r"[.*?]+", posixpath.basename(path)):
            path = posixpath.dirname(path)
        if path == "/":
            return "the root of the file system", True
        if path in (self.home, posixpath.dirname(self.home)):
            return "the home folder", True
        if any(fnmatch.fnmatchcase(system, path) for system in SYSTEM):
            return f"the system folder {path}", True
        if self.root.startswith(path + "/"):
            return f"{path}, which holds the project", True
        if path == self.root:
            return "the whole project", False
        if path == posixpath.join(self.root, ".git"):
            return "the project's history", False
        return None, False

    def device(self, path, what):
        path = posixpath.normpath(path) if path else ""
        if path.startswith("/dev/") and not SAFE_DEVICES.match(path):
            self.deny(f"{what} the device {path}")

    def git(self, args):
        texts, directory = [word.known for word in args], self.cwd
        while texts and texts[0].startswith("-"):
            option = texts.pop(0)
            if option in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path") and texts:
                value = texts.pop(0)
                if option == "-C" and directory is not None:
                    directory = posixpath.join(directory, value)
        if not texts or texts[0] != "push":
            return
        options = [text for text in texts[1:] if text.startswith("-")]
        operands = [text for text in texts[1:] if not text.startswith("-")]
        short = "".join(option[1:] for option in options if re.fullmatch(r"-[A-Za-z46]+", option))
        forced = "f" in short or any(option.startswith(("--force", "--mirror")) for option in options)
        removes = "d" in short or "--delete" in options or "--prune" in options
        refs = operands[1:]
        for ref in refs or ["HEAD"]:
            source, _, target = ref.lstrip("+").partition(":")
            branch = (target or source).split("refs/heads/")[-1]
            if branch in ("HEAD", "@"):
                branch = current_branch(directory)
            rewrites = forced or ref.startswith("+") or (refs and (removes or (not source and target)))
            if rewrites and (branch in self.branches or "--mirror" in options or "--all" in options):
                self.deny(f"a forced push or delete of the protected branch {branch or '(all branches)'}")
                return
        self.ask("git push" + (" --force" if forced else ""))


def current_branch(directory):
    if directory is None:
        return ""
    try:
        found = subprocess.run(["git", "-C", directory, "symbolic-ref", "--short", "-q", "HEAD"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=2, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("utf-8", "replace").strip()


def names(variable, default=""):
    return {name.strip() for name in os.environ.get(variable, default).split(",")} - {""}


def decide(call):
    arguments = call["tool_input"]
    command = arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        return None
    cwd = call.get("cwd") or os.getcwd()
    root = posixpath.normpath(os.environ.get("GEMINI_PROJECT_DIR") or cwd)
    directory = arguments.get("dir_path") or arguments.get("directory") or ""
    judge = Judge(root, posixpath.normpath(posixpath.join(cwd, str(directory))))
    try:
        judge.script(command.replace(UNKNOWN, ""))
    except (Unreadable, RecursionError) as error:
        judge.ask(f"it can't be read: {error}")
    reasons = judge.denials or judge.questions
    if not reasons:
        return None
    text = "; ".join(dict.fromkeys(reasons))
    if judge.denials:
        return {"decision": "deny", "reason": f"dangerous-commands: {text}. Find a way that can be undone, or leave it to the user."}
    return {"decision": "ask", "reason": f"dangerous-commands: {text}"}


def main():
    try:
        answer = decide(json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass")))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        sys.exit(f"dangerous-commands: the input is not the JSON of a tool call: {error!r}")
    if answer:
        print(json.dumps(answer))


main()
