//! Hooks written with each library, over real pipes: as commands and as workers.

use hookwright_testkit::wait_until;
use serde_json::{Value, json};

use super::language::{SdkLanguage, SdkProgram, before_tool};

/// Runs a test for every language.
fn each(test: &str, run: impl Fn(SdkLanguage, &SdkProgram)) {
    for language in SdkLanguage::here(test) {
        run(language, &SdkProgram::every(language));
    }
}

fn call(tool: &str, say: &str) -> String {
    before_tool(tool, json!({"say": say, "path": "p"})).to_string()
}

#[test]
fn a_command_prints_one_answer() {
    each("a_command_prints_one_answer", |language, program| {
        for (tool, expected) in [
            ("deny", json!({"decision": "deny", "reason": "why 🎉\u{2028}"})),
            ("ask", json!({"decision": "ask", "reason": "why 🎉\u{2028}"})),
            ("message", json!({"systemMessage": "why 🎉\u{2028}"})),
            ("other", json!({})),
            ("late", json!({"decision": "deny", "reason": "late"})),
            ("print", json!({"systemMessage": "printed"})),
        ] {
            if tool == "print" && language == SdkLanguage::Rust {
                continue; // A Rust program's own output goes to stdout.
            }
            let ended = program.run(call(tool, "why 🎉\u{2028}"));
            assert_eq!(ended.json(), expected, "{language:?} {tool}");
            assert_eq!(ended.stderr.contains("stdout.write"), tool == "print", "{ended:?}");
        }
        let by_hand = program.run(call("hand-written", "")).json();
        let specific = json!({"hookEventName": "BeforeTool", "redact_input": true});
        assert_eq!(by_hand, json!({"decision": "block", "reason": "by hand", "hookSpecificOutput": specific}));
        let mut input = before_tool("", json!({}));
        input["hook_event_name"] = json!("BeforeAgent");
        input["prompt"] = json!("hi");
        let specific = json!({"hookEventName": "BeforeAgent", "additionalContext": "heard hi"});
        assert_eq!(program.run(input.to_string()).json(), json!({"hookSpecificOutput": specific}));
    });
}

#[test]
fn later_handlers_see_what_earlier_ones_changed() {
    each("later_handlers_see_what_earlier_ones_changed", |_, program| {
        let answer = program.run(call("rewrite", "")).json();
        let specific = json!({"hookEventName": "BeforeTool", "tool_input": {"path": "p!"}});
        let expected = json!({"decision": "deny", "reason": "second: p!", "hookSpecificOutput": specific});
        assert_eq!(answer, expected);
    });
}

