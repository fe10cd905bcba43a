#!/usr/bin/env python3
"""What the bridge costs: `hookwright bridge` beside a guard run directly, all in one run, in turn, medians.

    cargo build --release
    python3 benches/bridge.py [--rounds 300] [--program target/release/hookwright]
"""

import argparse
import json
import os
import signal
import statistics
import tempfile
import time

#: A run that takes longer than this hangs: the alarm's signal ends the benchmark.
RUN_DEADLINE_SECONDS = 120

GUARD = """#!/bin/sh
read -r input
case $input in *forbidden*) echo no >&2; exit 2;; esac
exit 0
"""


def timed(argv, payload, cwd, env):
    """One run, from before it is started until it has been waited for, in milliseconds."""
    read, write = os.pipe()
    os.write(write, payload)
    os.close(write)
    nowhere = os.open("/dev/null", os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    here = os.getcwd()
    os.chdir(cwd)
    signal.alarm(RUN_DEADLINE_SECONDS)
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - start) * 1e3
    os.chdir(here)
    os.close(read)
    os.close(nowhere)
    return took, os.waitstatus_to_exitcode(status)


def project(root, name, hooks):
    folder = os.path.join(root, name)
    os.makedirs(os.path.join(folder, ".gemini"))
    with open(os.path.join(folder, ".gemini", "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"hooks": hooks}, file)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--program", default="target/release/hookwright")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    with tempfile.TemporaryDirectory() as root:
        home = os.path.join(root, "home")
        os.makedirs(home)
        guard = os.path.join(root, "guard.sh")
        with open(guard, "w", encoding="utf-8") as file:
            file.write(GUARD)
        os.chmod(guard, 0o755)
        env = {"PATH": os.environ["PATH"], "HOME": home, "GEMINI_CLI_TRUST_WORKSPACE": "true",
               "GEMINI_CLI_SYSTEM_SETTINGS_PATH": os.path.join(home, "none.json")}
        hook = {"type": "command", "name": "guard", "guard": True, "command": guard}
        rule = {"type": "command", "name": "other", "guard": True, "command": guard}
        when = {"type": "rule", "name": "rule", "when": {"commands": ["rm *"]}, "decision": "deny", "reason": "no"}
        ruled = project(root, "ruled", {"BeforeTool": [{"hooks": [when]}]})
        no_journal = os.path.join(home, "no-journal.json")
        with open(no_journal, "w", encoding="utf-8") as file:
            json.dump({"journal": {"enabled": False}}, file)
        unrecorded = {**env, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": no_journal}
        guarded = project(root, "guarded", {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]})
        other = project(root, "other", {"BeforeTool": [{"matcher": "write_file", "hooks": [rule]}]})
        payload = json.dumps({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                              "tool_input": {"command": "ls"}, "tool_use_id": "u"}).encode() + b"\n"
        bridge = [program, "bridge", "claude-code", "--event", "PreToolUse", "--deadline", "600"]
        runs = {
            "/bin/true": (["/bin/true"], root, env),
            "hookwright --version": ([program, "--version"], root, env),
            "the guard, directly": ([guard], guarded, env),
            "bridge, no hook matches": (bridge, other, env),
            "bridge, that guard": (bridge, guarded, env),
            "bridge, a rule": (bridge, ruled, env),
            "bridge, a rule, no journal": (bridge, ruled, unrecorded),
        }
        times = {name: [] for name in runs}
        for number in range(args.rounds + 10):
            for name, (argv, cwd, its_env) in runs.items():
                took, code = timed(argv, payload, cwd, its_env)
                assert code == 0, (name, code)
                if number >= 10:
                    times[name].append(took)
        medians = {name: statistics.median(all_times) for name, all_times in times.items()}
        print(f"{'what':<28}{'median ms':>10}{'lowest':>10}")
        for name, median in medians.items():
            print(f"{name:<28}{median:>10.2f}{min(times[name]):>10.2f}")
        least = {name: min(all_times) for name, all_times in times.items()}
        for label, one, floor, most in [
            ("nothing matches, beside /bin/true", "bridge, no hook matches", "/bin/true", 1.5),
            ("a guard, beside it directly", "bridge, that guard", "the guard, directly", 2.0),
            ("the journal, beside none", "bridge, a rule", "bridge, a rule, no journal", 0.3),
        ]:
            added, lowest = medians[one] - medians[floor], least[one] - least[floor]
            word = "met" if added <= most else "missed"
            print(f"{label}: +{added:.2f} ms (lowest +{lowest:.2f}), {medians[one] / medians[floor]:.2f} times, at most {most}: {word}")


if __name__ == "__main__":
    main()
