"""A hook that does what its input asks for: the same in every language, so that one test tries them all."""
import asyncio
import os
import subprocess
import sys

from hookwright_hook import ask, context, deny, hook, message, respond, rewrite


@hook.on("BeforeTool")
async def everything(event):
    tool, given = event["tool_name"], event["tool_input"]
    if tool == "deny":
        return deny(given["say"])
    if tool == "ask":
        return ask(given["say"])
    if tool == "rewrite":
        return rewrite({"path": given["path"] + "!"})
    if tool == "message":
        return message(given["say"])
    if tool == "hand-written":
        return {"decision": "block", "reason": "by hand", "hookSpecificOutput": {"redact_input": True}}
    if tool == "print":
        print("print")
        sys.stdout.write("stdout.write\n")
        os.write(1, b"descriptor 1\n")
        subprocess.run(["sh", "-c", "echo child; cat"], check=True)
        return message("printed")
    if tool == "throw":
        raise RuntimeError(given["say"])
    if tool == "leave":
        sys.exit(0)
    if tool == "not an answer":
        return given["say"]
    if tool == "not a decision":
        return {"decision": given["say"]}
    if tool == "large":
        return message("x" * (2 * 1024 * 1024))
    if tool == "wait":
        await asyncio.sleep(given["wait"] / 1000)
        return message(f"waited {given['wait']}")


@hook.on("BeforeTool")
def second(event):
    if event["tool_name"] == "rewrite":
        return deny(f"second: {event['tool_input']['path']}")


hook.on("BeforeTool")(lambda event: deny("late") if event["tool_name"] == "late" else None)


@hook.on("BeforeAgent")
def prompt(event):
    return context(f"heard {event['prompt']}")


@hook.on("AfterModel")
def piece(event):
    if event["content"] == "unseen":
        return message("unseen")
    messages = event["llm_request"]["messages"]
    text = messages[0]["content"]
    seen = f"{len(messages)} {len(text)} {text[:5]} {event['full_content']}"
    messages[0]["content"] = "spoilt"
    messages.pop()
    event["llm_request"] = None
    return respond(seen)


hook.run()
