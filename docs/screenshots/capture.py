#!/usr/bin/env python3
"""Takes the README's screenshots: runs the program in tmux on the offline model and draws the screen as SVG.

    cargo build && python3 docs/screenshots/capture.py

Needs tmux. Every run starts with a fresh home and a fresh project, so the pictures only change when the program does.
"""

import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
BINARY = HERE.parent.parent / "target/debug/hookwright"
WIDTH, HEIGHT = 96, 30
COLOURS = ["#2e3436", "#ef5f5f", "#6abf69", "#e0b050", "#6a9fe0", "#b58fd8", "#56b8c0", "#d3d7cf"]
FOREGROUND, BACKGROUND = "#d3d7cf", "#16191d"


TESTS = r"""#!/bin/sh
names='adds_up keeps_cents takes_coupons ships_abroad refuses_empty rounds_half_up survives_reload'
for suite in cart checkout prices; do
  for name in $names; do
    case $suite/$name in
      checkout/takes_coupons) printf '%s::test_%s failed\n    expected 9.50, got 10.00\n' $suite $name;;
      prices/rounds_half_up) printf '%s::test_%s failed\n    expected 2.35, got 2.34\n' $suite $name;;
      *) printf '%s::test_%s ok\n' $suite $name;;
    esac
  done
done
echo '19 passed, 2 failed'
"""


def tmux(*args):
    return subprocess.run(["tmux", "-L", "hookwright-shots", *args], check=True, capture_output=True, text=True).stdout


