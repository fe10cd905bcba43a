//! The handlers of a program, how they are called, and how the program is run.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::event::Event;
use crate::refs::HandlerInput;
use crate::{merge, stdio, worker};

/// The answer of a handler as JSON, or the reason of its failure.
type HandlerResult = Result<Map<String, Value>, String>;

/// The handlers of a program.
#[derive(Default)]
pub struct Hook {
    handlers: Vec<Handler>,
    threads: usize,
}

struct Handler {
    event: &'static str,
    call: Box<dyn Fn(&HandlerInput) -> HandlerResult + Send + Sync>,
}

impl Hook {
    /// Creates a hook without handlers.
    pub fn new() -> Hook {
        Hook::default()
    }

    /// Registers a function for an event.
    ///
    /// Several handlers of one event are called in order, each with the changes of those before it. A deny or a stop
    /// ends the sequence.
    #[must_use]
    pub fn on<E: Event>(self, event: E, handler: impl Fn(&E::Input) -> E::Output + Send + Sync + 'static) -> Hook {
        self.try_on(event, move |input| Ok::<_, String>(handler(input)))
    }

    /// Registers a function that can fail. A failure is not an allow: a guard then blocks.
    #[must_use]
    pub fn try_on<E: Event, F: Display>(
        mut self,
        _event: E,
        handler: impl Fn(&E::Input) -> Result<E::Output, F> + Send + Sync + 'static,
    ) -> Hook {
        let ask = move |given: &HandlerInput| {
            let mut input = E::Input::deserialize(&given.input).map_err(|error| format!("the input: {error}"))?;
            for (field, request) in &given.shared_requests {
                E::lend(&mut input, field, request);
            }
            let answer = handler(&input).map_err(|error| error.to_string())?;
            match serde_json::to_value(answer) {
                Ok(Value::Object(answer)) => Ok(answer),
                Ok(other) => Err(format!("a handler answers an object; this is {other}")),
                Err(error) => Err(error.to_string()),
            }
        };
        self.handlers.push(Handler { event: E::NAME, call: Box::new(ask) });
        self
    }

