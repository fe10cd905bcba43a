//! Prints the types of the Rust SDK: events, inputs, answers, and which answers an event accepts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::sdk_types::{
    EventTypes, NamedType, ObjectField, ObjectType, SchemaType, SdkTypes, StringEnum, to_pascal_case, to_snake_case,
};

/// The type of the model request, which is large and shared by all chunks of an answer.
const SHARED_REQUEST_TYPE: &str = "LlmRequest";

/// Prints the text of `events.rs`.
pub(super) fn print_types(shapes: &SdkTypes, note: &str) -> String {
    let mut printer = RustTypePrinter {
        text: String::new(),
        string_enums: BTreeMap::new(),
        enum_defaults: collect_enum_defaults(shapes),
    };
    for named in &shapes.named_types {
        match named {
            NamedType::Object(object) => printer.print_object(object, object.name.as_str()),
            NamedType::StringEnum(words) => printer.print_string_enum(words),
        }
    }
    for event in &shapes.events {
        printer.print_object(&event.input, event.info.name);
        printer.print_object(&event.output, event.info.name);
        printer.print_event(event);
    }
    for words in std::mem::take(&mut printer.string_enums).into_values() {
        printer.print_string_enum(&words);
    }
    let head = "use std::sync::Arc;\n\nuse serde::{Deserialize, Serialize};\nuse serde_json::{Map, Value};\n\nuse crate::{answer, event::Event};\n";
    format!("//! The events, what hooks receive and what they may answer.\n//!\n//! {note}\n\n{head}{}", printer.text)
}

struct RustTypePrinter {
    text: String,
    /// The enums that have no name in the schemas.
    string_enums: BTreeMap<String, StringEnum>,
    /// The default value of each enum that has one.
    enum_defaults: BTreeMap<String, String>,
}

/// Collects the default value of each enum that has one.
fn collect_enum_defaults(shapes: &SdkTypes) -> BTreeMap<String, String> {
    let fields = shapes.events.iter().flat_map(|event| &event.input.fields);
    let of = |field: &ObjectField| match (&field.field_type, &field.default) {
        (SchemaType::Named(name), Some(Value::String(word))) => Some((name.clone(), word.clone())),
        _ => None,
    };
    fields.filter_map(of).collect()
}

impl RustTypePrinter {
    fn print_object(&mut self, object: &ObjectType, prefix: &str) {
        let derives = match (object.is_received, object.is_answered) {
            (true, false) => "Clone, Debug, Deserialize",
            (false, true) => "Clone, Debug, Default, PartialEq, Serialize",
            _ => "Clone, Debug, Default, PartialEq, Serialize, Deserialize",
        };
        // The agent may send more fields one day; answers are made by hooks.
        let exhaustive = if object.is_answered { "" } else { "#[non_exhaustive]\n" };
        let default = if object.name == SHARED_REQUEST_TYPE { ", Default, Serialize" } else { "" };
        self.print_doc(&object.doc, &object.name, "");
        _ = write!(self.text, "#[derive({derives}{default})]\n{exhaustive}pub struct {} {{\n", object.name);
        for field in &object.fields {
            // The event of an answer is known.
            if !(object.is_answered && matches!(field.field_type, SchemaType::Const(_))) {
                self.print_field(object, field, prefix);
            }
        }
        self.text.push_str("}\n");
    }

