//! A small MCP server on stdin and stdout, for the demo and for tests, with two tools, a prompt and a resource.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::output;

/// The longest message that the server reads in one piece.
const MAX_DEMO_MESSAGE_BYTES: usize = 1 << 20;

/// Answers requests until stdin ends.
pub(crate) fn run() -> anyhow::Result<u8> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut input, MAX_DEMO_MESSAGE_BYTES as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(crate::exit::OK);
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        if let Some(answer) = respond(&message) {
            let mut out = output::stdout();
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        if output::is_stdout_closed() {
            return Ok(crate::exit::BROKEN_PIPE);
        }
    }
}

/// Returns the response to a message, or none for a notification.
fn respond(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message.get("method")?.as_str()? {
        "initialize" => Ok(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            "serverInfo": { "name": "hookwright-demo", "version": env!("CARGO_PKG_VERSION") },
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(tool_list()),
        "tools/call" => call_tool(params),
        "prompts/list" => Ok(json!({ "prompts": [{
            "name": "greet",
            "description": "greets somebody",
            "arguments": [{ "name": "name", "description": "whom", "required": true }],
        }] })),
        "prompts/get" if params["name"] == "greet" => {
            let whom = params["arguments"]["name"].as_str().unwrap_or("you");
            Ok(
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": format!("Greet {whom}.") } }] }),
            )
        }
        "resources/list" => {
            Ok(json!({ "resources": [{ "uri": "demo://note", "name": "a note", "mimeType": "text/plain" }] }))
        }
        "resources/read" if params["uri"] == "demo://note" => Ok(
            json!({ "contents": [{ "uri": "demo://note", "mimeType": "text/plain", "text": "hooks see everything" }] }),
        ),
        _ => Err((-32601, "there is no such method here")),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, words)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } }),
    })
}

fn tool_list() -> Value {
    let number = json!({ "type": "number" });
    json!({ "tools": [
        {
            "name": "echo",
            "description": "says what it is told",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
        },
        {
            "name": "add",
            "description": "adds two numbers",
            "inputSchema": { "type": "object", "properties": { "a": number, "b": number }, "required": ["a", "b"] },
        },
    ] })
}

fn call_tool(params: &Value) -> Result<Value, (i32, &'static str)> {
    let args = &params["arguments"];
    let text = match params["name"].as_str() {
        Some("echo") => args["text"].as_str().unwrap_or_default().to_owned(),
        Some("add") => match (args["a"].as_f64(), args["b"].as_f64()) {
            (Some(a), Some(b)) => (a + b).to_string(),
            _ => {
                return Ok(json!({ "isError": true, "content": [{ "type": "text", "text": "these are no numbers" }] }));
            }
        },
        _ => return Err((-32602, "there is no such tool here")),
    };
    Ok(json!({ "content": [{ "type": "text", "text": text }] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: Value) -> Value {
        respond(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).unwrap()
    }

    #[test]
    fn requests_are_answered_and_notifications_are_not() {
        assert_eq!(
            ask("tools/call", json!({ "name": "add", "arguments": { "a": 2, "b": 3 } }))["result"]["content"][0]["text"],
            "5"
        );
        assert_eq!(ask("tools/call", json!({ "name": "add" }))["result"]["isError"], true);
        assert_eq!(ask("nothing/such", json!({}))["error"]["code"], -32601);
        assert_eq!(respond(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })), None);
        assert_eq!(respond(&json!("x")), None);
    }
}
