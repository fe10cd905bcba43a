//! Prints the types of the Node SDK, and the event table in its code.

use std::fmt::Write;

use serde_json::{Value, json};

use super::sdk_types::{NamedType, ObjectType, SchemaType, SdkTypes};

/// Prints the text of `types.d.ts`.
pub(super) fn print_types(shapes: &SdkTypes, note: &str) -> String {
    let mut text = format!("// {note}\n// What hooks receive and may answer.\n");
    for named in &shapes.named_types {
        match named {
            NamedType::Object(object) => print_object(&mut text, object),
            NamedType::StringEnum(words) => {
                let all = words.values.iter().map(|(word, _)| word.clone()).collect();
                let meanings = words.values.iter().map(|(word, meaning)| format!("`{word}`: {meaning}"));
                let doc = [words.doc.clone()].into_iter().chain(meanings).collect::<Vec<_>>().join(" ");
                _ = write!(
                    text,
                    "\n{}export type {} = {};\n",
                    doc_comment(&doc, ""),
                    words.name,
                    type_expression(&SchemaType::AnonymousEnum(all))
                );
            }
        }
    }
    for event in &shapes.events {
        print_object(&mut text, &event.input);
        print_object(&mut text, &event.output);
    }
    for (name, end, doc) in [
        ("Inputs", "Input", "What handlers receive, by event."),
        ("Answers", "Output", "What handlers may answer, by event."),
    ] {
        let rows = shapes.events.iter().map(|event| format!("  {0}: {0}{end};\n", event.kind()));
        _ = write!(text, "\n/** {doc} */\nexport interface {name} {{\n{}}}\n", rows.collect::<String>());
    }
    text.push_str("\n/** An event's name. */\nexport type EventName = keyof Inputs;\n");
    text
}

/// Prints the event table: other agents' names for each event, and the defaults of its input.
pub(super) fn print_event_table(shapes: &SdkTypes) -> String {
    let mut text = "const EVENTS = {\n".to_owned();
    for event in &shapes.events {
        let (also, defaults) = (json!(event.info.foreign_names), Value::Object(event.defaults()));
        _ = writeln!(text, "  {}: {{ also: {also}, defaults: {defaults} }},", event.kind());
    }
    text + "};\n"
}

fn print_object(text: &mut String, object: &ObjectType) {
    _ = write!(text, "\n{}export interface {} {{\n", doc_comment(&object.doc, ""), object.name);
    for field in &object.fields {
        let mark = if object.always_has(field) { "" } else { "?" };
        _ = writeln!(
            text,
            "{}  {}{mark}: {};",
            doc_comment(&field.doc, "  "),
            field.name,
            type_expression(&field.field_type)
        );
    }
    text.push_str("}\n");
}

fn doc_comment(doc: &str, indent: &str) -> String {
    if doc.is_empty() { String::new() } else { format!("{indent}/** {} */\n", doc.replace("*/", "* /")) }
}

fn type_expression(of_type: &SchemaType) -> String {
    match of_type {
        SchemaType::Text => "string".to_owned(),
        SchemaType::Bool => "boolean".to_owned(),
        SchemaType::Integer(_) => "number".to_owned(),
        SchemaType::Any => "unknown".to_owned(),
        SchemaType::AnyObject => "Record<string, any>".to_owned(),
        SchemaType::Const(word) => json!(word).to_string(),
        SchemaType::AnonymousEnum(words) => {
            words.iter().map(|word| json!(word).to_string()).collect::<Vec<_>>().join(" | ")
        }
        SchemaType::Named(name) => name.clone(),
        SchemaType::List(inner) => match **inner {
            SchemaType::AnonymousEnum(_) | SchemaType::Nullable(_) => format!("({})[]", type_expression(inner)),
            _ => format!("{}[]", type_expression(inner)),
        },
        SchemaType::Nullable(inner) => format!("{} | null", type_expression(inner)),
    }
}