def wait_for(text, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if text in tmux("capture-pane", "-p", "-t", "shot"):
            time.sleep(0.3)
            return
        time.sleep(0.05)
    raise SystemExit(f"{text!r} did not appear:\n" + tmux("capture-pane", "-p", "-t", "shot"))


def colour(code):
    """A colour of the 256 that terminals number."""
    if code < 16:
        return COLOURS[code % 8]
    if code >= 232:
        level = 8 + (code - 232) * 10
        return f"#{level:02x}{level:02x}{level:02x}"
    code -= 16
    levels = [0, 95, 135, 175, 215, 255]
    return "#" + "".join(f"{levels[part]:02x}" for part in (code // 36, code // 6 % 6, code % 6))


def apply(style, codes):
    codes = [int(code or 0) for code in codes]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code in (1, 2, 3, 7):
            style[{1: "bold", 2: "dim", 3: "italic", 7: "reverse"}[code]] = True
        elif code == 22:
            style.pop("bold", None)
            style.pop("dim", None)
        elif code in (23, 27):
            style.pop({23: "italic", 27: "reverse"}[code], None)
        elif code in (38, 48) and codes:
            where = "fg" if code == 38 else "bg"
            if codes.pop(0) == 5:
                style[where] = colour(codes.pop(0))
            else:
                style[where] = "#{:02x}{:02x}{:02x}".format(*(codes.pop(0) for _ in range(3)))
        elif code in (39, 49):
            style.pop("fg" if code == 39 else "bg", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["fg"] = COLOURS[code % 10]
        elif 40 <= code <= 47:
            style["bg"] = COLOURS[code % 10]


def draw(ansi, title):
    lines = ansi.rstrip("\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    cell, row, pad, bar = 8.4, 18, 14, 28
    width, height = WIDTH * cell + 2 * pad, len(lines) * row + 2 * pad + bar
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="14">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
    ]
    for at, dot in enumerate(["#ef5f5f", "#e0b050", "#6abf69"]):
        out.append(f'<circle cx="{18 + at * 18}" cy="16" r="5" fill="{dot}"/>')
    style = {}
    for number, line in enumerate(lines):
        y, column = bar + pad + number * row, 0
        for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
            if piece.startswith("\x1b["):
                apply(style, piece[2:-1].split(";"))
                continue
            text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", "", piece)
            if not text:
                continue
            columns = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
            x = pad + column * cell
            fg, bg = style.get("fg", FOREGROUND), style.get("bg")
            if style.get("reverse"):
                fg, bg = bg or BACKGROUND, fg
            if bg:
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{columns * cell:.1f}" height="{row}" fill="{bg}"/>')
            if text.strip():
                more = ' font-weight="bold"' if style.get("bold") else ""
                more += ' opacity="0.6"' if style.get("dim") else ""
                more += ' font-style="italic"' if style.get("italic") else ""
                out.append(
                    f'<text x="{x:.1f}" y="{y + 13}" fill="{fg}" textLength="{columns * cell:.1f}" '
                    f'lengthAdjust="spacingAndGlyphs" xml:space="preserve"{more}>{html.escape(text)}</text>'
                )
            column += columns
    return "\n".join(out + ["</svg>"]) + "\n"


def shoot(name, title):
    (HERE / f"{name}.svg").write_text(draw(tmux("capture-pane", "-p", "-e", "-t", "shot"), title))


def project(folder):
    work = folder / "shop"
    hooks = work / ".gemini/hooks"
    hooks.mkdir(parents=True)
    (work / "src").mkdir()
    (work / "src/cart.py").write_text("def total(items):\n    return sum(item.price for item in items)\n")
    scripts = {
        "secret-scan.sh": "case $(cat) in *ghp_*) echo 'that is an access token' >&2; exit 2;; esac",
        "safe-delete.sh": "case $(cat) in *'rm src'*) echo '{\"hookSpecificOutput\": {\"tool_input\": {\"command\": \"git rm src/cart.py\"}}}';; esac",
        "git-context.sh": "cat >/dev/null; echo '{\"hookSpecificOutput\": {\"additionalContext\": \"on branch main\"}}'",
    }
    for file, script in scripts.items():
        (hooks / file).write_text(f"#!/bin/sh\n{script}\n")
        (hooks / file).chmod(0o755)
    (work / "tests.sh").write_text(TESTS)
    hook = lambda file: {"type": "command", "name": file[:-3], "command": f"$GEMINI_PROJECT_DIR/.gemini/hooks/{file}"}
    settings = {
        "hooks": {
            "BeforeTool": [
                {"matcher": "write_file|replace", "hooks": [hook("secret-scan.sh")]},
                {"matcher": "run_shell_command", "hooks": [hook("safe-delete.sh")]},
            ],
            "BeforeAgent": [{"hooks": [hook("git-context.sh")]}],
            "AfterTool": [{"hooks": [{"type": "command", "name": "formatter", "command": "prettier-stdin"}]}],
        }
    }
    (work / ".gemini/settings.json").write_text(json.dumps(settings, indent=2))
    return work


EDITS = [
    'call replace {"file_path": "src/cart.py", "old_string": "sum(item.price for item in items)", '
    '"new_string": "sum(item.price * item.count for item in items)"}',
    'call run_shell_command {"command": "echo \'# Shop\' > README.md"}',
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        work = project(folder)
        home = folder / "home"
        home.mkdir()
        env = f"env -i PATH={os.environ['PATH']!r} HOME={str(home)!r} TERM=xterm-256color GEMINI_CLI_TRUST_WORKSPACE=true"
        try:
            tmux("new-session", "-d", "-s", "shot", "-x", str(WIDTH), "-y", str(HEIGHT), "-c", str(work), f"{env} {BINARY}")
            wait_for("Type your message")
            tmux("send-keys", "-t", "shot", "-l", 'call write_file {"file_path": "src/token.py", "content": "T = \\"ghp_1234567890\\"\\n"}')
            tmux("send-keys", "-t", "shot", "M-Enter")
            tmux("send-keys", "-t", "shot", "-l", 'call run_shell_command {"command": "rm src/cart.py"}')
            tmux("send-keys", "-t", "shot", "Enter")
            wait_for("Allow once")
            shoot("session", "A hook blocks a call, another rewrites one, and the user is asked")
            tmux("send-keys", "-t", "shot", "Escape")
            wait_for("Type your message")
            tmux("send-keys", "-t", "shot", "-l", "/hooks panel")
            tmux("send-keys", "-t", "shot", "Enter")
            wait_for("inert")
            shoot("panel", "The hooks panel")
            tmux("send-keys", "-t", "shot", "q")
            wait_for("Type your message")
            tests = "sh tests.sh"
            tmux("send-keys", "-t", "shot", "-l", f'call run_shell_command {{"command": "{tests}"}}')
            tmux("send-keys", "-t", "shot", "Enter")
            wait_for("Allow once")
            tmux("send-keys", "-t", "shot", "1")
            wait_for("2 failed")
            wait_for("Type your message")
            tmux("send-keys", "-t", "shot", "C-o")
            wait_for("q close")
            tmux("send-keys", "-t", "shot", "/")
            tmux("send-keys", "-t", "shot", "-l", "failed")
            wait_for("/failed")
            tmux("send-keys", "-t", "shot", "Enter")
            wait_for("q close")
            shoot("pager", "The pager: a test's output, searched")
            tmux("send-keys", "-t", "shot", "q")
            wait_for("Type your message")
            for prompt in EDITS:
                tmux("send-keys", "-t", "shot", "-l", prompt)
                tmux("send-keys", "-t", "shot", "Enter")
                wait_for("Allow once")
                tmux("send-keys", "-t", "shot", "y")
                wait_for("Type your message")
            tmux("send-keys", "-t", "shot", "Escape")
            wait_for("Press Esc again")
            tmux("send-keys", "-t", "shot", "Escape")
            wait_for("Turns")
            tmux("send-keys", "-t", "shot", "Down")
            wait_for("cart.py +1 -1")
            tmux("send-keys", "-t", "shot", "Enter")
            wait_for("Bring back what?")
            shoot("checkpoints", "The turns that can be gone back to")
        finally:
            subprocess.run(["tmux", "-L", "hookwright-shots", "kill-server"], capture_output=True)


if __name__ == "__main__":
    main()
