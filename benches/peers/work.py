"""The work that is measured: one replay, one project and one home for each piece of it, and how each program is started.

Both programs get the same replay, the same prompt and, as far as both know it, the same settings. Before anything is
measured, each piece is run once with hooks that leave a mark, so that a hook that never ran is no quick one.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SDK = HERE.parent.parent / "sdk/node/index.js"

#: Whether it only counts that everything runs (`run.py --short`): less of everything that takes its time.
IS_SHORT = "--short" in sys.argv
#: Tool calls in one session, one per answer of the model. After thirty answers Gemini CLI would ask a model whether it loops.
CALLS = 25
#: The same where a call costs so little that few of them are lost in the noise.
MANY_CALLS = 30 if IS_SHORT else 400
#: Calls with many hooks each.
BURSTS = 4
#: Pieces of a streamed answer.
CHUNKS = 50 if IS_SHORT else 1000
#: The same for Gemini CLI, which starts a process for each.
FEW_CHUNKS = 20
#: The same over a long history, which it writes for each.
FEWER_CHUNKS = 3
#: Hooks of one event.
MANY = 100
#: Bytes of a history, half of it in each of two earlier prompts.
HISTORY = (1 if IS_SHORT else 10) << 20
#: The same for Gemini CLI, which refuses what it takes for more than a million tokens.
SHORTER_HISTORY = 7 << 19

SH = "cat >/dev/null; echo {}"
NODE_HOOK = """import {{ hook }} from {sdk};
{more}
hook.on("BeforeTool", ({{ tool_input }}) => {{ mark("BeforeTool"); if (tool_input.file_path?.includes("secrets/")) return {{ decision: "deny" }}; }});
hook.on("AfterModel", ({{ content }}) => {{ mark("AfterModel"); if (content?.includes("hunter2")) return {{ decision: "deny" }}; }});
"""


def piece(parts, last=False):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate]}


def words(count):
    return [piece([{"text": f"word {at} "}]) for at in range(count - 1)] + [piece([{"text": "end"}], last=True)]


def call(at):
    return [piece([{"functionCall": {"name": "read_file", "args": {"file_path": f"file{at}.txt"}}}], last=True)]


class Stage:
    """A folder with everything in it that the programs read."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.half = self._text("half.txt", HISTORY // 2)
        self.shorter = self._text("shorter.txt", SHORTER_HISTORY)
        self.hook_file = self._hook("hook.mjs", "const mark = () => {};")
        self.marking_file = self._hook(
            "marking.mjs",
            'import { appendFileSync } from "node:fs";\n'
            f"const mark = (event) => appendFileSync({json.dumps(str(self.root / 'marks'))}, `${{event}}\\n`);",
        )

    def _text(self, name, size):
        path = self.root / name
        path.write_text("0123456789abcde\n" * (size // 16))
        return path

    def _hook(self, name, more):
        path = self.root / name
        path.write_text(NODE_HOOK.format(sdk=json.dumps(SDK.as_uri()), more=more))
        return path

    def replay(self, kind, count):
        """A model that calls so many tools and is done, or says so many pieces."""
        path = self.root / f"{kind}-{count}.jsonl"
        if not path.exists():
            answers = [call(at) for at in range(count)] + [words(1)] if kind == "calls" else [words(count)]
            lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
            path.write_text("\n".join(lines) + "\n")
        return path

    def hooks(self, kind, marks=False):
        """The hooks of a piece of work; those that leave marks do the same besides."""
        mark = f"echo BeforeTool >>{self.root / 'marks'}; " if marks else ""
        node = f"node {self.marking_file if marks else self.hook_file}"
        command = {"type": "command", "command": mark + SH}
        return {
            "none": {},
            "sh": {"BeforeTool": [{"hooks": [command]}]},
            "hundred": {"BeforeTool": [{"hooks": [{"type": "command", "command": f"{mark}{SH} # {at}"} for at in range(MANY)]}]},
            "node": {"BeforeTool": [{"hooks": [{"type": "command", "command": node}]}]},
            "worker": {"BeforeTool": [{"hooks": [{"type": "worker", "command": node}]}]},
            "chunks node": {"AfterModel": [{"hooks": [{"type": "command", "command": node}]}]},
            "chunks worker": {"AfterModel": [{"hooks": [{"type": "worker", "command": node}]}]},
        }[kind]

    def work(self, starter, replay, hooks, history=False, marks=False):
        """A piece of work for one program, ready to be run."""
        name = f"{starter.name}-{replay.stem}-{hooks}{'-history' if history else ''}{'-marks' if marks else ''}".replace(" ", "-")
        home, project = self.root / name / "home", self.root / name / "project"
        (home / ".gemini").mkdir(parents=True)
        project.mkdir()
        for at in range(MANY_CALLS):
            (project / f"file{at}.txt").write_text("text\n")
        settings = {
            "security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "model": {"compressionThreshold": 0},
            "hooks": self.hooks(hooks, marks),
        }
        (home / ".gemini/settings.json").write_text(json.dumps(settings))
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "GEMINI_CLI_HOME": str(home), "GEMINI_API_KEY": "none"}
        # A named model: Gemini CLI would ask another one to choose.
        argv = [*starter.argv, "-m", "gemini-2.5-pro", "-p", "hi"]
        return Work(argv, env, project, self.replay_args(replay)).with_history(self, starter, history)

    def replay_args(self, replay):
        return ["--fake-responses", str(replay)]

    def check(self, starter, replay, hooks, events, history=False):
        """Runs a piece of work once with hooks that leave marks: did as many run as there are events?"""
        one = self.work(starter, replay, hooks, history, marks=True)
        one.prepare()
        marks = self.root / "marks"
        marks.unlink(missing_ok=True)
        said = one.once()
        found = len(marks.read_text().splitlines()) if marks.exists() else 0
        if found != events:
            raise SystemExit(f"{starter.name}, {replay.stem}, {hooks}: {found} of {events} hooks ran\n{said[-2000:]}")


class Work:
    """A program, where it runs, what it answers from; and the home that each run begins with, if that grows."""

    def __init__(self, argv, env, project, replay):
        self.program, self.env, self.cwd, self.replay = argv, env, str(project), replay
        self.home, self.before = pathlib.Path(env["HOME"]), None
        self.stdin, self.more = None, []

    @property
    def argv(self):
        return [*self.program, *self.replay, *self.more]

    def with_history(self, stage, starter, history):
        """Gemini CLI is told it at once; Hookwright has it from a session that goes on."""
        if history and starter.name == "gemini":
            self.stdin = str(stage.shorter)
        elif history:
            measured, self.replay, self.stdin = self.replay, stage.replay_args(stage.replay("chunks", 1)), str(stage.half)
            for more in ([], ["--resume", "latest"]):
                self.more = more
                self.once()
            self.replay, self.stdin, self.before = measured, None, self.home.with_name("before")
            shutil.copytree(self.home, self.before)
        return self

    def prepare(self):
        """What comes before a run and is not measured."""
        if self.before:
            shutil.rmtree(self.home)
            shutil.copytree(self.before, self.home)

    def once(self):
        """A run that is not measured; what it said."""
        source = open(self.stdin, "rb") if self.stdin else subprocess.DEVNULL
        done = subprocess.run(self.argv, env=self.env, cwd=self.cwd, stdin=source, capture_output=True, timeout=600, check=False)
        said = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(self.argv)} ended with {done.returncode}\n{said[-2000:]}")
        return said


class Starter:
    """A program and how it is started."""

    def __init__(self, name, argv, version):
        self.name, self.argv, self.version = name, argv, version
