"""Answers: helpers that make them, the check that they are some, and several as one."""

from __future__ import annotations

from collections.abc import Mapping as MappingClass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

    from ._types import LlmRequestPatch, LlmResponse, ToolMode

    Plain = Dict[str, Any]
else:
    Plain = dict


class Answer(Plain):
    """An answer made by one of the helpers."""


def allow() -> Answer:
    """No objection."""
    return Answer(decision="allow")


def deny(reason: str) -> Answer:
    """No, and why. On AfterTool it hides the result, on AfterAgent it demands another answer."""
    return Answer(decision="deny", reason=reason)


def ask(reason: str) -> Answer:
    """The user decides."""
    return Answer(decision="ask", reason=reason)


def stop(reason: str) -> Answer:
    """The agent stops."""
    return Answer({"continue": False, "stopReason": reason})


def message(text: str) -> Answer:
    """Words for the user."""
    return Answer(systemMessage=text)


def context(text: str) -> Answer:
    """Words for the model."""
    return _specific(additionalContext=text)


def rewrite(tool_input: Mapping[str, Any]) -> Answer:
    """Arguments that are laid over the tool's own."""
    return _specific(tool_input=dict(tool_input))


def request(patch: LlmRequestPatch) -> Answer:
    """What changes in the request to the model."""
    return _specific(llm_request=patch)


def respond(response: Union[str, LlmResponse]) -> Answer:
    """An answer, or a piece of one, in the place of the model's: its text, or a whole response."""
    if isinstance(response, str):
        return _specific(llm_response={"candidates": [{"content": {"role": "model", "parts": [response]}}]})
    return _specific(llm_response=response)


def tools(mode: ToolMode, names: Iterable[str] = ()) -> Answer:
    """How the model may use tools: AUTO, ANY or NONE, and which."""
    return _specific(toolConfig={"mode": mode, "allowedFunctionNames": list(names)})


def tail_call(name: str, args: Optional[Mapping[str, Any]] = None) -> Answer:
    """A tool that runs next; its result takes the place of this one's."""
    return _specific(tailToolCallRequest={"name": name, "args": dict(args or {})})


def clear_context() -> Answer:
    """The model's memory is emptied."""
    return _specific(clearContext=True)


def _specific(**fields: Any) -> Answer:
    return Answer(hookSpecificOutput=fields)


STRENGTH = {"allow": 0, "approve": 0, "ask": 1, "deny": 2, "block": 2}
_MODES = ["AUTO", "ANY", "NONE"]


def checked(answer: Any) -> Mapping[str, Any]:
    """A handler's answer, if it is one. What looks like a no and would not be heard as one is an error, never a yes."""
    if answer is None:
        return {}
    if not isinstance(answer, MappingClass):
        kind = type(answer).__name__
        raise TypeError(f'a handler answers an object such as deny("why"), or nothing; this is a {kind}')
    decision, goes_on = answer.get("decision"), answer.get("continue")
    if decision is not None and not (isinstance(decision, str) and decision in STRENGTH):
        raise TypeError(f"decision is one of {', '.join(STRENGTH)}; this is {repr(decision)[:80]}")
    if goes_on is not None and not isinstance(goes_on, bool):
        raise TypeError(f"continue is True or False; this is {repr(goes_on)[:80]}")
    specific = answer.get("hookSpecificOutput")
    if specific is not None and not isinstance(specific, MappingClass):
        raise TypeError(f"hookSpecificOutput is an object; this is {repr(specific)[:80]}")
    return answer


def ends_the_round(answer: Mapping[str, Any]) -> bool:
    """Whether nobody else need be asked."""
    return answer.get("continue") is False or STRENGTH.get(answer.get("decision") or "", 0) == 2


def combine(*answers: Optional[Mapping[str, Any]]) -> Answer:
    """Several answers as one, as the agent would merge them: any stop wins, then any deny, then any ask."""
    said = [checked(answer) for answer in answers]
    merged = Answer()
    for answer in said:
        merged.update(answer)
    if len(said) < 2:
        return merged
    stops = [answer for answer in said if answer.get("continue") is False]
    decisions = [answer["decision"] for answer in said if answer.get("decision") is not None]
    _set(merged, "decision", max(decisions, key=lambda word: STRENGTH[word], default=None))
    _set(merged, "reason", _lines(answer.get("reason") for answer in said))
    _set(merged, "continue", False if stops else None)
    _set(merged, "stopReason", _lines(answer.get("stopReason") or answer.get("reason") for answer in stops))
    _set(merged, "systemMessage", _lines(answer.get("systemMessage") for answer in said))
    _set(merged, "suppressOutput", any(answer.get("suppressOutput") is True for answer in said) or None)
    specific = _combine_specific([answer.get("hookSpecificOutput") or {} for answer in said])
    _set(merged, "hookSpecificOutput", specific or None)
    return merged


def _combine_specific(parts: List[Mapping[str, Any]]) -> Dict[str, Any]:
    merged: Dict[str, Any] = {}
    for part in parts:
        merged.update(part)

    def values(name: str) -> List[Any]:
        return [part[name] for part in parts if part.get(name) is not None]

    _set(merged, "additionalContext", _lines(values("additionalContext")))
    for name in ("clearContext", "redact_input"):
        _set(merged, name, any(value is True for value in values(name)) or None)
    joins: Dict[str, Callable[[List[Any]], Any]] = {
        "tool_input": _laid_over,
        "llm_request": _patched,
        "toolConfig": _selected,
    }
    for name, join in joins.items():
        if values(name):
            merged[name] = join(values(name))
    return merged


def _laid_over(layers: List[Any]) -> Dict[str, Any]:
    merged: Dict[str, Any] = {}
    for layer in layers:
        merged.update(layer)
    return merged


def _patched(patches: List[Any]) -> Dict[str, Any]:
    merged = _laid_over(patches)
    configs = [patch["config"] for patch in patches if patch.get("config")]
    if configs:
        merged["config"] = _laid_over(configs)
    return merged


def _selected(configs: List[Any]) -> Dict[str, Any]:
    strengths = [_MODES.index(config["mode"]) for config in configs if config.get("mode") in _MODES]
    mode = _MODES[max(strengths, default=0)]
    names = {name for config in configs for name in config.get("allowedFunctionNames") or []}
    return {"mode": mode, "allowedFunctionNames": [] if mode == "NONE" else sorted(names)}


def advance(event_input: Dict[str, Any], specific: Mapping[str, Any]) -> None:
    """What a handler changed, as those after it see it."""
    if isinstance(specific.get("tool_input"), MappingClass):
        event_input["tool_input"] = _laid_over([event_input["tool_input"], specific["tool_input"]])
    if isinstance(specific.get("llm_request"), MappingClass):
        event_input["llm_request"] = _patched([event_input["llm_request"], specific["llm_request"]])
    if specific.get("additionalContext") and isinstance(event_input.get("prompt"), str):
        event_input["prompt"] += f"\n\n{specific['additionalContext']}"


def _lines(texts: Iterable[Any]) -> Optional[str]:
    return "\n".join(text for text in texts if text) or None


def _set(target: Dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value
