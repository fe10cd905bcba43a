# Generated from schemas/ (cargo run -p xtask -- generate): do not edit.
"""The events: what other agents call each, and what its input has where nothing else is said."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Tuple

ALSO: Mapping[str, Tuple[str, ...]] = {
    "SessionStart": (),
    "BeforeAgent": ("UserPromptSubmit",),
    "PreCompress": ("PreCompact",),
    "BeforeModel": (),
    "BeforeToolSelection": (),
    "AfterModel": (),
    "BeforeTool": ("PreToolUse",),
    "Notification": (),
    "AfterTool": ("PostToolUse",),
    "AfterAgent": ("Stop", "SubagentStop",),
    "SessionEnd": (),
}

DEFAULTS: Mapping[str, Dict[str, Any]] = {
    "SessionStart": {},
    "BeforeAgent": {},
    "PreCompress": {},
    "BeforeModel": {"purpose": "answer"},
    "BeforeToolSelection": {"purpose": "answer"},
    "AfterModel": {"purpose": "answer", "content": ""},
    "BeforeTool": {"tool_input": {}, "requested_by": "model"},
    "Notification": {"message": "", "details": None, "requested_by": "model"},
    "AfterTool": {"tool_input": {}, "tool_response": None, "requested_by": "model"},
    "AfterAgent": {"stop_hook_active": False},
    "SessionEnd": {},
}

#: The names of all events.
EVENTS = tuple(ALSO)
