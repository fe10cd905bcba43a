"""This process: its stdin and stdout, which are the agent's, and its stderr, which is everybody's."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, Optional

# What this process starts is no worker because this process is one.
IS_WORKER = os.environ.pop("HOOKWRIGHT_WORKER", "") == "1"

_answers: Optional[BinaryIO] = None


def take_stdout() -> None:
    """From here on stdout is for answers; everybody else's words go to stderr, those of child processes too."""
    global _answers
    if _answers is not None:
        return
    _answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # What was printed before, if anything.
    sys.stdout.flush()
    sys.stdout = sys.stderr


def take_stdin() -> BinaryIO:
    """From here on stdin is the agent's lines; others find it empty, and can't take any."""
    lines = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return lines


def write(line: bytes) -> None:
    """Says something to the agent. If nobody reads it any more, that is the end."""
    assert _answers is not None
    try:
        _answers.write(line)
        _answers.flush()
    except BrokenPipeError:
        leave(0 if IS_WORKER else 1)


def leave(code: int) -> None:
    """Ends the process at once."""
    try:
        sys.stderr.flush()
    finally:
        os._exit(code)


def parse(text: bytes) -> Dict[str, Any]:
    """A JSON object, as UTF-8 with or without a byte order mark."""
    value = json.loads(text.decode("utf-8-sig"))
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def worded(error: BaseException) -> str:
    """What went wrong, never empty."""
    try:
        if isinstance(error, SystemExit):
            # Its text is the bare code, which says nothing to whoever reads it.
            code = error.code or 0
            return "the handler left the program" + (f" (exit {code:d})" if isinstance(code, int) else f": {code}")
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def say(error: BaseException) -> None:
    """What went wrong, on stderr; the words last, because that is what agents show of it."""
    import traceback

    places = [place for place in traceback.extract_tb(error.__traceback__) if os.path.dirname(place.filename) != _HERE]
    lines = [f"  at {place.name} ({place.filename}:{place.lineno})" for place in reversed(places[-4:])]
    try:
        sys.stderr.write("\n".join([*lines, f"hookwright-hook: {worded(error)}", ""]))
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # Nobody reads the log.


_HERE = os.path.dirname(os.path.abspath(__file__))

if IS_WORKER:
    take_stdout()


# How often something was called and never awaited, and what is said of the last time.
_forgotten = 0
_last = ""


def _note(words: str) -> None:
    global _forgotten, _last
    _forgotten, _last = _forgotten + 1, words


def watch_coroutines() -> None:
    """From here on it is known if somebody calls a coroutine and does not await it. Python only warns of that."""
    import warnings

    warn = getattr(warnings, "_warn_unawaited_coroutine", None)
    if warn is None or getattr(warn, "is_ours", False):
        return

    def tell(coroutine: Any) -> None:
        _note(f"coroutine {getattr(coroutine, '__qualname__', coroutine)!r} was never awaited")
        warn(coroutine)

    # In the place that the interpreter itself calls: filters, which any handler may set, would hide it.
    setattr(tell, "is_ours", True)
    setattr(warnings, "_warn_unawaited_coroutine", tell)


def notice_failed_task(loop: Any, context: Dict[str, Any]) -> None:
    """A task that nobody awaits has failed."""
    _note(str(context.get("message", "a task has failed")))
    loop.default_exception_handler(context)


def forgotten() -> int:
    """How often that has happened by now."""
    return _forgotten


def expect_all_awaited(before: int) -> None:
    """Whoever forgot an `await` has checked nothing, which is no yes. Of those who are asked side by side, each may have."""
    if _forgotten > before:
        raise RuntimeError(_last)
