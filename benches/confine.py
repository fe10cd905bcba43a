#!/usr/bin/env python3
"""What a confinement adds to `true`: wall time from start to end, in milliseconds, beside bubblewrap where it is installed.

    cargo build --release
    python3 benches/confine.py

The commands take turns, so that other work on the machine concerns all of them.
"""

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: A run that takes longer than this hangs: the alarm's signal ends the benchmark.
RUN_DEADLINE_SECONDS = 60
BWRAP = [
    "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/var/tmp", "--unshare-user",
    "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent",
]


def run(command, cwd):
    """Wall time in milliseconds."""
    signal.alarm(RUN_DEADLINE_SECONDS)
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status = os.waitpid(process.pid, 0)
    elapsed = (time.perf_counter() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed: {process.stderr.read().decode()[-500:]}")
    process.stderr.close()
    return elapsed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/hookwright", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=500)
    args = parser.parse_args()
    program = str(args.program.resolve())
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home()) as folder:
        pathlib.Path(folder, "kept").write_text("kept")
        commands = {
            "true": ["true"],
            "run --explain (starts nothing)": ["sh", "-c", 'exec "$0" run --explain > /dev/null', program],
            "run -- true": [program, "run", "--", "true"],
            "run --network all -- true": [program, "run", "--network", "all", "--", "true"],
            "run --writes '**' -- true": [program, "run", "--writes", "**", "--", "true"],
            "run --writes '/**' '!kept' --network all -- true":
                [program, "run", "--writes", "/**", "!kept", "--network", "all", "--", "true"],
        }
        if shutil.which("bwrap"):
            commands["bwrap … true"] = [*BWRAP, "true"]
        times = {name: [] for name in commands}
        for number in range(args.rounds + 1):
            for name, command in commands.items():
                elapsed = run(command, folder)
                # The first round fills caches.
                if number > 0 or args.rounds == 0:
                    times[name].append(elapsed)
    floor = statistics.median(times["true"])
    print(f"load {os.getloadavg()[0]:.1f}, {args.rounds} rounds\n{'':<50}{'median':>8}{'90 %':>8}{'more than true':>16}")
    for name, values in times.items():
        values.sort()
        median = statistics.median(values)
        print(f"{name:<50}{median:>8.2f}{values[len(values) * 9 // 10]:>8.2f}{median - floor:>16.2f}")


if __name__ == "__main__":
    main()