#[test]
fn a_command_that_fails_never_says_yes() {
    each("a_command_that_fails_never_says_yes", |language, program| {
        program.run(call("throw", "broken")).fails("broken");
        if language == SdkLanguage::Rust {
            program.run(call("panic", "broken")).fails("broken");
        } else {
            program.run(call("leave", "")).fails("");
            program.run(call("not an answer", "deny")).fails("answers an object");
            program.run(call("not a decision", "denied")).fails("decision is one of");
        }
        program.run(r#"{"hook_event_name": "AfterTool"}"#).fails("no handler");
        program.run(r#"{"hook_event_name": "NoSuchEvent"}"#).fails("no handler");
        program.run(r#"{"tool_name": "deny"}"#).fails("hook_event_name");
        for garbage in ["", "{", "[]", "7", "null", "{\"hook_event_name\": \"BeforeTool\"} x"] {
            program.run(garbage).fails("");
        }
        program.run(b"{\"hook_event_name\": \"BeforeTool\", \"tool_name\": \"\xff\"}").fails("");
        if language == SdkLanguage::Node {
            program.run(call("never", "")).fails("before its handler had answered");
        }
    });
}

#[test]
fn input_may_have_a_byte_order_mark_and_other_ends_of_lines() {
    each("input_may_have_a_byte_order_mark_and_other_ends_of_lines", |_, program| {
        let input = format!("\u{feff}{}\r\n\r\n", call("deny", "a\u{2028}b\u{2029}c\u{85}d"));
        assert_eq!(program.run(input).json()["reason"], "a\u{2028}b\u{2029}c\u{85}d");
        let mut worker = program.worker();
        let line = json!({"id": 1, "input": before_tool("deny", json!({"say": "a\u{2028}b\u{2029}c\u{85}d"}))});
        worker.send_bytes(format!("\u{feff}{line}\r\n\r\n\n \n").as_bytes());
        assert_eq!(worker.next_answer()["output"]["reason"], "a\u{2028}b\u{2029}c\u{85}d");
        let ended = worker.end();
        assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(0), String::new(), String::new()));
    });
}

#[test]
fn a_worker_answers_one_after_the_other() {
    each("a_worker_answers_one_after_the_other", |language, program| {
        let mut worker = program.worker();
        for id in 1..=200 {
            worker.ask(id, "deny", json!({"say": format!("no {id}")}));
            assert_eq!(
                worker.next_answer(),
                json!({"id": id, "output": {"decision": "deny", "reason": format!("no {id}")}})
            );
        }
        if language != SdkLanguage::Rust {
            worker.ask(201, "print", json!({}));
            assert_eq!(worker.next_answer(), json!({"id": 201, "output": {"systemMessage": "printed"}}));
        }
        worker.ask(202, "late", json!({}));
        assert_eq!(worker.next_answer()["output"]["reason"], "late");
        let ended = worker.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
        assert_eq!(ended.stderr.contains("stdout.write"), language != SdkLanguage::Rust, "{ended:?}");
    });
}

#[test]
fn a_workers_failures_are_told_with_their_ids() {
    each("a_workers_failures_are_told_with_their_ids", |language, program| {
        let mut worker = program.worker();
        for (id, tool, words) in [
            (1, "throw", "broken"),
            (2, "not an answer", "answers an object"),
            (3, "not a decision", "decision is one of"),
            (4, "large", "longer than"),
        ] {
            let tool = if language == SdkLanguage::Rust && tool.starts_with("not") { "panic" } else { tool };
            let words = if tool == "panic" { "broken" } else { words };
            worker.ask(id, tool, json!({"say": "broken"}));
            let answer = worker.next_answer();
            assert_eq!(answer["id"], id);
            assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
            assert!(answer.get("output").is_none() && answer.to_string().len() < 4096, "{answer}");
        }
        worker.ask(5, "throw", json!({"say": "long ".repeat(100_000)}));
        assert!(worker.next_answer()["error"].as_str().unwrap().len() < 10_000);
        for (id, line, words) in [
            (6, json!({"id": 6, "input": {"hook_event_name": "AfterTool"}}), "no handler"),
            (7, json!({"id": 7, "input": {"hook_event_name": "NoSuchEvent"}}), "no handler"),
            (8, json!({"id": 8, "input": 5}), "no input"),
            (9, json!({"id": 9}), "no input"),
            (10, json!({"id": 10, "input": {}}), "hook_event_name"),
            (11, json!({"id": 11, "input": {}, "kept": {"llm_request": 3}}), "nothing is kept"),
            (12, json!({"id": 12, "input": {}, "grow": {"full_content": [3, "x"]}}), "no text is kept"),
            (13, json!({"id": 13, "input": {}, "keep": {"llm_request": 3}}), "does not have"),
        ] {
            worker.send(&line);
            let answer = worker.next_answer();
            assert!(answer["id"] == id && answer["error"].as_str().unwrap().contains(words), "{answer}");
        }
        worker.ask(14, "deny", json!({"say": "still here"}));
        assert_eq!(worker.next_answer()["output"]["reason"], "still here");
        assert_eq!(worker.end().code, Some(0));
    });
}

/// A command that is started as a worker gets an event instead of a request: exiting silently would be an allow.
#[test]
fn a_worker_that_was_never_asked_but_spoken_to_has_failed() {
    each("a_worker_that_was_never_asked_but_spoken_to_has_failed", |_, program| {
        let mut worker = program.worker();
        worker.send(&before_tool("x", json!({})));
        worker.end().fails("HOOKWRIGHT_WORKER");
        assert_eq!(program.worker().end().code, Some(0), "nobody said anything");
    });
}

#[test]
fn a_worker_lives_through_garbage() {
    each("a_worker_lives_through_garbage", |_, program| {
        let mut worker = program.worker();
        let garbage: [&[u8]; 9] = [
            b"garbage",
            b"[]",
            b"{}",
            b"{\"id\": \"1\"}",
            b"{\"id\": 1.5}",
            b"{\"id\": true, \"input\": {}}",
            b"\xff\xfe",
            b"{\"id\": 1",
            b"null",
        ];
        for line in garbage {
            worker.send_bytes(&[line, b"\n"].concat());
        }
        worker.send_bytes(&[b"x".repeat(8 << 20), b"\n".to_vec()].concat());
        worker.ask(1, "deny", json!({"say": "here"}));
        assert_eq!(worker.next_answer(), json!({"id": 1, "output": {"decision": "deny", "reason": "here"}}));
        // Half a line: the agent is gone.
        worker.send_bytes(b"{\"id\": 2, \"input\": {\"hook_event_na");
        let ended = worker.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
        assert_eq!(ended.stderr.matches("no request").count(), garbage.len() + 2, "{}", &ended.stderr[..2000]);
        assert!(ended.stderr.len() < 10_000, "{}", ended.stderr.len());
    });
}

#[test]
fn a_giant_line_arrives_whole() {
    each("a_giant_line_arrives_whole", |_, program| {
        let mut worker = program.worker();
        worker.ask(1, "deny", json!({"say": "x", "content": "0123456789".repeat(1 << 20)}));
        assert_eq!(worker.next_answer()["output"]["decision"], "deny");
        assert_eq!(worker.end().code, Some(0));
    });
}

#[test]
fn answers_come_as_they_are_ready_and_an_end_waits_for_them() {
    each("answers_come_as_they_are_ready_and_an_end_waits_for_them", |_, program| {
        let mut worker = program.worker();
        worker.ask(1, "wait", json!({"wait": 3000}));
        worker.ask(2, "deny", json!({"say": "at once"}));
        worker.ask(3, "wait", json!({"wait": 10}));
        assert_eq!(worker.next_answer()["id"], 2);
        assert_eq!(worker.next_answer()["id"], 3);
        let ended = worker.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stdout, "{\"id\":1,\"output\":{\"systemMessage\":\"waited 3000\"}}\n");
    });
}

