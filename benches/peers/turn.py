#!/usr/bin/env python3
"""Where the time of one headless turn goes, by measurement: a table and a bar, from system calls that mark its steps.

Needs perf, and the right to trace system calls with it (root, usually). The calls that mark a step are rare ones, so that
noting them costs next to nothing: how much is measured too, and said.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile

import measure
import plot
import report
import work

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: What a step is called, and the event that it begins with: the so-many-th of its name after the step before it.
STEPS = [
    ("loading the program", "sched_process_exec", 1),
    ("its own beginning, command line, stdin", "sys_enter_poll", 1),
    ("settings, extensions, trust of folder and hooks, guards' files", "sys_enter_getrandom", 2),
    ("model, policies, transcript", "sys_enter_getrandom", 2),
    ("tools, skills, commands, memory", "sys_enter_linkat", 1),
    ("the runtime and its threads", "sys_enter_epoll_create1", 1),
    ("the session's start, the turn's checkpoint", "sys_enter_socketpair", 2),
    ("request, hooks, answer, transcript, printing", "sys_enter_linkat", 1),
    ("the session's end", "sys_enter_flock", 1),
    ("the program's end", "sys_enter_exit_group", 1),
]
#: Where the last of them ends.
END = "sched_process_exit"
EXAMPLES = """examples:
  sudo python3 benches/peers/turn.py                              target/release/hookwright, into target/peers
  sudo chrt -f 10 python3 benches/peers/turn.py --out docs        on a machine that others keep busy
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/hookwright")
    parser.add_argument("--runs", type=int, default=40, help="how often it is run each way (40)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/peers", help="where turn.svg and turn.md go (target/peers)")
    return parser.parse_args()


def traced(one, file):
    """The time and the name of every event that could mark a step, in order; from the program's first to its last."""
    names = sorted({event for _, event, _ in STEPS} | {END})
    events = [word for name in names for word in ("-e", f"{'sched' if name.startswith('sched') else 'syscalls'}:{name}")]
    perf = measure.program("perf")
    command = [perf, "record", "-q", *events, "-o", str(file), "--", *one.argv]
    done = subprocess.run(command, env=one.env, cwd=one.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"perf could not trace it: {done.stderr.strip()[-500:]}\nhint: it needs root, or kernel.perf_event_paranoid=-1")
    script = [perf, "script", "-i", str(file), "-F", "time,event"]
    said = subprocess.run(script, capture_output=True, text=True, check=True, timeout=600).stdout
    return [(float(found[1]), found[2]) for found in re.finditer(r"(\d+\.\d+): +\w+:(\w+):", said)]


def steps(calls):
    """Seconds of each step."""
    starts, at = [], -1
    for name, event, count in STEPS:
        for _ in range(count):
            at = next((number for number in range(at + 1, len(calls)) if calls[number][1] == event), None)
            if at is None:
                raise SystemExit(f"nothing marks this step: {name}")
        starts.append(calls[at][0])
    end = max(when for when, event in calls if event == END)
    return {name: end - start for (name, _, _), start, end in zip(STEPS, starts, [*starts[1:], end])}


def main():
    given = options()
    ours = work.Starter("hookwright", [str(given.binary.resolve())], "")
    with tempfile.TemporaryDirectory(prefix="peers") as folder:
        stage = work.Stage(folder)
        one = stage.work(ours, stage.replay("chunks", 1), "none")
        one.once()
        plain, each, floor, nothing = [], [], [], [measure.program("true")]
        for _ in range(given.runs):
            floor.append(measure.run(nothing, one.env, "/"))
            plain.append(measure.work(one))
            each.append(steps(traced(one, stage.root / "perf.data")))
    time, least = statistics.median(plain), statistics.median(floor)
    spent = {name: statistics.median(one[name] for one in each) for name, _, _ in STEPS}
    inside = sum(spent.values())
    # Noting the steps takes time too, most of it where threads are started; making the process comes before all of them.
    scale = time / inside
    spent = {name: seconds * scale for name, seconds in spent.items()}
    given.out.mkdir(parents=True, exist_ok=True)
    title = f"One headless turn, {report.shown(time)} (true: {report.shown(least)})"
    (given.out / "turn.svg").write_text(plot.stack(list(spent.items()), time, title))
    lines = ["| step | time | share |", "|---|--:|--:|"]
    lines += [f"| {name} | {report.shown(seconds)} | {seconds / time:.0%} |" for name, seconds in spent.items()]
    lines.append(f"| **together** | **{report.shown(time)}** | |")
    note = f"`true` takes {report.shown(least)}. Medians of {given.runs} runs; the whole was measured without perf, its steps with it and scaled by {scale:.2f}."
    (given.out / "turn.md").write_text("\n".join([*lines, "", note, ""]))
    print("\n".join([*lines, "", note]))


if __name__ == "__main__":
    main()
