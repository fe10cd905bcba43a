//! Parses servers' lists leniently: an invalid entry is left out, and unknown fields are ignored. It sends no requests.

use serde_json::{Map, Value};

use super::names::fingerprint;
use super::schema_compat;

/// The length limit of a description; more does not help a model.
const MAX_DESCRIPTION_CHARS: usize = 8 << 10;

/// The largest nesting depth of a tool's schema.
const MAX_SCHEMA_DEPTH: usize = 96;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteTool {
    /// The tool's name at its server.
    pub name: String,
    /// The server's description of the tool.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// Identifies the definition that the user approved; a changed tool has another fingerprint.
    pub(super) fingerprint: u64,
}

/// A prompt that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePrompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// A resource that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteResource {
    pub uri: String,
    pub name: String,
    pub description: String,
}

/// Returns the valid tools of a list, and messages about the others.
pub(super) fn parse_tools(entries: &[Value]) -> (Vec<RemoteTool>, Vec<String>) {
    let (mut tools, mut problems) = (Vec::<RemoteTool>::new(), Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        match parse_tool(entry) {
            Ok(tool) if tools.iter().any(|known| known.name == tool.name) => {
                problems.push(format!("it has two tools named {}; only the first is used", printable_name(&tool.name)));
            }
            Ok(tool) => tools.push(tool),
            Err((None, why)) => problems.push(format!("tool {} of its list is left out: {why}", at + 1)),
            Err((Some(name), why)) => problems.push(format!("its tool {} is left out: {why}", printable_name(&name))),
        }
    }
    (tools, problems)
}

fn parse_tool(entry: &Value) -> Result<RemoteTool, (Option<String>, String)> {
    let name = text_field(entry, "name").filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| (None, "it has no name".to_owned()))?;
    if entry.get("inputSchema").is_some_and(|schema| is_deeper_than(schema, MAX_SCHEMA_DEPTH)) {
        return Err((Some(name), format!("its schema is nested more than {MAX_SCHEMA_DEPTH} levels deep")));
    }
    let parameters =
        schema_compat::normalize_parameters(entry.get("inputSchema")).map_err(|why| (Some(name.clone()), why))?;
    let description = read_description(entry);
    let print = fingerprint(format!("{name}\0{description}\0{parameters}").as_bytes());
    Ok(RemoteTool { name, description, parameters, fingerprint: print })
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| is_deeper_than(value, levels - 1);
    match value {
        Value::Array(values) => levels == 0 || values.iter().any(below),
        Value::Object(fields) => levels == 0 || fields.values().any(below),
        _ => false,
    }
}

pub(super) fn parse_prompts(entries: &[Value]) -> Vec<RemotePrompt> {
    let argument = |entry: &Value| {
        Some(PromptArgument {
            name: text_field(entry, "name")?,
            description: read_description(entry),
            required: entry.get("required") == Some(&Value::Bool(true)),
        })
    };
    let prompt = |entry: &Value| {
        let arguments = entry.get("arguments").and_then(Value::as_array).into_iter().flatten();
        Some(RemotePrompt {
            name: text_field(entry, "name").filter(|name| !name.trim().is_empty())?,
            description: read_description(entry),
            arguments: arguments.filter_map(argument).collect(),
        })
    };
    entries.iter().filter_map(prompt).collect()
}

pub(super) fn parse_resources(entries: &[Value]) -> Vec<RemoteResource> {
    let resource = |entry: &Value| {
        Some(RemoteResource {
            uri: text_field(entry, "uri")?,
            name: text_field(entry, "name").or_else(|| text_field(entry, "title")).unwrap_or_default(),
            description: read_description(entry),
        })
    };
    entries.iter().filter_map(resource).collect()
}

/// Returns the messages of a prompt as text; other content is represented by its type.
pub(super) fn prompt_text(answer: &Value) -> Option<String> {
    let messages = answer.get("messages")?.as_array()?;
    let content = |message: &Value| -> Vec<String> {
        match message.get("content") {
            Some(Value::Array(several)) => several.iter().map(block_text).collect(),
            Some(one) => vec![block_text(one)],
            None => Vec::new(),
        }
    };
    let texts: Vec<String> = messages.iter().flat_map(content).filter(|text| !text.is_empty()).collect();
    Some(texts.join("\n\n")).filter(|text| !text.trim().is_empty())
}

fn block_text(block: &Value) -> String {
    let kind = text_field(block, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => text_field(block, "text").unwrap_or_default(),
        "resource" => block.get("resource").and_then(|resource| text_field(resource, "text")).unwrap_or_default(),
        other => format!("[{other}]"),
    }
}

pub(super) fn text_field(entry: &Value, key: &str) -> Option<String> {
    entry.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Takes the list under a key out of an answer.
pub(super) fn take_entries(answer: &mut Value, key: &str) -> Option<Vec<Value>> {
    match answer.as_object_mut().and_then(|fields: &mut Map<String, Value>| fields.get_mut(key)) {
        Some(Value::Array(entries)) => Some(std::mem::take(entries)),
        _ => None,
    }
}

fn read_description(entry: &Value) -> String {
    let mut words = text_field(entry, "description").or_else(|| text_field(entry, "title")).unwrap_or_default();
    if let Some((at, _)) = words.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        words.truncate(at);
        words.push('…');
    }
    words
}

/// Returns a server's name or text as one short line.
pub(super) fn printable_name(name: &str) -> String {
    crate::tool::one_line(name, 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_invalid_entry_is_left_out() {
        let list = [
            json!({ "name": "good", "description": "d", "inputSchema": { "type": "object" } }),
            json!({ "name": 3 }),
            json!("x"),
            json!({ "name": "bad", "inputSchema": "no" }),
            json!({ "name": "plain" }),
            json!({ "name": "good", "description": "another" }),
        ];
        let (tools, problems) = parse_tools(&list);
        assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good", "plain"]);
        assert_eq!(
            problems,
            [
                "tool 2 of its list is left out: it has no name",
                "tool 3 of its list is left out: it has no name",
                "its tool bad is left out: its schema is not an object",
                "it has two tools named good; only the first is used",
            ]
        );
    }

    #[test]
    fn a_changed_tool_has_another_fingerprint() {
        let print =
            |description: &str| parse_tools(&[json!({ "name": "t", "description": description })]).0[0].fingerprint;
        assert_eq!(print("a"), print("a"));
        assert_ne!(print("a"), print("b"));
    }

    #[test]
    fn malformed_prompts_and_resources_are_tolerated() {
        let list =
            parse_prompts(&[json!({ "name": "p", "arguments": [{ "name": "a", "required": true }, 3] }), json!({})]);
        assert_eq!(list.len(), 1);
        assert!(list[0].arguments[0].required);
        assert_eq!(parse_resources(&[json!({ "uri": "x:y" }), json!({ "uri": 3 }), json!(null)]).len(), 1);
        let answer = json!({ "messages": [
            { "role": "user", "content": { "type": "text", "text": "one" } },
            { "role": "user", "content": { "type": "image", "data": "x" } },
        ] });
        assert_eq!(prompt_text(&answer).unwrap(), "one\n\n[image]");
        assert_eq!(prompt_text(&json!({ "messages": [] })), None);
        assert_eq!(prompt_text(&json!([])), None);
    }
}
