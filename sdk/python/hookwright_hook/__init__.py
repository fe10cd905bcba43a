"""What a hook is written with: handlers by event, helpers for answers, and the two ways in which an agent runs the file:
once per event (a command hook), or once per session (a worker, where HOOKWRIGHT_WORKER=1 says so).

It depends on nothing, and decides nothing: what an answer means is the agent's business.
"""

from __future__ import annotations

from ._answers import (
    Answer,
    allow,
    ask,
    clear_context,
    combine,
    context,
    deny,
    message,
    request,
    respond,
    rewrite,
    stop,
    tail_call,
    tools,
)
from ._events import EVENTS
from ._hook import Hook, hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403
else:

    def __getattr__(name):
        """The types, for those who ask for them: making them takes longer than most hooks."""
        from importlib import import_module

        # By its name: `from . import _types` would ask here for it.
        types = None if name.startswith("_") else import_module(f"{__name__}._types")
        if not hasattr(types, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(types, name)


__all__ = [
    "EVENTS",
    "Answer",
    "Hook",
    "allow",
    "ask",
    "clear_context",
    "combine",
    "context",
    "deny",
    "hook",
    "message",
    "request",
    "respond",
    "rewrite",
    "stop",
    "tail_call",
    "tools",
]
