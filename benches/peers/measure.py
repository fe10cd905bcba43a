"""Taking times: whole runs, bare spawns, many at once, and round trips through a pipe. What is run is `work.py`."""

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time

#: A run that takes longer than this hangs: the alarm's signal ends the benchmark.
RUN_DEADLINE_SECONDS = 120
NOWHERE = os.open(os.devnull, os.O_RDWR)


class Failed(Exception):
    """A run that did not do what it was asked, which is no measurement."""


def work(one):
    """A piece of work."""
    one.prepare()
    return run(one.argv, one.env, one.cwd, one.stdin)


def run(argv, env, cwd, stdin=None):
    """Seconds from before a program is started until it has been waited for."""
    source = os.open(stdin, os.O_RDONLY) if stdin else NOWHERE
    actions = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, NOWHERE, 1), (os.POSIX_SPAWN_DUP2, NOWHERE, 2)]
    here = os.getcwd()
    os.chdir(cwd)
    signal.alarm(RUN_DEADLINE_SECONDS)
    try:
        start = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        took = time.perf_counter() - start
    finally:
        os.chdir(here)
        if stdin:
            os.close(source)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise Failed(f"{' '.join(argv)} ended with {code}")
    return took


#: A parent that is small itself: to the system, what a process was before its program began is part of its peak.
SMALL_PARENT = "import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); print(os.wait4(pid, 0)[2].ru_maxrss)"


def memory(one):
    """The largest resident set of a piece of work, its children's included, in bytes."""
    one.prepare()
    argv = [sys.executable, "-I", "-S", "-c", SMALL_PARENT, *one.argv]
    done = subprocess.run(argv, env=one.env, cwd=one.cwd, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                          timeout=RUN_DEADLINE_SECONDS)
    return int(done.stdout.split()[-1]) * 1024


def spawn(argv, env, payload, count=1):
    """Seconds for a bare spawn of one program or of many at once: given their input, read to their end and waited for."""
    signal.alarm(RUN_DEADLINE_SECONDS)
    start = time.perf_counter()
    selector = selectors.DefaultSelector()
    pids = []
    for _ in range(count):
        to_read, to_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, to_read, 0), (os.POSIX_SPAWN_DUP2, out_write, 1), (os.POSIX_SPAWN_DUP2, err_write, 2)]
        pids.append(os.posix_spawn(argv[0], argv, env, file_actions=actions, setpgroup=0))
        for used in (to_read, out_write, err_write):
            os.close(used)
        os.write(to_write, payload)
        os.close(to_write)
        selector.register(out_read, selectors.EVENT_READ)
        selector.register(err_read, selectors.EVENT_READ)
    while selector.get_map():
        for key, _ in selector.select():
            if not os.read(key.fd, 65536):
                selector.unregister(key.fd)
                os.close(key.fd)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    took = time.perf_counter() - start
    selector.close()
    if any(codes):
        raise Failed(f"{' '.join(argv)} ended with {max(codes)}")
    return took


class Echo:
    """A bare node process that says back what it is told: the floor of everything that is asked of a warm process."""

    SCRIPT = "process.stdin.on('data', (data) => process.stdout.write(data))"

    def __init__(self, env):
        to_read, self.to = os.pipe()
        self.out, out_write = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, to_read, 0), (os.POSIX_SPAWN_DUP2, out_write, 1)]
        self.pid = os.posix_spawn(program("node"), ["node", "-e", self.SCRIPT], env, file_actions=actions)
        os.close(to_read)
        os.close(out_write)
        self.trips(b"warm\n", 500)

    def trips(self, line, count, pace=0):
        """Seconds for so many round trips. Between them we work for as long as the pace says, and that is not counted."""
        took = 0
        signal.alarm(RUN_DEADLINE_SECONDS)
        for _ in range(count):
            ready = time.perf_counter() + pace
            while time.perf_counter() < ready:
                pass
            start = time.perf_counter()
            os.write(self.to, line)
            left = len(line)
            while left:
                left -= len(os.read(self.out, left))
            took += time.perf_counter() - start
        return took

    def close(self):
        os.close(self.to)
        os.close(self.out)
        os.waitpid(self.pid, 0)


def program(name):
    """Where a program is, found once: looking for it is no part of what is measured."""
    found = shutil.which(name)
    if not found:
        raise Failed(f"{name} is not installed")
    return os.path.realpath(found)


def machine(realtime):
    """What the figures were taken on, for people."""
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.split(":", 1) for line in file if ":" in line]
        found = {key.strip(): value.strip() for key, value in lines}
        model = found.get("model name", model)
        clock = found.get("cpu MHz")
        if clock and "@" not in model:
            model += f" at {float(clock) / 1000:.2f} GHz"
    except OSError:
        pass
    system = os.uname()
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": model,
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "load": [round(number, 2) for number in os.getloadavg()],
        "realtime": realtime,
    }


def as_line(value):
    return json.dumps(value).encode() + b"\n"