    /// Sets how many requests a worker answers concurrently; the default is one.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Hook {
        self.threads = threads;
        self
    }

    /// Answers the agent. This has to be the last thing that `main` does.
    #[must_use = "an exit code that nobody returns is a yes"]
    pub fn run(self) -> ExitCode {
        if std::env::var_os("HOOKWRIGHT_WORKER").is_some_and(|value| value == "1") {
            return worker::serve(&self, self.threads.max(1));
        }
        let answered = stdio::read_stdin()
            .and_then(|bytes| stdio::parse_object(&bytes))
            .and_then(|input| self.call_handlers(HandlerInput::new(Value::Object(input))));
        match answered {
            Ok(answer) => match stdio::write_line(&Value::Object(answer).to_string()) {
                Ok(()) => ExitCode::SUCCESS,
                // The agent did not read the answer.
                Err(_) => ExitCode::FAILURE,
            },
            Err(error) => {
                stdio::log_error(&error);
                ExitCode::FAILURE
            }
        }
    }

    /// Returns the answer of the handlers to an input, for tests.
    ///
    /// # Errors
    /// Returns the reason if a handler fails or none is registered.
    pub fn fire(&self, input: Value) -> Result<Value, String> {
        self.call_handlers(HandlerInput::new(input)).map(Value::Object)
    }

    /// Calls every handler of the input's event.
    pub(crate) fn call_handlers(&self, mut given: HandlerInput) -> HandlerResult {
        let event = given.input.get("hook_event_name").and_then(Value::as_str).map(str::to_owned);
        let event = event.ok_or("the input names no event: it has no hook_event_name")?;
        let mut answers = Vec::new();
        for handler in self.handlers.iter().filter(|handler| handler.event == event) {
            // A handler has no access to state of this library that a panic could leave inconsistent.
            let answer = catch_unwind(AssertUnwindSafe(|| (handler.call)(&given)))
                .unwrap_or_else(|panic| Err(panic_message(&*panic)))?;
            let ends = merge::is_final(&answer);
            if !ends && let Some(Value::Object(specific)) = answer.get("hookSpecificOutput") {
                given.apply_changes(specific);
            }
            answers.push(answer);
            if ends {
                break;
            }
        }
        if answers.is_empty() {
            let those: Vec<&str> = self.handlers.iter().map(|handler| handler.event).collect();
            let those = if those.is_empty() { "nothing".to_owned() } else { those.join(", ") };
            return Err(format!("was asked about {event}, for which it has no handler (only for {those})"));
        }
        Ok(merge::merge_answers(answers, &event))
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without words"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::*;

    fn before_tool(tool: &str) -> serde_json::Value {
        json!({"session_id": "s", "transcript_path": "t", "cwd": "/", "hook_event_name": "BeforeTool", "timestamp": "t",
            "tool_name": tool, "tool_input": {"a": 1, "b": 1}, "requested_by": "a word of tomorrow", "new": true})
    }

    /// An agent of before sends no `repository`, `services`, `processes`, `privileged` and `flows`.
    #[test]
    fn effects_of_an_older_agent_have_empty_lists() {
        let hook = Hook::new().on(BeforeTool, |call| {
            let effects = call.effects.clone().unwrap();
            deny(format!("{} {} {:?}", effects.services.len(), effects.flows.len(), effects.unsure))
        });
        let reason = |effects: serde_json::Value| {
            let mut event = before_tool("x");
            event["effects"] = effects;
            hook.fire(event).unwrap()["reason"].clone()
        };
        let older = json!({"commands": [], "reads": [], "writes": [], "deletes": [], "network": [], "certain": true});
        let mut newer = older.clone();
        newer["services"] = json!(["kubernetes:delete"]);
        newer["flows"] = json!([{"from": "env", "to": "network:x", "via": "curl"}]);
        newer["unsure"] = json!(["flows", "a word of tomorrow"]);
        assert_eq!(reason(older), "0 0 None");
        assert_eq!(reason(newer), "1 1 Some([Flows, Unknown])");
    }

    #[test]
    fn handlers_run_in_order_until_one_denies() {
        let hook = Hook::new()
            .on(BeforeTool, |call| {
                assert_eq!(call.requested_by, RequestedBy::Unknown);
                rewrite(json!({"b": 2}).as_object().unwrap().clone())
            })
            .on(BeforeTool, |call| match call.tool_name.as_str() {
                "deny" => deny(json!(call.tool_input).to_string()),
                _ => ask("sure?"),
            })
            .on(BeforeTool, |_| message("last"));
        let specific = json!({"hookEventName": "BeforeTool", "tool_input": {"b": 2}});
        let denied = json!({"hookSpecificOutput": specific, "decision": "deny", "reason": "{\"a\":1,\"b\":2}"});
        assert_eq!(hook.fire(before_tool("deny")), Ok(denied));
        let asked =
            json!({"hookSpecificOutput": specific, "decision": "ask", "reason": "sure?", "systemMessage": "last"});
        assert_eq!(hook.fire(before_tool("x")), Ok(asked));
    }

    #[test]
    fn a_failing_handler_gives_no_answer() {
        let hook = Hook::new()
            .try_on(BeforeTool, |call| match call.tool_name.as_str() {
                "error" => Err("failed"),
                "panic" => panic!("at {}", 1),
                _ => Ok(pass()),
            })
            .on(SessionStart, |_| context("x"));
        assert_eq!(hook.fire(before_tool("x")), Ok(json!({})));
        assert_eq!(hook.fire(before_tool("error")), Err("failed".to_owned()));
        assert_eq!(hook.fire(before_tool("panic")), Err("panicked: at 1".to_owned()));
        assert!(hook.fire(json!({"hook_event_name": "AfterTool"})).unwrap_err().contains("no handler"));
        assert!(hook.fire(json!({"hook_event_name": "BeforeTool"})).unwrap_err().contains("session_id"));
        assert!(hook.fire(json!([])).unwrap_err().contains("hook_event_name"));
    }

    #[test]
    fn every_kind_of_answer_has_its_shape() {
        fn to_json(output: impl serde::Serialize) -> serde_json::Value {
            serde_json::to_value(output).unwrap()
        }
        let specific = |field: &str, value: serde_json::Value| json!({"hookSpecificOutput": {field: value}});
        assert_eq!(to_json(allow::<BeforeToolOutput>()), json!({"decision": "allow"}));
        assert_eq!(to_json(stop::<BeforeToolOutput>("x")), json!({"continue": false, "stopReason": "x"}));
        assert_eq!(to_json(context::<BeforeAgentOutput>("x")), specific("additionalContext", json!("x")));
        let patch = LlmRequestPatch { messages: Some(Vec::new()), ..Default::default() };
        assert_eq!(to_json(request::<BeforeModelOutput>(patch)), specific("llm_request", json!({"messages": []})));
        let response = json!({"candidates": [{"content": {"role": "model", "parts": ["x"]}}]});
        assert_eq!(to_json(respond::<AfterModelOutput>("x")), specific("llm_response", response));
        let config = json!({"mode": "ANY", "allowedFunctionNames": ["a"]});
        assert_eq!(to_json(tools::<BeforeToolSelectionOutput>(ToolMode::Any, ["a"])), specific("toolConfig", config));
        let call = json!({"name": "a", "args": {}});
        assert_eq!(
            to_json(tail_call::<AfterToolOutput>("a", Default::default())),
            specific("tailToolCallRequest", call)
        );
        assert_eq!(to_json(clear_context::<AfterAgentOutput>()), specific("clearContext", json!(true)));
        let both = BeforeToolOutput { system_message: Some("m".into()), ..deny("no") };
        assert_eq!(to_json(both), json!({"systemMessage": "m", "decision": "deny", "reason": "no"}));
    }
}
