"""Answers, handlers and inputs, without a process."""

import copy
import json
import pickle
import subprocess
import sys
import typing
import unittest

from hookwright_hook import (
    EVENTS,
    Hook,
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
from hookwright_hook._process import worded
from hookwright_hook._refs import Store


class Answers(unittest.TestCase):
    def test_helpers_make_plain_objects(self):
        self.assertEqual(allow(), {"decision": "allow"})
        self.assertEqual(deny("a"), {"decision": "deny", "reason": "a"})
        self.assertEqual(ask("a"), {"decision": "ask", "reason": "a"})
        self.assertEqual(stop("a"), {"continue": False, "stopReason": "a"})
        self.assertEqual(message("a"), {"systemMessage": "a"})
        self.assertEqual(context("a"), {"hookSpecificOutput": {"additionalContext": "a"}})
        self.assertEqual(rewrite({"a": 1}), {"hookSpecificOutput": {"tool_input": {"a": 1}}})
        self.assertEqual(request({"model": "m"}), {"hookSpecificOutput": {"llm_request": {"model": "m"}}})
        response = {"candidates": [{"content": {"role": "model", "parts": ["a"]}}]}
        self.assertEqual(respond("a"), {"hookSpecificOutput": {"llm_response": response}})
        self.assertEqual(respond({"text": "a"}), {"hookSpecificOutput": {"llm_response": {"text": "a"}}})
        config = {"mode": "ANY", "allowedFunctionNames": ["a"]}
        self.assertEqual(tools("ANY", ["a"]), {"hookSpecificOutput": {"toolConfig": config}})
        self.assertEqual(tail_call("a"), {"hookSpecificOutput": {"tailToolCallRequest": {"name": "a", "args": {}}}})
        self.assertEqual(clear_context(), {"hookSpecificOutput": {"clearContext": True}})

    def test_several_answers_are_one(self):
        self.assertEqual(combine(), {})
        self.assertEqual(combine(None, None), {})
        said = combine(allow(), ask("a"), {"decision": "block", "reason": "b"}, allow())
        self.assertEqual(said, {"decision": "block", "reason": "a\nb"})
        said = combine(stop("a"), {"continue": True}, {"continue": False, "reason": "b"})
        self.assertEqual(said, {"continue": False, "stopReason": "a\nb", "reason": "b"})
        self.assertEqual(combine({"continue": True}, message("a"), message("")), {"systemMessage": "a"})
        self.assertEqual(combine(context("a"), context("b")), context("a\nb"))
        self.assertEqual(combine(rewrite({"a": 1, "b": 1}), rewrite({"b": 2})), rewrite({"a": 1, "b": 2}))
        first, second = request({"model": "a", "config": {"x": 1, "y": 1}}), request({"config": {"y": 2}})
        self.assertEqual(combine(first, second), request({"model": "a", "config": {"x": 1, "y": 2}}))
        self.assertEqual(combine(tools("AUTO", ["b"]), tools("ANY", ["a", "b"])), tools("ANY", ["a", "b"]))
        self.assertEqual(combine(tools("NONE"), tools("ANY", ["a"])), tools("NONE"))
        self.assertEqual(combine({"suppressOutput": True}, {"suppressOutput": False}), {"suppressOutput": True})

    def test_what_is_no_answer_is_an_error_never_a_yes(self):
        bad = ["deny", True, 7, [], deny, {"decision": "Deny"}, {"decision": True}, {"decision": []}]
        for answer in [*bad, {"continue": "false"}, {"continue": 0}, {"hookSpecificOutput": "x"}]:
            with self.assertRaises(TypeError, msg=repr(answer)):
                combine(answer)


class Types(unittest.TestCase):
    def test_types_are_there_for_those_who_ask(self):
        import hookwright_hook

        hints = typing.get_type_hints(hookwright_hook.BeforeToolInput)
        self.assertLessEqual({"tool_name", "tool_input", "effects"}, hints.keys())
        self.assertIn("tool_name", hookwright_hook.BeforeToolInput.__required_keys__)
        for name in ("Nothing", "_types_", "__path_"):
            with self.assertRaises(AttributeError):
                getattr(hookwright_hook, name)

    def test_running_a_hook_needs_none_of_them(self):
        script = "import sys, hookwright_hook; print([m for m in ('typing', 'inspect', 'asyncio', 'hookwright_hook._types') if m in sys.modules])"
        # Without the site's own additions, which may bring anything.
        run = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(run.stdout.strip(), "[]")


class Handlers(unittest.TestCase):
    def test_near_and_foreign_names_are_understood(self):
        for name, near in [("PreToolUse", "BeforeTool"), ("beforetool", "BeforeTool"), ("SesionStart", "SessionStart")]:
            with self.assertRaisesRegex(ValueError, f"did you mean {near}"):
                Hook().on(name)
        with self.assertRaisesRegex(ValueError, "only SessionStart"):
            Hook().on("Banana")
        with self.assertRaises(TypeError):
            Hook().on("BeforeTool")(None)
        self.assertEqual(len(EVENTS), 11)

    def test_a_function_stays_what_it_is(self):
        hook = Hook()

        @hook.on("SessionStart")
        def start(event):
            return context(event["source"])

        self.assertEqual(start({"source": "x"}), context("x"))
        said = hook.fire({"hook_event_name": "SessionStart", "source": "startup"})
        self.assertEqual(said["hookSpecificOutput"], {"hookEventName": "SessionStart", "additionalContext": "startup"})
        with self.assertRaisesRegex(ValueError, "no handler"):
            hook.fire({"hook_event_name": "SessionEnd"})

    def test_handlers_are_asked_in_order_until_one_says_no(self):
        hook, asked = Hook(), []

        @hook.on("BeforeModel")
        async def first(event):
            asked.append(event["llm_request"])
            return request({"config": {"temperature": 0}})

        @hook.on("BeforeModel")
        def second(event):
            asked.append(event["llm_request"])
            asked.append(event["purpose"])
            return deny("no")

        hook.on("BeforeModel")(lambda event: asked.append("never"))
        asking = {"hook_event_name": "BeforeModel", "llm_request": {"model": "m", "config": {"topK": 1}}}
        self.assertEqual(hook.fire(asking)["reason"], "no")
        both = {"model": "m", "config": {"topK": 1, "temperature": 0}}
        self.assertEqual(asked, [{"model": "m", "config": {"topK": 1}}, both, "answer"])

    def test_a_handler_that_raises_is_no_answer(self):
        for error in (StopIteration(), SystemExit(0), GeneratorExit()):
            hook = Hook()

            @hook.on("BeforeTool")
            def broken(event):
                raise error  # noqa: B023

            with self.assertRaises(BaseException):
                hook.fire({"hook_event_name": "BeforeTool"})

    def test_a_handler_that_leaves_is_told_in_words(self):
        left = "the handler left the program"
        for code, more in [(0, " (exit 0)"), (None, " (exit 0)"), (3, " (exit 3)"), ("no key", ": no key")]:
            self.assertEqual(worded(SystemExit(code)), left + more)


class Kept(unittest.TestCase):
    def setUp(self):
        self.store = Store()
        self.request = {"messages": [{"content": "a"}]}
        self.store.whole({"input": {"r": copy.deepcopy(self.request), "t": "x", "o": 1}, "keep": {"r": 1, "t": 2}})

    def again(self):
        return self.store.whole({"input": {"o": 1}, "kept": {"r": 1}, "grow": {"t": [2, "y"]}})

    def test_an_input_has_what_was_sent_earlier(self):
        plain = {"o": 1, "r": self.request, "t": "xy"}
        self.assertEqual(self.again()["r"], self.request)
        self.assertEqual(self.again().get("t"), "xyy")
        self.assertIn("r", self.again())
        self.assertEqual(len(self.again()), 3)
        self.assertIsNone(self.again().get("z"))
        with self.assertRaises(KeyError):
            self.again()["z"]
        for whole in (dict, lambda i: {**i}, lambda i: json.loads(json.dumps(i)), copy.copy, copy.deepcopy,
                      lambda i: pickle.loads(pickle.dumps(i)), lambda i: i.copy(), lambda i: i | {}, lambda i: {} | i,
                      lambda i: {key: i[key] for key in i}, lambda i: dict(zip(i.keys(), i.values()))):
            self.setUp()
            self.assertEqual(whole(self.again()), plain)
        self.setUp()
        self.assertEqual(self.again(), plain)
        self.setUp()
        self.assertNotEqual(plain, {**plain, "o": 2})
        self.assertIn("'xy'", repr(self.again()))

    def test_nobody_spoils_what_is_kept(self):
        spoilt = self.again()
        spoilt["r"]["messages"].append(1)
        spoilt["r"]["messages"][0]["content"] = "b"
        self.assertEqual(spoilt["r"]["messages"], [{"content": "b"}, 1])
        spoilt["t"] = "gone"
        self.assertEqual(self.again()["r"], self.request)
        for spoil in (lambda i: i.pop("r"), lambda i: i.__delitem__("r"), lambda i: i.clear(),
                      lambda i: i.update(r=0), lambda i: i.setdefault("r", 0), lambda i: i.popitem()):
            spoil(self.again())
        self.assertEqual(self.again()["r"], self.request)
        emptied = self.again()
        del emptied["r"]
        self.assertNotIn("r", emptied)

    def test_a_text_is_what_it_was_when_it_was_sent(self):
        first = self.again()
        second = self.again()
        self.assertEqual((first["t"], second["t"]), ("xy", "xyy"))


if __name__ == "__main__":
    unittest.main()
