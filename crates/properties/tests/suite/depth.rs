//! Deeply nested inputs: unclosed brackets must be an error and never overflow the stack. A stack overflow would end
//! all tests, so passing is the only thing to check.

use super::property;
use hookwright_testkit::deadline::*;

/// The stack size of the program's threads.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Depths around the limits: JSON parsers accept 128 levels, TOML 80, settings 512; embedding an input may add a few.
const DEPTHS: [usize; 14] = [64, 80, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 600];
/// More levels than any stack could hold.
const UNCLOSED_DEPTH: usize = 10_000;

/// Checks a property with nested inputs: `before`, then `open` repeated, `close` as often, and `after`.
fn check_nested(target: &str, before: &str, (open, close): (&str, &str), after: &str) {
    let closed = DEPTHS.iter().map(|depth| format!("{before}{}1{}{after}", open.repeat(*depth), close.repeat(*depth)));
    let inputs: Vec<String> = closed.chain([format!("{before}{}", open.repeat(UNCLOSED_DEPTH))]).collect();
    let property = property(target);
    let all = move || inputs.iter().for_each(|input| property(input.as_bytes()));
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(all).unwrap().join_in_time().unwrap();
}

const ARRAYS: (&str, &str) = ("[", "]");
const OBJECTS: (&str, &str) = (r#"{"a":"#, "}");

#[test]
fn settings() {
    for brackets in [ARRAYS, OBJECTS] {
        check_nested("settings", "", brackets, "");
        check_nested("settings", r#"{"hooks":{"BeforeTool":"#, brackets, "}}");
        check_nested(
            "settings",
            r#"{"hooks":{"BeforeTool":[{"hooks":[{"type":"command","command":"#,
            brackets,
            "}]}]}}",
        );
    }
}

#[test]
fn answers_of_hooks() {
    for brackets in [ARRAYS, OBJECTS] {
        check_nested("answer", "\0\0\0", brackets, "");
        for field in ["tool_input", "llm_request", "x"] {
            check_nested("answer", &format!("\0\0\0{{\"hookSpecificOutput\":{{\"{field}\":{{\"a\":"), brackets, "}}}");
        }
    }
}

#[test]
fn streamed_answers() {
    for brackets in [ARRAYS, OBJECTS] {
        check_nested("sse", "g", brackets, "");
        check_nested("sse", "gdata: ", brackets, "\n\n");
        let before = r#"gdata: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"#;
        check_nested("sse", before, brackets, "}}}]},\"finishReason\":\"STOP\"}]}\n\n");
        check_nested("sse", r#"gdata: {"candidates":[{"safetyRatings":"#, brackets, "}]}\n\n");
        let before = r#"odata: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"a":"#;
        check_nested("sse", before, brackets, "}}}]}}]}\n\ndata: [DONE]\n\n");
    }
    let before = r#"odata: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"#;
    check_nested("sse", before, ARRAYS, "}\"}}]}}]}\n\ndata: [DONE]\n\n");
    check_nested("sse", before, (r#"{\"a\":"#, "}"), "}\"}}]}}]}\n\ndata: [DONE]\n\n");
}

#[test]
fn replay_files() {
    for brackets in [ARRAYS, OBJECTS] {
        check_nested("replay", "", brackets, "");
        check_nested("replay", r#"{"method":"generateContentStream","response":"#, brackets, "}");
        let before = r#"{"method":"generateContentStream","response":[{"candidates":[{"content":{"parts":[{"a":"#;
        check_nested("replay", before, brackets, "}]}}]}]}");
    }
}

#[test]
fn policies() {
    check_nested("policy", "a = ", ARRAYS, "");
    check_nested("policy", "a = ", ("{ a = ", " }"), "");
    check_nested("policy", "", ("a.", ""), " = 1");
    check_nested("policy", "[", ("a.", ""), "]");
    check_nested("policy", "[[rule]]\ndecision = \"deny\"\ncommandPrefix = ", ARRAYS, "");
    check_nested("policy", "[[rule]]\ndecision = \"deny\"\ncommandRegex = '", ("(", ")"), "'\n\u{1e}\u{1e}ls");
}

#[test]
fn commands_and_templates() {
    check_nested("template", "", ("!{", "}"), "\u{1e}x");
    check_nested("template", "!{echo ", ("$(", ")"), " {{args}}}\u{1e}x y");
    check_nested("template", "prompt = ", ARRAYS, "");
    for brackets in [("(", ")"), ("$(", ")"), ("{ ", "; }"), ("\"$(", ")\""), ("if ", "; then :; fi"), ("((", "))")] {
        check_nested("shell", "", brackets, "");
        check_nested("effects", "", brackets, "");
        check_nested("words", "", brackets, "");
    }
}

#[test]
fn transcripts() {
    for brackets in [ARRAYS, OBJECTS] {
        check_nested("transcript", "", brackets, "\n");
        check_nested("transcript", r#"{"type":"note","data":"#, brackets, "}\n");
        let before = r#"{"type":"gemini","content":[{"functionCall":{"name":"f","args":{"a":"#;
        check_nested("transcript", before, brackets, "}}}]}\n");
        check_nested(
            "transcript",
            r#"{"type":"compressed","history":[{"role":"user","parts":[{"a":"#,
            brackets,
            "}]}]}\n",
        );
    }
}
