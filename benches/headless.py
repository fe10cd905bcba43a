#!/usr/bin/env python3
"""One headless turn, Hookwright beside Gemini CLI, in one run: wall time and memory, with no hook and with one.

    cargo build --release
    python3 benches/headless.py --gemini PATH/TO/gemini.js

Without --gemini only Hookwright is measured. Both programs answer from the same replay file, in fresh homes. A second
part measures AfterModel: a hook that reads its input, on 100 pieces over a 7 MB history, beside piping the same bytes
into the same hook.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOOK = "cat >/dev/null; echo {}"


def chunk(text, last=False):
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate]}


def replay(path, chunks):
    line = {"method": "generateContentStream", "response": chunks}
    path.write_text(json.dumps(line) + "\n")


#: A run that takes longer than this hangs: the alarm's signal ends the benchmark.
RUN_DEADLINE_SECONDS = 120


def run(command, env, cwd):
    """Wall time in seconds and the largest resident set in megabytes."""
    signal.alarm(RUN_DEADLINE_SECONDS)
    started = time.perf_counter()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {err.decode()[-500:]}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024, out


def project(folder, hooks):
    home, work = folder / "home", folder / "work"
    (home / ".gemini").mkdir(parents=True)
    (work / ".gemini").mkdir(parents=True)
    settings = {"security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}}, "hooks": hooks}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GEMINI_CLI_HOME": str(home), "GEMINI_API_KEY": "none"}
    return env, work


def one_turn(binary, gemini, runs):
    print(f"{'one turn':<28}{'hookwright':>16}{'gemini cli':>16}{'ratio':>8}")
    for name, hooks in [("no hook", {}), ("one hook", {"BeforeAgent": [{"hooks": [{"type": "command", "command": HOOK}]}]})]:
        with tempfile.TemporaryDirectory() as folder:
            env, work = project(pathlib.Path(folder), hooks)
            file = pathlib.Path(folder) / "replay.jsonl"
            replay(file, [chunk("hello", last=True)])
            # A named model: Gemini CLI would ask another one to choose.
            args = ["-m", "gemini-2.5-pro", "--fake-responses", str(file), "-p", "hi"]
            ours, theirs = [], []
            for _ in range(runs):
                ours.append(run([binary, *args], env, work)[:2])
                if gemini:
                    theirs.append(run(["node", gemini, *args], env, work)[:2])
            for at, (what, unit, scale) in enumerate([("wall", "ms", 1000), ("memory", "MB", 1)]):
                mine = statistics.median(sample[at] for sample in ours) * scale
                row = f"{name + ', ' + what:<28}{mine:>13.1f} {unit}"
                if theirs:
                    other = statistics.median(sample[at] for sample in theirs) * scale
                    row += f"{other:>13.1f} {unit}{other / mine:>7.0f}x"
                print(row)


def after_model(binary, runs):
    pieces, size = 100, 7 << 20
    print(f"\nAfterModel, {pieces} pieces over a {size >> 20} MB history")
    hooks = {"AfterModel": [{"hooks": [{"type": "command", "command": HOOK}]}]}
    with tempfile.TemporaryDirectory() as folder:
        env, work = project(pathlib.Path(folder), hooks)
        big = work / "big.txt"
        big.write_text("0123456789abcde\n" * (size // 16))
        results = {}
        for count in [1, pieces]:
            file = pathlib.Path(folder) / f"replay{count}.jsonl"
            replay(file, [chunk("word ") for _ in range(count - 1)] + [chunk("end", last=True)])
            samples = []
            for _ in range(runs):
                command = f'exec "{binary}" --fake-responses "{file}" < "{big}"'
                samples.append(run(["sh", "-c", command], env, work)[:2])
            results[count] = [statistics.median(sample[at] for sample in samples) for at in (0, 1)]
        floor = []
        for _ in range(runs * 10):
            signal.alarm(RUN_DEADLINE_SECONDS)
            started = time.perf_counter()
            feeder = subprocess.Popen(["cat", str(big)], stdout=subprocess.PIPE)
            subprocess.run(["bash", "-c", HOOK], stdin=feeder.stdout, stdout=subprocess.PIPE, check=True)
            feeder.wait()
            floor.append(time.perf_counter() - started)
        per_piece = (results[pieces][0] - results[1][0]) / (pieces - 1) * 1000
        bare = statistics.median(floor) * 1000
        print(f"a piece, hook included       {per_piece:8.2f} ms")
        print(f"piping {size >> 20} MB into the hook    {bare:8.2f} ms     ratio {per_piece / bare:.2f}")
        print(f"memory, 1 piece              {results[1][1]:8.1f} MB")
        print(f"memory, {pieces} pieces          {results[pieces][1]:8.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "target/release/hookwright"))
    parser.add_argument("--gemini", help="Gemini CLI's gemini.js")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.gemini and not shutil.which("node"):
        raise SystemExit("node is not installed")
    one_turn(options.binary, options.gemini, options.runs)
    after_model(options.binary, max(1, options.runs // 2))


if __name__ == "__main__":
    main()
