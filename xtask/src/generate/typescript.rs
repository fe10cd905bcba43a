//! Shapes → the types of the library for node, and the table of events in its code.

use std::fmt::Write;

use serde_json::{Value, json};

use super::shapes::{Named, Object, Shapes, Type};

/// `types.d.ts`.
pub(super) fn types(shapes: &Shapes, note: &str) -> String {
    let mut text = format!("// {note}\n// What hooks receive and may answer.\n");
    for named in &shapes.named {
        match named {
            Named::Object(object) => print_object(&mut text, object),
            Named::Words(words) => {
                let all = words.words.iter().map(|(word, _)| word.clone()).collect();
                let meanings = words.words.iter().map(|(word, meaning)| format!("`{word}`: {meaning}"));
                let doc = [words.doc.clone()].into_iter().chain(meanings).collect::<Vec<_>>().join(" ");
                _ = write!(text, "\n{}export type {} = {};\n", doc_of(&doc, ""), words.name, of(&Type::OneOf(all)));
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

/// The table of events: other agents' names for each, and what its input has where nothing else is said.
pub(super) fn table(shapes: &Shapes) -> String {
    let mut text = "const EVENTS = {\n".to_owned();
    for event in &shapes.events {
        let (also, defaults) = (json!(event.info.foreign_names), Value::Object(event.defaults()));
        _ = writeln!(text, "  {}: {{ also: {also}, defaults: {defaults} }},", event.kind());
    }
    text + "};\n"
}

fn print_object(text: &mut String, object: &Object) {
    _ = write!(text, "\n{}export interface {} {{\n", doc_of(&object.doc, ""), object.name);
    for field in &object.fields {
        let mark = if object.always_has(field) { "" } else { "?" };
        _ = writeln!(text, "{}  {}{mark}: {};", doc_of(&field.doc, "  "), field.name, of(&field.of));
    }
    text.push_str("}\n");
}

fn doc_of(doc: &str, indent: &str) -> String {
    if doc.is_empty() { String::new() } else { format!("{indent}/** {} */\n", doc.replace("*/", "* /")) }
}

fn of(of_type: &Type) -> String {
    match of_type {
        Type::Text => "string".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::Integer(_) => "number".to_owned(),
        Type::Anything => "unknown".to_owned(),
        Type::AnyObject => "Record<string, any>".to_owned(),
        Type::Const(word) => json!(word).to_string(),
        Type::OneOf(words) => words.iter().map(|word| json!(word).to_string()).collect::<Vec<_>>().join(" | "),
        Type::Named(name) => name.clone(),
        Type::List(inner) => match **inner {
            Type::OneOf(_) | Type::OrNull(_) => format!("({})[]", of(inner)),
            _ => format!("{}[]", of(inner)),
        },
        Type::OrNull(inner) => format!("{} | null", of(inner)),
    }
}
