#!/usr/bin/env python3
"""How many recorded events a second `hooks replay` asks rules about, or with --worker a worker in python.

    cargo build --release
    python3 benches/replay.py [--program target/release/hookwright] [--events 60000] [--worker]

One event of each command is recorded through the bridge; the journal is then filled with copies of these lines. The time
is that of the whole command, from its start to its end.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

COMMANDS = [
    "ls", "date", "git status", "rm -rf build", "cat src/main.rs | grep foo", "git push origin main",
    "npm install left-pad", "sed -n 1,20p a.txt", "cargo test -p x", "python3 -c 'print(1)'",
]
RULES = [
    {"type": "rule", "name": "ls", "when": {"commands": ["ls*"]}, "decision": "deny", "reason": "no"},
    {"type": "rule", "name": "push", "when": {"commands": ["git push --force*"]}, "decision": "deny", "reason": "no"},
    {"type": "rule", "name": "env", "when": {"writes": ["**/.env"]}, "decision": "ask", "reason": "sure?"},
]
WORKER = """import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "output": None}), flush=True)
"""
ROUNDS = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/hookwright")
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--worker", action="store_true")
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="replay-bench")).resolve()
    try:
        project, home = folder / "project", folder / "home"
        (project / ".gemini").mkdir(parents=True)
        home.mkdir()
        (project / "worker.py").write_text(WORKER)
        worker = {"type": "worker", "name": "worker", "command": "exec python3 $GEMINI_PROJECT_DIR/worker.py"}
        hooks = [worker] if args.worker else RULES
        settings = {"hooks": {"BeforeTool": [{"hooks": hooks}]}}
        (project / ".gemini/settings.json").write_text(json.dumps(settings))
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GEMINI_CLI_TRUST_WORKSPACE": "true"}

        def run(words, text=""):
            return subprocess.run(
                [program, *words], input=text, capture_output=True, text=True, cwd=project, env=environment, timeout=600
            )

        for command in COMMANDS:
            payload = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "cwd": str(project),
                       "tool_input": {"command": command}}
            run(["bridge", "claude-code"], json.dumps(payload))
        fill_journal(home / ".gemini/hookwright/journal", args.events)
        speeds = []
        for _ in range(ROUNDS):
            begun = time.monotonic()
            done = run(["hooks", "replay", "--json"])
            took = time.monotonic() - begun
            report = json.loads(done.stdout)
            if report["replayed"] != args.events or report["different"]:
                raise SystemExit(f"the replay is wrong: {done.stdout[:2000]}")
            speeds.append(args.events / took)
        what = "1 worker" if args.worker else f"{len(RULES)} rules"
        print("| events | hooks | events a second, median | slowest |\n|--:|--|--:|--:|")
        print(f"| {args.events} | {what} | {statistics.median(speeds):.0f} | {min(speeds):.0f} |")
    finally:
        shutil.rmtree(folder)


def fill_journal(folder, events):
    """Fills the first segment with copies of its events."""
    segment = next(folder.glob("*.jsonl"))
    lines = [json.loads(line) for line in segment.read_text().splitlines()]
    recorded = [line for line in lines if line["kind"] == "event"]
    with segment.open("w") as file:
        for number in range(events):
            line = recorded[number % len(recorded)]
            line["seq"] = number + 1
            line["session"] = f"s{number // 200}"
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    (folder / "head").unlink()


main()
