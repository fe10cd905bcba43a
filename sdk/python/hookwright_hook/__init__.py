"""What a hook is written with: handlers by event, helpers for answers, and the two ways in which an agent runs the file:
once per event (a command hook), or once per session (a worker, where HOOKWRIGHT_WORKER=1 says so).

It depends on nothing, and decides nothing: what an answer means is the agent's business.
"""

from ._answers import (
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
from ._hook import Hook, hook
from ._types import *  # noqa: F403
from ._types import EVENTS, Answer

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