#[test]
fn large_fields_are_sent_once() {
    each("large_fields_are_sent_once", |language, program| {
        let mut worker = program.worker();
        worker.send(&json!({"id": 0, "hello": {"version": 1, "features": ["refs"]}}));
        assert_eq!(worker.next_answer(), json!({"id": 0, "features": ["refs"]}));
        let text = "hello ".repeat(10 << 17);
        let messages = json!([{"role": "user", "content": text}, {"role": "model", "content": "hi"}]);
        let request = json!({"model": "m", "messages": messages, "config": {}});
        let response = json!({"candidates": []});
        let chunk = |id: u64, content: &str| {
            json!({"id": id, "input": {"session_id": "s", "transcript_path": "/t", "cwd": "/", "timestamp": "t",
                "hook_event_name": "AfterModel", "llm_response": response, "content": content}})
        };
        let mut first = chunk(1, "a");
        first["input"]["llm_request"] = request;
        first["input"]["full_content"] = json!("a");
        first["keep"] = json!({"llm_request": 1, "full_content": 2});
        worker.send(&first);
        let seen = |full: &str| json!([format!("2 {} hello {full}", text.len())]);
        let parts = |answer: &Value| {
            answer["output"]["hookSpecificOutput"]["llm_response"]["candidates"][0]["content"]["parts"].clone()
        };
        assert_eq!(parts(&worker.next_answer()), seen("a"), "{language:?}");
        // The handler changed its input, which must not affect others.
        let mut second = chunk(2, "b");
        second["kept"] = json!({"llm_request": 1});
        second["grow"] = json!({"full_content": [2, "b"]});
        worker.send(&second);
        assert_eq!(parts(&worker.next_answer()), seen("ab"), "{language:?}");
        // If the request were copied for each of these, this would take minutes.
        for id in 3..2000 {
            let mut next = chunk(id, "unseen");
            next["kept"] = json!({"llm_request": 1});
            next["grow"] = json!({"full_content": [2, "c"]});
            worker.send(&next);
            assert_eq!(worker.next_answer(), json!({"id": id, "output": {"systemMessage": "unseen"}}));
        }
        second["id"] = json!(2000);
        worker.send(&second);
        assert_eq!(parts(&worker.next_answer()), seen(&format!("ab{}b", "c".repeat(1997))));
        // Another value replaces the first one.
        let mut other = chunk(2001, "a");
        other["input"]["llm_request"] = json!({"model": "m", "messages": [{"role": "user", "content": "other"}]});
        other["input"]["full_content"] = json!("");
        other["keep"] = json!({"llm_request": 1});
        worker.send(&other);
        assert_eq!(parts(&worker.next_answer()), json!(["1 5 other "]));
        assert_eq!(worker.end().code, Some(0));
    });
}

/// If its answers are not read, it exits without a message.
#[test]
fn a_worker_whose_answers_nobody_reads_leaves() {
    each("a_worker_whose_answers_nobody_reads_leaves", |_, program| {
        let mut worker = program.worker();
        worker.ask(1, "deny", json!({"say": "x"}));
        worker.next_answer();
        worker.stop_reading();
        let pid = worker.pid().to_string();
        let mut id = 1;
        wait_until("the worker leaves", || {
            id += 1;
            worker.ask(id, "deny", json!({"say": "x"}));
            !hookwright_testkit::is_running(&pid)
        });
        let ended = worker.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    });
}
