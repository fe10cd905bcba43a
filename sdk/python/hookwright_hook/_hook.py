"""The handlers of a program, how they are asked, and how the program is run."""

from __future__ import annotations

import atexit
import json
import os
import sys

from . import _process
from ._answers import advance, checked, combine, ends_the_round
from ._events import ALSO, DEFAULTS, EVENTS
from ._refs import copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable, Dict, Generator, List, Mapping, NoReturn, Optional

    from ._answers import Answer
    from ._types import On

    Handler = Callable[[Any], Any]


class Hook:
    """The handlers of a program."""

    def __init__(self) -> None:
        self._handlers: Dict[str, List[Handler]] = {}
        self._is_served = False

    if TYPE_CHECKING:
        on: On
    else:

        def on(self, event):
            """Has a function called for every event of that name; it stays as it is. Several are asked in order."""
            if event not in EVENTS:
                near = suggest(str(event))
                raise ValueError(f"there is no event {event!r}" + (f"; did you mean {near}?" if near else f", only {', '.join(EVENTS)}"))

            def register(handler):
                if not callable(handler):
                    raise TypeError(f"the handler for {event} is no function")
                if not self._handlers:
                    is_main = sys._getframe(1).f_globals.get("__name__") == "__main__"
                    if is_main:
                        _process.take_stdout()
                    # Asked last, when everybody else is done.
                    atexit.register(self._leave, is_main)
                self._handlers.setdefault(event, []).append(handler)
                return handler

            return register

    def fire(self, event_input: Mapping[str, Any]) -> Answer:
        """What the handlers answer to an input: for tests."""
        self._is_served = True
        return self._answer(dict(event_input))

    def run(self) -> NoReturn:
        """Answers the agent, and leaves: the last line of a hook's file."""
        self._is_served = True
        _process.take_stdout()
        if _process.IS_WORKER:
            from ._worker import serve

            serve(self._ask, self._has_async())
        try:
            answer = self._answer(_process.parse(sys.stdin.buffer.read()))
            _process.write(json.dumps(answer, allow_nan=False).encode() + b"\n")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _process.say(error)
            sys.exit(1)
        sys.exit(0)

    def _has_async(self) -> bool:
        from inspect import iscoroutinefunction

        return any(iscoroutinefunction(handler) for handlers in self._handlers.values() for handler in handlers)

    def _answer(self, event_input: Dict[str, Any]) -> Answer:
        """Asks everybody, and waits for those that take their time."""
        asking = self._ask(event_input)
        try:
            waited: Any = next(asking)
            while True:
                waited = asking.send(_awaited(waited))
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    def _ask(self, event_input: Dict[str, Any]) -> Generator[Awaitable[Any], Any, Answer]:
        """Asks every handler; hands out what must be awaited, and gets back what came of it."""
        event = event_input.get("hook_event_name")
        if not isinstance(event, str):
            raise ValueError("the input names no event: it has no hook_event_name")
        if event not in self._handlers:
            those = ", ".join(self._handlers) or "nothing"
            raise ValueError(f"was asked about {event}, for which it has no handler (only for {those})")
        for field, value in DEFAULTS[event].items():
            if field not in event_input:
                event_input[field] = copy(value)
        answers: List[Mapping[str, Any]] = []
        _process.watch_coroutines()
        forgotten = _process.forgotten()
        for handler in self._handlers[event]:
            said = handler(event_input)
            if hasattr(said, "__await__"):
                said = yield said
            _process.expect_all_awaited(forgotten)
            answers.append(checked(said))
            if ends_the_round(answers[-1]):
                break
            advance(event_input, answers[-1].get("hookSpecificOutput") or {})
        answer = combine(*answers)
        if answer.get("hookSpecificOutput"):
            answer["hookSpecificOutput"] = {"hookEventName": event, **answer["hookSpecificOutput"]}
        return answer

    def _leave(self, is_main: bool) -> None:
        """Whoever leaves without having answered has failed: nothing on stdout and exit code 0 would be a yes."""
        is_hook = is_main or "GEMINI_SESSION_ID" in os.environ
        crashed = hasattr(sys, "last_type") or hasattr(sys, "last_exc")
        if self._is_served or not is_hook or crashed or "__mp_main__" in sys.modules:
            return
        # 2 is a no. It is what the file was left with, perhaps: which, nobody can tell here.
        sys.stderr.write("hookwright-hook: hook.run() was never called: it belongs on the last line of the file\n")
        sys.stderr.flush()
        os._exit(2)


def _awaited(waited: Awaitable[Any]) -> Any:
    import asyncio

    async def wait() -> Any:
        asyncio.get_running_loop().set_exception_handler(_process.notice_failed_task)
        return await waited

    return asyncio.run(wait())


def suggest(name: str) -> Optional[str]:
    """The event that somebody meant by a name that is none."""
    for event, also in ALSO.items():
        if name in also:
            return event
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [event.lower() for event in EVENTS], n=1, cutoff=0.7)
    return next((event for event in EVENTS if near and event.lower() == near[0]), None)


#: The program's handlers.
hook = Hook()
