"""Not run: what must, and must not, pass a type checker. A test gives it to mypy where there is one."""

from typing import Optional

from hookwright_hook import Answer, AfterModelInput, BeforeToolInput, BeforeToolOutput, combine, deny, hook, message


@hook.on("BeforeTool")
async def by_hand(event: BeforeToolInput) -> Optional[BeforeToolOutput]:
    if event["tool_name"] == "x" and "host" in event:
        return {"decision": "deny", "reason": "x", "continue": True}
    return None


@hook.on("BeforeTool")
def by_helper(event: BeforeToolInput) -> Answer:
    return combine(deny(event["tool_name"]), message("x"))


hook.on("AfterModel")(lambda event: message(event["content"]))


@hook.on("BeforeTool")  # type: ignore[type-var]
def another_events_input(event: AfterModelInput) -> Answer:
    return deny("x")


@hook.on("PreToolUse")  # type: ignore[call-overload,untyped-decorator]
def no_event(event: BeforeToolInput) -> Answer:
    return deny("x")


def no_decision(event: BeforeToolInput) -> Optional[BeforeToolOutput]:
    return {"decision": "denied"}  # type: ignore[return-value]


hook.run()
