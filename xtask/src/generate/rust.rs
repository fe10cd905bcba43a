//! Shapes → the types of the library for Rust: events, inputs, answers, and which answers an event has.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::shapes::{EventShapes, Field, Named, Object, Shapes, Type, Words, camel, snake};

/// The model request: it is large, and shared by all pieces of an answer.
const SHARED: &str = "LlmRequest";

/// `events.rs`.
pub(super) fn types(shapes: &Shapes, note: &str) -> String {
    let mut printer = Printer { text: String::new(), words: BTreeMap::new(), defaults: defaults(shapes) };
    for named in &shapes.named {
        match named {
            Named::Object(object) => printer.object(object, object.name.as_str()),
            Named::Words(words) => printer.words(words),
        }
    }
    for event in &shapes.events {
        printer.object(&event.input, event.info.name);
        printer.object(&event.output, event.info.name);
        printer.event(event);
    }
    for words in std::mem::take(&mut printer.words).into_values() {
        printer.words(&words);
    }
    let head = "use std::sync::Arc;\n\nuse serde::{Deserialize, Serialize};\nuse serde_json::{Map, Value};\n\nuse crate::{answer, event::Event};\n";
    format!("//! The events, what hooks receive and what they may answer.\n//!\n//! {note}\n\n{head}{}", printer.text)
}

struct Printer {
    text: String,
    /// Words that the schemas give no name.
    words: BTreeMap<String, Words>,
    /// The word that stands for a type where nothing else is said.
    defaults: BTreeMap<String, String>,
}

/// Of every type of words with a default, that.
fn defaults(shapes: &Shapes) -> BTreeMap<String, String> {
    let fields = shapes.events.iter().flat_map(|event| &event.input.fields);
    let of = |field: &Field| match (&field.of, &field.default) {
        (Type::Named(name), Some(Value::String(word))) => Some((name.clone(), word.clone())),
        _ => None,
    };
    fields.filter_map(of).collect()
}

impl Printer {
    fn object(&mut self, object: &Object, prefix: &str) {
        let derives = match (object.is_received, object.is_answered) {
            (true, false) => "Clone, Debug, Deserialize",
            (false, true) => "Clone, Debug, Default, PartialEq, Serialize",
            _ => "Clone, Debug, Default, PartialEq, Serialize, Deserialize",
        };
        // The agent may tell more one day; what is answered is made by hooks.
        let exhaustive = if object.is_answered { "" } else { "#[non_exhaustive]\n" };
        let default = if object.name == SHARED { ", Default, Serialize" } else { "" };
        self.doc(&object.doc, &object.name, "");
        _ = write!(self.text, "#[derive({derives}{default})]\n{exhaustive}pub struct {} {{\n", object.name);
        for field in &object.fields {
            // Which event an answer is to is known.
            if !(object.is_answered && matches!(field.of, Type::Const(_))) {
                self.field(object, field, prefix);
            }
        }
        self.text.push_str("}\n");
    }

    fn field(&mut self, object: &Object, field: &Field, prefix: &str) {
        let name = snake(&field.name);
        let ident = if name == "continue" { "r#continue".to_owned() } else { name.clone() };
        let plain = self.of(&field.of, &field.name, prefix, object.is_answered);
        let is_list = matches!(field.of, Type::List(_));
        let mut attributes = Vec::new();
        if name != field.name {
            attributes.push(format!("rename = {}", json!(field.name)));
        }
        let is_shared = matches!(&field.of, Type::Named(of) if of == SHARED) && !object.is_answered;
        let of = if is_shared {
            attributes.push("deserialize_with = \"crate::refs::shared\"".to_owned());
            format!("Arc<{plain}>")
        } else if object.always_has(field) {
            assert!(field.default.as_ref().is_none_or(|value| is_natural(value, &field.of)), "{}", field.name);
            if !field.is_required {
                attributes.push("default".to_owned());
            }
            plain
        } else if is_list || plain.starts_with("Option<") {
            let what = if is_list { "Vec::is_empty" } else { "Option::is_none" };
            if object.is_received {
                attributes.push("default".to_owned());
            }
            if object.is_answered {
                attributes.push(format!("skip_serializing_if = \"{what}\""));
            }
            plain
        } else {
            if object.is_received {
                attributes.push("default".to_owned());
            }
            if object.is_answered {
                attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
            }
            format!("Option<{plain}>")
        };
        self.doc(&field.doc, &field.name, "    ");
        if !attributes.is_empty() {
            _ = writeln!(self.text, "    #[serde({})]", attributes.join(", "));
        }
        _ = writeln!(self.text, "    pub {ident}: {of},");
    }

    fn words(&mut self, words: &Words) {
        let default = self.defaults.get(&words.name).cloned();
        let derives = if default.is_some() { ", Default" } else { "" };
        self.doc(&words.doc, &words.name, "");
        let exhaustive = if words.is_answered { "" } else { "#[non_exhaustive]\n" };
        _ = write!(
            self.text,
            "#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize{derives})]\n{exhaustive}pub enum {} {{\n",
            words.name
        );
        for (word, doc) in &words.words {
            self.doc(doc, word, "    ");
            if default.as_ref() == Some(word) {
                self.text.push_str("    #[default]\n");
            }
            let variant = camel(&if word.chars().all(char::is_uppercase) { word.to_lowercase() } else { word.clone() });
            _ = writeln!(self.text, "    #[serde(rename = {})]\n    {variant},", json!(word));
        }
        if !words.is_answered {
            self.text.push_str("    /// A word that this library does not know.\n    #[serde(other)]\n    Unknown,\n");
        }
        self.text.push_str("}\n");
    }

