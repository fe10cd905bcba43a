"""A worker: one request per line, one answer per line. Handlers that await something are asked side by side."""

from __future__ import annotations

import json
import sys

from . import _process
from ._refs import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, BinaryIO, Callable, Dict, Generator, NoReturn, Optional, Set

    from ._answers import Answer

    Ask = Callable[[Dict[str, Any]], Generator[Awaitable[Any], Any, Answer]]

# The agent takes longer lines for garbage, and would end this process for one.
_LONGEST_ANSWER = 1024 * 1024


def serve(ask: Ask, is_async: bool) -> NoReturn:
    """Answers until stdin ends."""
    worker = _Worker(ask)
    lines = _process.take_stdin()
    if is_async:
        import asyncio

        asyncio.run(worker.serve_side_by_side(lines))
    else:
        for line in lines:
            worker.take(line)
    if worker.was_misled:
        # A command that was told to be a worker was given an event; to leave without a word would be a yes.
        _process.say(ValueError("nothing on stdin was a request: is HOOKWRIGHT_WORKER set for a hook that is no worker?"))
        sys.exit(1)
    sys.exit(0)


class _Worker:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._store = Store()
        self._was_asked = False
        self.was_misled = False

    def take(self, line: bytes) -> None:
        """One line, to its end."""
        heard = self._hear(line)
        if heard is not None:
            reply = self._reply(heard)
            try:
                waited = next(reply)
                while True:
                    waited = reply.send(_outcome(waited))
            except StopIteration:
                pass

    async def serve_side_by_side(self, lines: BinaryIO) -> None:
        """Lines are read by a thread, so that nothing else waits for them."""
        import asyncio
        import threading

        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_process.notice_failed_task)
        ended = asyncio.Event()
        under_way: Set[Any] = set()

        def start(line: bytes) -> None:
            heard = self._hear(line)
            if heard is not None:
                task = loop.create_task(self._reply_when_ready(heard))
                under_way.add(task)
                task.add_done_callback(under_way.discard)

        def read() -> None:
            try:
                for line in lines:
                    loop.call_soon_threadsafe(start, line)
            finally:
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, daemon=True).start()
        await ended.wait()
        while under_way:
            await asyncio.wait(set(under_way))

    def _hear(self, line: bytes) -> Optional[Dict[str, Any]]:
        """A request, if the line is one. What is kept is so in the order of the lines."""
        if not line.strip():
            return None
        try:
            heard = _process.parse(line)
            if not isinstance(heard.get("id"), int) or isinstance(heard["id"], bool):
                raise ValueError("it has no id")
        except (ValueError, RecursionError) as error:
            # Without the line itself, which may be long.
            _process.say(ValueError(f"a line on stdin is no request: {_process.worded(error)[:200]}"))
            self.was_misled = not self._was_asked
            return None
        self._was_asked, self.was_misled = True, False
        if "hello" in heard:
            hello = heard["hello"]
            wanted = hello.get("features") if isinstance(hello, dict) else None
            offers = ["refs"] if isinstance(wanted, list) and "refs" in wanted else []
            self._tell({"id": heard["id"], "features": offers})
            return None
        try:
            heard["input"] = self._store.whole(heard)
        except Exception as error:
            self._fail(heard["id"], error)
            return None
        return heard

    def _reply(self, heard: Dict[str, Any]) -> Generator[Awaitable[Any], Any, None]:
        """Asks, and answers; hands out what must be awaited, and gets back a function with what came of it."""
        asking = self._ask(heard["input"])
        result: Optional[Callable[[], Any]] = None
        try:
            while True:
                waited = next(asking) if result is None else asking.send(result())
                result = yield waited
        except StopIteration as end:
            try:
                self._tell({"id": heard["id"], "output": end.value})
            except (TypeError, ValueError) as error:
                self._fail(heard["id"], error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._fail(heard["id"], error)

    async def _reply_when_ready(self, heard: Dict[str, Any]) -> None:
        reply = self._reply(heard)
        try:
            waited = next(reply)
            while True:
                waited = reply.send(await _outcome_of(waited))
        except StopIteration:
            pass

    def _fail(self, number: int, error: BaseException) -> None:
        _process.say(error)
        self._tell({"id": number, "error": _process.worded(error)[:2000]})

    def _tell(self, words: Dict[str, Any]) -> None:
        line = json.dumps(words, allow_nan=False, separators=(",", ":")).encode()
        if len(line) > _LONGEST_ANSWER:
            error = f"the answer is longer than {_LONGEST_ANSWER} bytes"
            line = json.dumps({"id": words["id"], "error": error}).encode()
        _process.write(line + b"\n")


def _raise(error: BaseException) -> Any:
    raise error


async def _outcome_of(waited: Awaitable[Any]) -> Callable[[], Any]:
    try:
        value = await waited
        return lambda: value
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        caught = error
        return lambda: _raise(caught)


def _outcome(waited: Awaitable[Any]) -> Callable[[], Any]:
    import asyncio

    async def wait() -> Callable[[], Any]:
        asyncio.get_running_loop().set_exception_handler(_process.notice_failed_task)
        return await _outcome_of(waited)

    return asyncio.run(wait())
