//! The schemas of what hooks receive and may answer, as shapes that the printers of the libraries' types can walk through.

use std::collections::BTreeMap;

use hookwright_hooks::{EVENTS, EventInfo, EventKind, schema};
use serde_json::{Map, Value};

/// Everything that the libraries have types of.
pub(super) struct Shapes {
    /// In an order in which each is made of those before it.
    pub named: Vec<Named>,
    /// In the order of the table.
    pub events: Vec<EventShapes>,
}

/// One event.
pub(super) struct EventShapes {
    pub info: &'static EventInfo,
    pub input: Object,
    pub output: Object,
    /// The fields of the answer's own part.
    pub specific: Vec<String>,
}

/// A type of its own.
pub(super) enum Named {
    Object(Object),
    Words(Words),
}

/// An object with known fields.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Object {
    pub name: String,
    pub doc: String,
    pub fields: Vec<Field>,
    /// Whether hooks receive it, answer it, or both.
    pub is_received: bool,
    pub is_answered: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Field {
    pub name: String,
    pub doc: String,
    pub of: Type,
    pub is_required: bool,
    pub default: Option<Value>,
}

/// A closed set of words.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Words {
    pub name: String,
    pub doc: String,
    /// Each with what it means.
    pub words: Vec<(String, String)>,
    pub is_answered: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Type {
    Text,
    Bool,
    /// With the schema's format.
    Integer(String),
    Anything,
    AnyObject,
    Const(String),
    /// Words that have no name in the schema.
    OneOf(Vec<String>),
    Named(String),
    List(Box<Type>),
    OrNull(Box<Type>),
}

impl Field {
    /// Whether it is there in everything that hooks receive: the libraries fill in what has a default.
    pub(super) fn is_always_received(&self) -> bool {
        self.is_required || self.default.is_some()
    }
}

impl Object {
    /// Whether a value of this type has the field for sure.
    pub(super) fn always_has(&self, field: &Field) -> bool {
        if self.is_answered { field.is_required } else { field.is_always_received() }
    }
}

impl EventShapes {
    pub(super) fn kind(&self) -> EventKind {
        self.info.kind
    }

    /// Whether its answer's own part has a field.
    pub(super) fn has_specific(&self, field: &str) -> bool {
        self.specific.iter().any(|name| name == field)
    }

    /// What the input has where the agent leaves it out.
    pub(super) fn defaults(&self) -> Map<String, Value> {
        let defaults = self.input.fields.iter().filter_map(|field| Some((field.name.clone(), field.default.clone()?)));
        defaults.collect()
    }
}

/// Reads all schemas.
pub(super) fn shapes() -> Shapes {
    let mut reader = Reader::default();
    let events = EVENTS.iter().map(|info| reader.event(info)).collect();
    let named = reader.order.iter().map(|name| reader.named.remove(name).unwrap()).collect();
    Shapes { named, events }
}

#[derive(Default)]
struct Reader {
    named: BTreeMap<String, Named>,
    order: Vec<String>,
}

/// Where in a schema a reader is.
#[derive(Clone, Copy)]
struct Place<'a> {
    document: &'a Value,
    is_answer: bool,
    /// How an object without a name is called.
    prefix: &'a str,
}

impl Reader {
    fn event(&mut self, info: &'static EventInfo) -> EventShapes {
        let (input, output) = (schema::hook_input(info.kind), schema::hook_output(info.kind));
        let input_place = Place { document: &input, is_answer: false, prefix: info.name };
        let output_place = Place { document: &output, is_answer: true, prefix: info.name };
        let mut output_shape = self.object(&format!("{}Output", info.name), &output, output_place);
        output_shape.doc = format!("What a hook may answer to {}.", info.name);
        let own = &output["properties"]["hookSpecificOutput"]["properties"];
        EventShapes {
            info,
            specific: own.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect(),
            input: self.object(&format!("{}Input", info.name), &input, input_place),
            output: output_shape,
        }
    }

