"""A soak: very many events through one worker in one session, and the memory of both processes on the way."""

import json
import os
import random
import string
import signal
import subprocess
import time

import plot
import report
import work

#: Answers of the session; each is streamed in as many pieces as it takes, and ends with a tool call.
ANSWERS = 50
#: Seconds between two samples of memory, and between two looks for the worker until there is one: a short soak ends in 0.3 s.
EVERY = 0.1
EVERY_UNTIL_SEEN = 0.005


def run(stage, ours, events, out, machine):
    pieces = max(1, events // ANSWERS)
    letters = random.Random(1)
    replay = stage.root / "soak.jsonl"
    with open(replay, "w", encoding="utf-8") as file:
        for at in range(ANSWERS):
            # A letter each: what the session keeps of them, which grows, is little beside what an event could leave behind.
            text = [work.piece([{"text": letters.choice(string.ascii_letters)}]) for _ in range(pieces - 1)]
            answer = text + (work.call(at) if at + 1 < ANSWERS else work.words(1))
            file.write(json.dumps({"method": "generateContentStream", "response": answer}) + "\n")
    count = ANSWERS * pieces
    one = stage.work(ours, replay, "chunks worker")
    log = stage.root / "soak.log"
    with open(log, "wb") as said:
        # Far slower than any worker is: one that hangs ends the benchmark, by the alarm's signal.
        signal.alarm(600 + count // 50)
        started = time.perf_counter()
        process = subprocess.Popen(one.argv, env=one.env, cwd=one.cwd, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        seen, workers = watched(process, started)
    took = time.perf_counter() - started
    if process.returncode != 0:
        raise SystemExit(f"the soak ended with {process.returncode}: {log.read_text()[-500:]}")
    if len(workers) > 1 or (not workers and took > 5):
        raise SystemExit(f"{len(workers)} workers were seen, and not one")
    if not workers:
        print(f"{count:,} events in {took:.1f} s: over before the worker's memory could be sampled, so there are no figures")
        return 0
    # What is taken before anything is done, and after the last event, says nothing.
    seen = [one for one in seen if one["worker"]]
    third = lambda at: seen[round(at * (len(seen) - 1))]
    found = {"events": count, "seconds": took, "events per second": count / took, "machine": machine, "seen": seen,
             "start": third(0.02), "middle": third(0.5), "end": third(0.98)}
    out.mkdir(parents=True, exist_ok=True)
    (out / "soak.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "soak.svg").write_text(plot.lines(seen, [("program", "Hookwright", "#2563eb"), ("worker", "the worker (node)", "#ea580c")]))
    print(f"{count:,} events through one worker in {took:.1f} s: {count / took:,.0f} events per second")
    for when in ("start", "middle", "end"):
        one = found[when]
        print(f"{when:<8}{one['at']:>7.1f} s   hookwright {report.shown(one['program'], 'bytes'):>10}   worker {report.shown(one['worker'], 'bytes'):>10}")
    print(f"written: {out}/soak.json, soak.svg")
    return 0


def watched(process, started):
    """Memory over time until the program has ended, and every worker that was ever seen."""
    seen, workers = [], set()
    while process.poll() is None:
        mine = node_below(process.pid)
        workers.update(mine)
        memory = {"program": resident(process.pid), "worker": resident(mine[0]) if mine else 0}
        seen.append({"at": round(time.perf_counter() - started, 2), **memory})
        time.sleep(EVERY if workers else EVERY_UNTIL_SEEN)
    return seen, workers


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def node_below(pid):
    """The node processes that a process has started, whichever of its threads did."""
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            continue  # That thread has ended; the others count.
    return [child for child in found if name(child) == "node"]


def name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
