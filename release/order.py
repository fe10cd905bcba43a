#!/usr/bin/env python3
"""Writes crates/cli/first.ld anew: the functions that short runs of the program use, so that they lie together in it.

A program of 20 MB is read from its file in pieces of 64 KB around what is used. Where that lies all over the file, a turn of a
few milliseconds brings most of the file into memory; where it lies together, little. The list names functions without the
hashes that compilers give them, so it goes on fitting as the program changes, a little less each time; nothing depends on
it. Do this before a release, and when `docs/benchmarks.md` is measured anew.

Needs valgrind, node for the workers, and lld, which is what rustc links with on x86-64 Linux.
"""

import bisect
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches/peers"))
import work  # noqa: E402

LIST = ROOT / "crates/cli/first.ld"
#: What is run to see what is used: first what is started most often and takes the least time.
RUNS = [
    ("turn", ("chunks", 1), "none"),
    ("commands", ("calls", 5), "sh"),
    ("worker", ("calls", 20), "worker"),
    ("pieces", ("chunks", 50), "chunks worker"),
]
EVENT = '{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"}\n'
#: Programs without a session: their arguments, and what they read.
OTHERS = [
    (["bridge", "claude-code", "--event", "PreToolUse", "--deadline", "600"], EVENT),
    (["hooks", "list"], ""),
    (["--version"], ""),
]
HEAD = """/* The functions that short runs of the program use, for the linker to lay together. Made by release/order.py: do not edit.
   What is not there (any more) is passed over, and what is missing here lies further back in the program. */
SECTIONS
{
  .text.first :
  {
"""
TAIL = """  }
}
INSERT BEFORE .text;
"""


def build(folder):
    """The program, and where its functions lie: (address, length, section), in order."""
    places = folder / "map.txt"
    cargo = ["cargo", "rustc", "--release", "-p", "hookwright", "--bin", "hookwright", "--", "-C", f"link-arg=-Wl,-Map={places}"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    line = re.compile(r"\s*([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+\s+\S.*:\((\.text\.[^)]*)\)$")
    found = [line.match(each) for each in places.read_text().splitlines()]
    functions = sorted({(int(one[1], 16), int(one[2], 16), one[3]) for one in found if one and int(one[2], 16)})
    if not functions:
        raise SystemExit("the linker's map lists no functions; is it lld's?")
    return ROOT / "target/release/hookwright", functions


def used(argv, env, cwd, said, folder):
    """The addresses that a run executes."""
    out = folder / "callgrind.out"
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out}", *argv]
    done = subprocess.run(valgrind, env=env, cwd=cwd, input=said, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}\n{done.stderr[-2000:]}")
    addresses, at = set(), 0
    for line in out.read_text().splitlines():
        place = re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) ", line)
        if not place:
            continue
        word = place[1]
        at = int(word, 16) if word.startswith("0x") else at + int(word) if word != "*" else at
        addresses.add(at)
    return addresses


def nameless(section):
    """A section's name without what another compilation would call otherwise."""
    return re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", re.sub(r"17h[0-9a-f]{16}E", "17h*E", section))


def main():
    with tempfile.TemporaryDirectory(prefix="order") as name:
        folder = pathlib.Path(name)
        program, functions = build(folder)
        starts = [start for start, _, _ in functions]
        alike = {}
        for _, _, section in functions:
            alike[nameless(section)] = alike.get(nameless(section), 0) + 1
        (folder / "stage").mkdir()
        stage = work.Stage(folder / "stage")
        order = []
        starter = work.Starter("hookwright", [str(program)], "")
        runs = []
        for _, (kind, count), hooks in RUNS:
            one = stage.work(starter, stage.replay(kind, count), hooks)
            runs.append((one.argv, one.env, one.cwd, ""))
        _, env, cwd, _ = runs[1]
        runs += [([str(program), *args], env, cwd, said) for args, said in OTHERS]
        for argv, env, cwd, said in runs:
            found = set()
            for address in used(argv, env, cwd, said, folder):
                at = bisect.bisect_right(starts, address) - 1
                if at >= 0 and address < starts[at] + functions[at][1]:
                    found.add(nameless(functions[at][2]))
            # Of those that are made for many types, most are not used: they lie behind the others.
            order += sorted(found - set(order), key=lambda each: (alike[each] > 1, each))
            print(f"{' '.join(argv[1:])[:60]}: {len(found)} functions, {len(order)} in all", file=sys.stderr)
    before = set(re.findall(r"\*\((\S+)\)", LIST.read_text())) if LIST.exists() else set()
    LIST.write_text(HEAD + "".join(f"    *({each})\n" for each in order) + TAIL)
    print(f"{LIST.relative_to(ROOT)}: {len(order)} functions; {len(before & set(order))} of {len(before)} that it had are still used")


if __name__ == "__main__":
    os.umask(0o022)
    main()
