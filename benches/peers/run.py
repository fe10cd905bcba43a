#!/usr/bin/env python3
"""Hookwright beside Gemini CLI and beside the floor, in one run: the same work, in turn, medians and ratios.

Needs node (and npm, to install Gemini CLI once) and, if there is no release binary yet, cargo. Nothing goes over the
network but the installation: both programs answer from the same replay files, in fresh homes.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
import plot
import report
import soak
import work

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
GEMINI = "0.61.0"
EXAMPLES = """examples:
  python3 benches/peers/run.py                            everything, about five minutes
  python3 benches/peers/run.py --rounds 3                 quicker, and less sure
  sudo python3 benches/peers/run.py --realtime            on a machine that others keep busy
  python3 benches/peers/run.py --no-gemini                only Hookwright and the floor
  python3 benches/peers/run.py --gemini PATH/gemini.js    a Gemini CLI that is there already
  python3 benches/peers/run.py --soak                     100,000 events through one worker, and nothing else
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, help="Hookwright (built if it is missing: target/release/hookwright)")
    parser.add_argument("--gemini", type=pathlib.Path, help=f"Gemini CLI's gemini.js (installed if not given: {GEMINI} from npm)")
    parser.add_argument("--no-gemini", action="store_true", help="measure without Gemini CLI")
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is run (7)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of Hookwright and the floor in a round (5)")
    parser.add_argument("--short", action="store_true", help="one round without Gemini CLI, to see that everything runs: no target counts")
    parser.add_argument("--realtime", action="store_true", help="measure at real-time priority (chrt -f 10; needs root)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/peers", help="where peers.json, .md and .svg go (target/peers)")
    parser.add_argument("--soak", action="store_true", help="100,000 events through one worker instead")
    parser.add_argument("--events", type=int, default=100_000, help="how many events a soak has (100,000)")
    given = parser.parse_args()
    if given.short:
        given.rounds, given.repeat, given.no_gemini = 1, 1, True
    return given


def binary(given):
    path = given or ROOT / "target/release/hookwright"
    if not path.exists():
        if given:
            raise SystemExit(f"there is no {given}")
        print("building the release binary; this takes some minutes", file=sys.stderr)
        subprocess.run(["cargo", "build", "--release", "-p", "hookwright"], cwd=ROOT, check=True, timeout=3600)
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    return work.Starter("hookwright", [str(path.resolve())], said.removeprefix("hookwright ").strip())


def gemini(given):
    inside = pathlib.Path("node_modules/@google/gemini-cli/bundle/gemini.js")
    places = [given] if given else [CACHE / folder / "gemini-cli" / inside for folder in ("hookwright-ci", "hookwright-peers")]
    found = next((place for place in places if place.exists() and (given or version(place) == GEMINI)), None)
    if found is None:
        if given:
            raise SystemExit(f"there is no {given}")
        folder = CACHE / "hookwright-peers/gemini-cli"
        folder.mkdir(parents=True, exist_ok=True)
        print(f"installing Gemini CLI {GEMINI} into {folder}", file=sys.stderr)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"@google/gemini-cli@{GEMINI}"]
        subprocess.run(npm, check=True, stdout=subprocess.DEVNULL, timeout=900)
        found = folder / inside
    return work.Starter("gemini", [measure.program("node"), str(found.resolve())], version(found))


def version(script):
    return json.loads((script.parent.parent / "package.json").read_text())["version"]


