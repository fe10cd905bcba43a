//! Prints the types of the Python SDK, and its event table.

use std::fmt::Write;

use serde_json::{Value, json};

use super::sdk_types::{NamedType, ObjectField, ObjectType, SchemaType, SdkTypes};

const TYPES_HEAD: &str = "
from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Literal, Optional, Protocol, TypedDict, TypeVar, Union, overload

from ._answers import Answer
";

/// Prints `_events.py`, which holds all that is needed at run time, because importing the types takes time.
pub(super) fn print_event_table(shapes: &SdkTypes, note: &str) -> String {
    let mut text = format!(
        "# {note}\n\"\"\"The events: what other agents call each, and what its input has where nothing else is said.\"\"\"\n"
    );
    text.push_str("\nfrom __future__ import annotations\n\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    from typing import Any, Dict, Mapping, Tuple\n");
    text.push_str("\nALSO: Mapping[str, Tuple[str, ...]] = {\n");
    for event in &shapes.events {
        let also: String = event.info.foreign_names.iter().map(|name| format!("{}, ", json!(name))).collect();
        _ = writeln!(text, "    \"{}\": ({}),", event.kind(), also.trim_end());
    }
    text.push_str("}\n\nDEFAULTS: Mapping[str, Dict[str, Any]] = {\n");
    for event in &shapes.events {
        _ = writeln!(text, "    \"{}\": {},", event.kind(), literal(&Value::Object(event.defaults())));
    }
    text + "}\n\n#: The names of all events.\nEVENTS = tuple(ALSO)\n"
}

/// Prints the text of `_types.py`.
pub(super) fn print_types(shapes: &SdkTypes, note: &str) -> String {
    let mut text = format!("# {note}\n\"\"\"What hooks receive and may answer.\"\"\"\n{TYPES_HEAD}");
    for named in &shapes.named_types {
        match named {
            NamedType::Object(object) => print_object(&mut text, object),
            NamedType::StringEnum(words) => {
                let all = words.values.iter().map(|(word, _)| word.clone()).collect();
                _ = write!(
                    text,
                    "\n\n# {}\n{} = {}\n",
                    words.doc,
                    words.name,
                    type_expression(&SchemaType::AnonymousEnum(all))
                );
                for (word, meaning) in &words.values {
                    _ = writeln!(text, "#   {word}: {meaning}");
                }
            }
        }
    }
    for event in &shapes.events {
        print_object(&mut text, &event.input);
        print_object(&mut text, &event.output);
    }
    print_handlers(&mut text, shapes);
    text
}

fn print_object(text: &mut String, object: &ObjectType) {
    let is_keyword = |field: &ObjectField| matches!(field.name.as_str(), "continue" | "from");
    if object.fields.iter().any(is_keyword) {
        // A Python class cannot have a field of that name.
        let total = object.fields.iter().all(|field| object.always_has(field));
        assert!(total || !object.fields.iter().any(|field| object.always_has(field)), "{}", object.name);
        _ = write!(text, "\n\n# {0}\n{0} = TypedDict(\n    \"{0}\",\n    {{\n", object.name);
        for field in &object.fields {
            _ = writeln!(
                text,
                "{}        {}: {},",
                doc_comment(&field.doc, 8),
                json!(field.name),
                type_expression(&field.field_type)
            );
        }
        text.push_str(if total { "    },\n)\n" } else { "    },\n    total=False,\n)\n" });
        return;
    }
    let (always, maybe): (Vec<_>, Vec<_>) = object.fields.iter().partition(|field| object.always_has(field));
    let parent = if always.is_empty() {
        "TypedDict".to_owned()
    } else if maybe.is_empty() {
        print_class(text, object, &object.name, "TypedDict", &always);
        return;
    } else {
        let parent = format!("_{}Always", object.name);
        print_class(text, object, &parent, "TypedDict", &always);
        parent
    };
    print_class(text, object, &object.name, &format!("{parent}, total=False"), &maybe);
}

fn print_class(text: &mut String, object: &ObjectType, name: &str, parents: &str, fields: &[&ObjectField]) {
    _ = write!(text, "\n\nclass {name}({parents}):\n");
    if !object.doc.is_empty() {
        _ = write!(text, "    \"\"\"{}\"\"\"\n\n", object.doc);
    }
    for field in fields {
        _ = writeln!(text, "{}    {}: {}", doc_comment(&field.doc, 4), field.name, type_expression(&field.field_type));
    }
}

/// Prints the types of handlers by event, and of the function that registers them.
fn print_handlers(text: &mut String, shapes: &SdkTypes) {
    text.push('\n');
    for event in &shapes.events {
        let kind = event.kind();
        _ = write!(
            text,
            "\n{kind}Answer = Union[{kind}Output, Answer, None]\n\
             {kind}Handler = Callable[[{kind}Input], Union[{kind}Answer, Awaitable[{kind}Answer]]]\n\
             _{kind} = TypeVar(\"_{kind}\", bound={kind}Handler)\n"
        );
    }
    text.push_str("\n\nclass On(Protocol):\n    \"\"\"Registers handlers.\"\"\"\n");
    for event in &shapes.events {
        let kind = event.kind();
        _ = write!(
            text,
            "\n    @overload\n    def __call__(self, event: Literal[\"{kind}\"]) -> Callable[[_{kind}], _{kind}]: ...\n"
        );
    }
}

fn doc_comment(doc: &str, indent: usize) -> String {
    if doc.is_empty() { String::new() } else { format!("{:indent$}# {doc}\n", "") }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), literal(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn type_expression(of_type: &SchemaType) -> String {
    match of_type {
        SchemaType::Text => "str".to_owned(),
        SchemaType::Bool => "bool".to_owned(),
        SchemaType::Integer(_) => "int".to_owned(),
        SchemaType::Any => "Any".to_owned(),
        SchemaType::AnyObject => "Dict[str, Any]".to_owned(),
        SchemaType::Const(word) => format!("Literal[{}]", json!(word)),
        SchemaType::AnonymousEnum(words) => {
            let words: Vec<String> = words.iter().map(|word| json!(word).to_string()).collect();
            format!("Literal[{}]", words.join(", "))
        }
        SchemaType::Named(name) => name.clone(),
        SchemaType::List(inner) => format!("List[{}]", type_expression(inner)),
        SchemaType::Nullable(inner) => format!("Optional[{}]", type_expression(inner)),
    }
}