    fn object(&mut self, name: &str, schema: &Value, place: Place<'_>) -> Object {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().unwrap();
        let fields = properties.iter().map(|(field, schema)| Field {
            name: field.clone(),
            doc: doc(schema),
            of: self.of(field, schema, place),
            is_required: required.iter().any(|name| name == field),
            default: schema.get("default").cloned(),
        });
        Object {
            name: name.to_owned(),
            doc: doc(schema),
            fields: fields.collect(),
            is_received: !place.is_answer,
            is_answered: place.is_answer,
        }
    }

    fn of(&mut self, field: &str, schema: &Value, place: Place<'_>) -> Type {
        if let Some(path) = schema["$ref"].as_str() {
            let name = path.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("{path}"));
            let definition = &place.document["$defs"][name];
            assert!(definition.is_object(), "{} has no definition of {name}", place.document["title"]);
            return self.define(name, definition, place);
        }
        if let Some([first, null]) = schema["anyOf"].as_array().map(Vec::as_slice) {
            assert_eq!(null["type"], "null", "{schema}");
            return Type::OrNull(Box::new(self.of(field, first, place)));
        }
        if let Some(word) = schema["const"].as_str() {
            return Type::Const(word.to_owned());
        }
        if let Some(words) = schema["enum"].as_array() {
            return Type::OneOf(words.iter().map(|word| word.as_str().unwrap().to_owned()).collect());
        }
        match &schema["type"] {
            Value::Array(types) => {
                assert!(types.len() == 2 && types[1] == "null", "{schema}");
                let mut plain = schema.clone();
                plain["type"] = types[0].clone();
                Type::OrNull(Box::new(self.of(field, &plain, place)))
            }
            Value::String(plain) => self.plain(plain, field, schema, place),
            Value::Null => Type::Anything,
            other => panic!("{other}"),
        }
    }

    fn plain(&mut self, plain: &str, field: &str, schema: &Value, place: Place<'_>) -> Type {
        match plain {
            "string" => Type::Text,
            "boolean" => Type::Bool,
            "integer" => Type::Integer(schema["format"].as_str().unwrap().to_owned()),
            "array" => Type::List(Box::new(self.of(field, &schema["items"], place))),
            "object" if schema["properties"].is_object() => {
                let own = format!("{}{}", place.prefix, camel(field));
                self.define(schema["title"].as_str().unwrap_or(&own), schema, place)
            }
            "object" => Type::AnyObject,
            other => panic!("{field} is {other}"),
        }
    }

    /// A type with a name, which must mean the same wherever it is used.
    fn define(&mut self, name: &str, schema: &Value, place: Place<'_>) -> Type {
        let found = match schema["oneOf"].as_array() {
            Some(words) => {
                let of = |word: &Value| (word["const"].as_str().unwrap().to_owned(), doc(word));
                let words = words.iter().map(of).collect();
                let is_answered = place.is_answer;
                Named::Words(Words { name: name.to_owned(), doc: doc(schema), words, is_answered })
            }
            None => Named::Object(self.object(name, schema, place)),
        };
        match (self.named.get_mut(name), found) {
            (Some(Named::Object(known)), Named::Object(found)) => {
                assert_eq!(known.fields, found.fields, "{name}");
                known.is_received |= found.is_received;
                known.is_answered |= found.is_answered;
            }
            (Some(Named::Words(known)), Named::Words(found)) => {
                assert_eq!(known.words, found.words, "{name}");
                known.is_answered |= found.is_answered;
            }
            (None, found) => {
                self.order.push(name.to_owned());
                self.named.insert(name.to_owned(), found);
            }
            _ => panic!("{name} is two things"),
        }
        Type::Named(name.to_owned())
    }
}

fn doc(schema: &Value) -> String {
    // What schemas say of Rust items is a link there.
    schema["description"].as_str().unwrap_or_default().replace("[`", "`").replace("`]", "`")
}

/// `tool_input`, `toolInput` → `ToolInput`.
pub(super) fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

/// `toolInput` → `tool_input`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