    fn of(&mut self, of_type: &Type, field: &str, prefix: &str, is_answered: bool) -> String {
        match of_type {
            Type::Text | Type::Const(_) => "String".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Integer(format) => format.replace("uint", "u").replace("int", "i"),
            Type::Anything => "Value".to_owned(),
            Type::AnyObject => "Map<String, Value>".to_owned(),
            Type::Named(name) => name.clone(),
            Type::List(inner) => format!("Vec<{}>", self.of(inner, field, prefix, is_answered)),
            Type::OrNull(inner) => format!("Option<{}>", self.of(inner, field, prefix, is_answered)),
            Type::OneOf(words) => {
                // What may be answered is one vocabulary, of which events have more or less.
                let own = camel(field);
                let name = if is_answered || own.starts_with(prefix) { own } else { format!("{prefix}{own}") };
                let doc = format!("The words that `{field}` may be.");
                let known = self.words.entry(name.clone()).or_insert_with(|| Words {
                    name: name.clone(),
                    doc,
                    words: Vec::new(),
                    is_answered,
                });
                for word in words {
                    if !known.words.iter().any(|(known, _)| known == word) {
                        known.words.push((word.clone(), format!("`{word}`.")));
                    }
                }
                name
            }
        }
    }

    /// The event itself, and the answers that it has.
    fn event(&mut self, event: &EventShapes) {
        let (kind, output) = (event.kind(), &event.output);
        _ = write!(
            self.text,
            "\n/// The event that fires {}.\n#[derive(Clone, Copy, Debug)]\npub struct {kind};\n\n\
             impl Event for {kind} {{\n    const NAME: &'static str = \"{kind}\";\n    type Input = {kind}Input;\n    type Output = {kind}Output;\n",
            event.info.fires
        );
        let shared = event.input.fields.iter().find(|field| matches!(&field.of, Type::Named(name) if name == SHARED));
        if let Some(field) = shared {
            _ = write!(
                self.text,
                "    fn lend(input: &mut {kind}Input, field: &str, request: &Arc<{SHARED}>) {{\n        if field == \"{0}\" {{\n            input.{0} = Arc::clone(request);\n        }}\n    }}\n",
                field.name
            );
        }
        self.text.push_str("}\n");
        let decisions = output.fields.iter().find_map(|field| match &field.of {
            Type::OneOf(words) if field.name == "decision" => Some(words.clone()),
            _ => None,
        });
        for (word, answer) in [("allow", "Allow"), ("deny", "Deny"), ("ask", "Ask")] {
            if decisions.as_ref().is_some_and(|words| words.iter().any(|known| known == word)) {
                self.answers(kind.name(), answer, &format!("decision: Some(Decision::{answer})"), answer != "Allow");
            }
        }
        let has = |name: &str| output.fields.iter().any(|field| field.name == name);
        if has("stopReason") {
            let set = "r#continue: Some(false), stop_reason: Some(reason)";
            self.implement(kind.name(), "Stop", "stop(reason: String)", set);
        }
        self.implement(kind.name(), "Message", "message(text: String)", "system_message: Some(text)");
        let specific = format!("{kind}HookSpecificOutput");
        for (field, answer, method) in SPECIFIC {
            if event.has_specific(field) {
                let (_, argument) = method.split_once('(').unwrap();
                let value = argument.split(':').next().unwrap_or_default();
                let value = if argument == ")" { "true" } else { value };
                let value = if field == "tailToolCallRequest" {
                    "AfterToolTailToolCallRequest { name, args: Some(args) }"
                } else {
                    value
                };
                let inner = format!("{specific} {{ {}: Some({value}), ..Default::default() }}", snake(field));
                self.implement(kind.name(), answer, method, &format!("hook_specific_output: Some({inner})"));
            }
        }
    }

    fn answers(&mut self, event: &str, answer: &str, set: &str, has_reason: bool) {
        let name = answer.to_lowercase();
        let (argument, reason) = if has_reason { ("reason: String", ", reason: Some(reason)") } else { ("", "") };
        self.implement(event, answer, &format!("{name}({argument})"), &format!("{set}{reason}"));
    }

    fn implement(&mut self, event: &str, answer: &str, method: &str, set: &str) {
        _ = write!(
            self.text,
            "\nimpl answer::{answer} for {event}Output {{\n    fn {method} -> Self {{\n        {event}Output {{ {set}, ..Default::default() }}\n    }}\n}}\n"
        );
    }

    fn doc(&mut self, doc: &str, name: &str, indent: &str) {
        let own = format!("`{name}`.");
        let doc = if doc.is_empty() { &own } else { doc };
        if indent.is_empty() {
            self.text.push('\n');
        }
        _ = writeln!(self.text, "{indent}/// {doc}");
    }
}

/// Fields of `hookSpecificOutput`, and the answers that they are for.
const SPECIFIC: [(&str, &str, &str); 7] = [
    ("additionalContext", "Context", "context(text: String)"),
    ("tool_input", "Rewrite", "rewrite(tool_input: Map<String, Value>)"),
    ("llm_request", "Request", "request(patch: LlmRequestPatch)"),
    ("llm_response", "Respond", "respond(response: LlmResponse)"),
    ("toolConfig", "Tools", "tools(config: ToolConfig)"),
    ("tailToolCallRequest", "TailCall", "tail_call(name: String, args: Map<String, Value>)"),
    ("clearContext", "ClearContext", "clear_context()"),
];

/// Whether a default is what the Rust type has for one.
fn is_natural(default: &Value, of_type: &Type) -> bool {
    match of_type {
        Type::Text => default == "",
        Type::Bool => default == false,
        Type::Anything => default.is_null(),
        Type::AnyObject => default == &json!({}),
        Type::List(_) => default == &json!([]),
        Type::Named(_) => default.is_string(),
        _ => false,
    }
}
