#!/usr/bin/env python3
"""A session on a terminal while a command floods it: how soon keys are answered, how soon Esc cancels, and how much memory it takes.

    cargo build --release
    python3 benches/flood.py [--program target/release/hookwright] [--seconds 5]
"""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import tempfile
import termios
import time

FLOODS = {
    "two letters a line": "yes",
    "coloured lines": "while :; do cat big.txt; done",
    "one endless line": "tr '\\0' x < /dev/zero",
    "bytes by chance": "cat /dev/urandom",
}


class Session:
    """The program on a pseudo-terminal of 100 columns and 30 rows."""

    def __init__(self, program, folder):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TERM": "xterm-256color"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder / "project")
            os.execve(program, [program, "--skip-trust"], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.seen = b""

    def read(self, until, longest):
        """Reads until that is so; how long it took, or nothing."""
        begun = time.monotonic()
        while time.monotonic() - begun < longest:
            if select.select([self.terminal], [], [], 0.001)[0]:
                self.seen = (self.seen + os.read(self.terminal, 1 << 16))[-(1 << 20):]
            if until():
                return time.monotonic() - begun
        return None

    def type(self, keys, until, longest=10.0):
        """Types something; how long it took to see what it comes to."""
        self.seen = b""
        os.write(self.terminal, keys)
        took = self.read(until, longest)
        if took is None:
            raise SystemExit(f"{keys!r} is not answered")
        return took

    def peak(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def end(self):
        os.write(self.terminal, b"\x15\x04")
        try:
            self.read(lambda: False, 3.0)
        except OSError:
            pass
        os.close(self.terminal)
        # A program that does not end hangs: the alarm's signal ends the benchmark.
        signal.alarm(60)
        os.waitpid(self.pid, 0)
        signal.alarm(0)


def measure(program, folder, command, seconds):
    session = Session(program, folder)
    session.read(lambda: b"Type your message" in session.seen, 10.0)
    session.type(f"!{command}\r".encode(), lambda: b"esc to cancel" in session.seen)
    times, begun = [], time.monotonic()
    while time.monotonic() - begun < seconds:
        # Never the same twice, so that it must have been drawn for this.
        word = f"k{len(times):03d}".encode()
        times.append(session.type(word, lambda: word in session.seen))
        session.type(b"\x15", lambda: b"Type your message" in session.seen)
    cancelled = session.type(b"\x1b", lambda: b"Cancelled" in session.seen)
    peak = session.peak()
    session.end()
    return statistics.median(times) * 1000, max(times) * 1000, cancelled * 1000, peak


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default="target/release/hookwright")
    options.add_argument("--seconds", type=float, default=5.0)
    options = options.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="flood"))
    try:
        (folder / "home").mkdir()
        (folder / "project").mkdir()
        lines = "".join(f"line {number} \x1b[31mred\x1b[0m and some more words\n" for number in range(100_000))
        (folder / "project" / "big.txt").write_text(lines)
        print("| flood | a key, median | a key, longest | Esc | memory, at most |\n|---|--:|--:|--:|--:|")
        for name, command in FLOODS.items():
            median, longest, cancelled, peak = measure(program, folder, command, options.seconds)
            print(f"| {name} (`{command}`) | {median:.0f} ms | {longest:.0f} ms | {cancelled:.0f} ms | {peak:.1f} MB |")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