    fn print_field(&mut self, object: &ObjectType, field: &ObjectField, prefix: &str) {
        let name = to_snake_case(&field.name);
        let ident = if name == "continue" { "r#continue".to_owned() } else { name.clone() };
        let plain = self.type_expression(&field.field_type, &field.name, prefix, object.is_answered);
        let is_list = matches!(field.field_type, SchemaType::List(_));
        let mut attributes = Vec::new();
        if name != field.name {
            attributes.push(format!("rename = {}", json!(field.name)));
        }
        let is_shared =
            matches!(&field.field_type, SchemaType::Named(of) if of == SHARED_REQUEST_TYPE) && !object.is_answered;
        let of = if is_shared {
            attributes.push("deserialize_with = \"crate::refs::shared\"".to_owned());
            format!("Arc<{plain}>")
        } else if object.always_has(field) {
            assert!(
                field.default.as_ref().is_none_or(|value| is_type_default(value, &field.field_type)),
                "{}",
                field.name
            );
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
        self.print_doc(&field.doc, &field.name, "    ");
        if !attributes.is_empty() {
            _ = writeln!(self.text, "    #[serde({})]", attributes.join(", "));
        }
        _ = writeln!(self.text, "    pub {ident}: {of},");
    }

    fn print_string_enum(&mut self, words: &StringEnum) {
        let default = self.enum_defaults.get(&words.name).cloned();
        let derives = if default.is_some() { ", Default" } else { "" };
        self.print_doc(&words.doc, &words.name, "");
        let exhaustive = if words.is_answered { "" } else { "#[non_exhaustive]\n" };
        _ = write!(
            self.text,
            "#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize{derives})]\n{exhaustive}pub enum {} {{\n",
            words.name
        );
        for (word, doc) in &words.values {
            self.print_doc(doc, word, "    ");
            if default.as_ref() == Some(word) {
                self.text.push_str("    #[default]\n");
            }
            let variant =
                to_pascal_case(&if word.chars().all(char::is_uppercase) { word.to_lowercase() } else { word.clone() });
            _ = writeln!(self.text, "    #[serde(rename = {})]\n    {variant},", json!(word));
        }
        if !words.is_answered {
            self.text.push_str("    /// A word that this library does not know.\n    #[serde(other)]\n    Unknown,\n");
        }
        self.text.push_str("}\n");
    }

    fn type_expression(&mut self, of_type: &SchemaType, field: &str, prefix: &str, is_answered: bool) -> String {
        match of_type {
            SchemaType::Text | SchemaType::Const(_) => "String".to_owned(),
            SchemaType::Bool => "bool".to_owned(),
            SchemaType::Integer(format) => format.replace("uint", "u").replace("int", "i"),
            SchemaType::Any => "Value".to_owned(),
            SchemaType::AnyObject => "Map<String, Value>".to_owned(),
            SchemaType::Named(name) => name.clone(),
            SchemaType::List(inner) => format!("Vec<{}>", self.type_expression(inner, field, prefix, is_answered)),
            SchemaType::Nullable(inner) => {
                format!("Option<{}>", self.type_expression(inner, field, prefix, is_answered))
            }
            SchemaType::AnonymousEnum(words) => {
                // All events share one set of answer values, of which each accepts some.
                let own = to_pascal_case(field);
                let name = if is_answered || own.starts_with(prefix) { own } else { format!("{prefix}{own}") };
                let doc = format!("The words that `{field}` may be.");
                let known = self.string_enums.entry(name.clone()).or_insert_with(|| StringEnum {
                    name: name.clone(),
                    doc,
                    values: Vec::new(),
                    is_answered,
                });
                for word in words {
                    if !known.values.iter().any(|(known, _)| known == word) {
                        known.values.push((word.clone(), format!("`{word}`.")));
                    }
                }
                name
            }
        }
    }

    /// Prints an event, and the answers that it accepts.
    fn print_event(&mut self, event: &EventTypes) {
        let (kind, output) = (event.kind(), &event.output);
        _ = write!(
            self.text,
            "\n/// The event that fires {}.\n#[derive(Clone, Copy, Debug)]\npub struct {kind};\n\n\
             impl Event for {kind} {{\n    const NAME: &'static str = \"{kind}\";\n    type Input = {kind}Input;\n    type Output = {kind}Output;\n",
            event.info.fires_when
        );
        let shared = event
            .input
            .fields
            .iter()
            .find(|field| matches!(&field.field_type, SchemaType::Named(name) if name == SHARED_REQUEST_TYPE));
        if let Some(field) = shared {
            _ = write!(
                self.text,
                "    fn lend(input: &mut {kind}Input, field: &str, request: &Arc<{SHARED_REQUEST_TYPE}>) {{\n        if field == \"{0}\" {{\n            input.{0} = Arc::clone(request);\n        }}\n    }}\n",
                field.name
            );
        }
        self.text.push_str("}\n");
        let decisions = output.fields.iter().find_map(|field| match &field.field_type {
            SchemaType::AnonymousEnum(words) if field.name == "decision" => Some(words.clone()),
            _ => None,
        });
        for (word, answer) in [("allow", "Allow"), ("deny", "Deny"), ("ask", "Ask")] {
            if decisions.as_ref().is_some_and(|words| words.iter().any(|known| known == word)) {
                self.print_decision_impl(
                    kind.name(),
                    answer,
                    &format!("decision: Some(Decision::{answer})"),
                    answer != "Allow",
                );
            }
        }
        let has = |name: &str| output.fields.iter().any(|field| field.name == name);
        if has("stopReason") {
            let set = "r#continue: Some(false), stop_reason: Some(reason)";
            self.print_answer_impl(kind.name(), "Stop", "stop(reason: String)", set);
        }
        self.print_answer_impl(kind.name(), "Message", "message(text: String)", "system_message: Some(text)");
        let specific = format!("{kind}HookSpecificOutput");
        for (field, answer, method) in SPECIFIC_OUTPUT_FIELDS {
            if event.has_specific_field(field) {
                let (_, argument) = method.split_once('(').unwrap();
                let value = argument.split(':').next().unwrap_or_default();
                let value = if argument == ")" { "true" } else { value };
                let value = if field == "tailToolCallRequest" {
                    "AfterToolTailToolCallRequest { name, args: Some(args) }"
                } else {
                    value
                };
                let inner = format!("{specific} {{ {}: Some({value}), ..Default::default() }}", to_snake_case(field));
                self.print_answer_impl(kind.name(), answer, method, &format!("hook_specific_output: Some({inner})"));
            }
        }
    }

    fn print_decision_impl(&mut self, event: &str, answer: &str, set: &str, has_reason: bool) {
        let name = answer.to_lowercase();
        let (argument, reason) = if has_reason { ("reason: String", ", reason: Some(reason)") } else { ("", "") };
        self.print_answer_impl(event, answer, &format!("{name}({argument})"), &format!("{set}{reason}"));
    }

    fn print_answer_impl(&mut self, event: &str, answer: &str, method: &str, set: &str) {
        _ = write!(
            self.text,
            "\nimpl answer::{answer} for {event}Output {{\n    fn {method} -> Self {{\n        {event}Output {{ {set}, ..Default::default() }}\n    }}\n}}\n"
        );
    }

    fn print_doc(&mut self, doc: &str, name: &str, indent: &str) {
        let own = format!("The `{name}` of the wire format.");
        let doc = if doc.is_empty() { &own } else { doc };
        if indent.is_empty() {
            self.text.push('\n');
        }
        _ = writeln!(self.text, "{indent}/// {doc}");
    }
}

/// The fields of `hookSpecificOutput`, with the trait and the constructor of the answer that sets each.
const SPECIFIC_OUTPUT_FIELDS: [(&str, &str, &str); 7] = [
    ("additionalContext", "Context", "context(text: String)"),
    ("tool_input", "Rewrite", "rewrite(tool_input: Map<String, Value>)"),
    ("llm_request", "Request", "request(patch: LlmRequestPatch)"),
    ("llm_response", "Respond", "respond(response: LlmResponse)"),
    ("toolConfig", "Tools", "tools(config: ToolConfig)"),
    ("tailToolCallRequest", "TailCall", "tail_call(name: String, args: Map<String, Value>)"),
    ("clearContext", "ClearContext", "clear_context()"),
];

/// Returns whether a default is also the default of the Rust type.
fn is_type_default(default: &Value, of_type: &SchemaType) -> bool {
    match of_type {
        SchemaType::Text => default == "",
        SchemaType::Bool => default == false,
        SchemaType::Any => default.is_null(),
        SchemaType::AnyObject => default == &json!({}),
        SchemaType::List(_) => default == &json!([]),
        SchemaType::Named(_) => default.is_string(),
        _ => false,
    }
}