class Samples:
    """What is measured, in the order it is measured, and what came of it."""

    def __init__(self, rounds, repeat):
        self.rounds, self.repeat = rounds, repeat
        self.todo = []
        self.taken = collections.defaultdict(list)

    def add(self, name, take, often=True):
        """`take` gives seconds or bytes."""
        self.todo.append((name, take, self.repeat if often else 1))

    def take(self):
        for number in range(self.rounds + 1):
            for name, take, count in self.todo:
                for _ in range(count if number else 1):
                    sample = take()
                    # The first round warms caches.
                    if number:
                        self.taken[name].append(sample)
            print(f"\rround {number} of {self.rounds}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def median(self, name):
        taken = self.taken.get(name)
        return statistics.median(taken) if taken else None


#: Every piece of work: its name, the replay, the hooks, whether there is a long history. Floors, by their name alone, stand
#: beside the work that they are the floor of, so that both meet the same machine.
HOOKWRIGHT = [
    "true", "memory",
    ("turn", ("chunks", 1), "none", False),
    ("call", ("calls", 1), "none", False),
    ("call, hundred", ("calls", 1), "hundred", False),
    ("bursts", ("calls", work.BURSTS), "none", False),
    "hundred",
    ("bursts, hundred", ("calls", work.BURSTS), "hundred", False),
    ("call, worker", ("calls", 1), "worker", False),
    ("many calls", ("calls", work.MANY_CALLS), "none", False),
    "trip", "paced trip",
    ("many calls, worker", ("calls", work.MANY_CALLS), "worker", False),
    ("calls", ("calls", work.CALLS), "none", False),
    "sh",
    ("calls, sh", ("calls", work.CALLS), "sh", False),
    "node",
    ("calls, node", ("calls", work.CALLS), "node", False),
    ("calls, worker", ("calls", work.CALLS), "worker", False),
    ("chunk, worker", ("chunks", 1), "chunks worker", False),
    ("chunks", ("chunks", work.CHUNKS), "none", False),
    "trip",
    ("chunks, worker", ("chunks", work.CHUNKS), "chunks worker", False),
    ("history", ("chunks", work.CHUNKS), "none", True),
    ("history, worker", ("chunks", work.CHUNKS), "chunks worker", True),
]
PEER = [
    ("turn", ("chunks", 1), "none", False),
    ("call", ("calls", 1), "none", False),
    ("call, hundred", ("calls", 1), "hundred", False),
    ("bursts", ("calls", work.BURSTS), "none", False),
    ("bursts, hundred", ("calls", work.BURSTS), "hundred", False),
    ("calls", ("calls", work.CALLS), "none", False),
    ("calls, sh", ("calls", work.CALLS), "sh", False),
    ("calls, node", ("calls", work.CALLS), "node", False),
    ("chunks", ("chunks", work.FEW_CHUNKS), "none", False),
    ("chunks, node", ("chunks", work.FEW_CHUNKS), "chunks node", False),
    ("history", ("chunks", work.FEWER_CHUNKS), "none", True),
    ("history, node", ("chunks", work.FEWER_CHUNKS), "chunks node", True),
]


def main():
    given = options()
    if given.realtime and os.sched_getscheduler(0) != os.SCHED_FIFO:
        chrt = measure.program("chrt")
        os.execv(chrt, [chrt, "-f", "10", sys.executable, *sys.argv])
    ours = binary(given.binary)
    with tempfile.TemporaryDirectory(prefix="peers") as folder:
        stage = work.Stage(folder)
        if given.soak:
            return soak.run(stage, ours, given.events, given.out, measure.machine(given.realtime))
        theirs = None if given.no_gemini else gemini(given.gemini)
        found = measured(stage, ours, theirs, given)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "peers.json").write_text(json.dumps(found, indent=1) + "\n")
    (given.out / "peers.md").write_text(report.markdown(found))
    (given.out / "peers.svg").write_text(plot.bars(found))
    print(report.text(found))
    print(f"\nwritten: {given.out}/peers.json, peers.md, peers.svg")
    if given.short:
        return 0
    return 0 if all(target["met"] for row in found["rows"] for target in row["targets"]) else 1


def measured(stage, ours, theirs, given):
    samples = Samples(given.rounds, given.repeat)
    echo, floors = system_alone(stage, samples)
    for starter, table, often in [(ours, HOOKWRIGHT, True), (theirs, PEER, False)]:
        for one in table if starter else []:
            if isinstance(one, str):
                samples.add(f"floor: {one}", floors[one])
                continue
            name, (kind, count), hooks, is_long = one
            replay = stage.replay(kind, count)
            if hooks != "none":
                stage.check(starter, replay, hooks, count * (work.MANY if hooks == "hundred" else 1), is_long)
            piece = stage.work(starter, replay, hooks, is_long)
            samples.add(f"{starter.name}: {name}", lambda piece=piece: measure.work(piece), often)
            if name == "turn":
                samples.add(f"{starter.name}: memory", lambda piece=piece: measure.memory(piece), often)
    before = measure.machine(given.realtime)
    samples.take()
    echo.close()
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": before,
        "versions": {"hookwright": ours.version, "gemini": theirs.version if theirs else None, "node": node},
        "rounds": given.rounds,
        "rows": report.rows(samples),
        "samples": {name: list(taken) for name, taken in samples.taken.items()},
    }


def system_alone(stage, samples):
    """What the system alone asks for the same work: a process that says back what it is told, and how each floor is measured."""
    env = {"PATH": os.environ["PATH"], "HOME": str(stage.root)}
    echo = measure.Echo(env)
    # As long as what a hook is told about a call.
    told = measure.as_line({"id": 1, "input": {"session_id": "0" * 36, "cwd": "/" * 60, "timestamp": "0" * 24, "more": "0" * 400}})
    told_node = json.dumps({"hook_event_name": "BeforeTool", "tool_name": "read_file", "tool_input": {}}).encode()
    shell = [measure.program("bash"), "-c", work.SH]
    node = [measure.program("node"), str(stage.hook_file)]
    nothing = [measure.program("true")]

    def pace():
        """How long Hookwright works from one call to the next where there are no hooks."""
        calls, start = samples.median("hookwright: many calls"), samples.median("hookwright: call")
        return (calls - start) / (work.MANY_CALLS - 1) if calls else 0

    return echo, {
        "true": lambda: measure.run(nothing, env, "/"),
        "memory": lambda: measure.memory(work.Work(nothing, env, "/", [])),
        "sh": lambda: measure.spawn(shell, env, told),
        "node": lambda: measure.spawn(node, env, told_node),
        "trip": lambda: echo.trips(told, 200) / 200,
        "paced trip": lambda: echo.trips(told, 100, pace()) / 100,
        "hundred": lambda: measure.spawn(shell, env, told, work.MANY),
    }


if __name__ == "__main__":
    if not shutil.which("node"):
        raise SystemExit("node is not installed")
    sys.exit(main())
