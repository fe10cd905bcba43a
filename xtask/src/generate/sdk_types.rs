//! Reads the schemas of hook inputs and outputs into types that the printers of the SDKs can walk through.

use std::collections::BTreeMap;

use hookwright_hooks::{EVENTS, EventInfo, EventKind, schema};
use serde_json::{Map, Value};

/// All types of the SDKs.
pub(super) struct SdkTypes {
    /// In an order in which each type uses only types before it.
    pub named_types: Vec<NamedType>,
    /// In the order of the event table.
    pub events: Vec<EventTypes>,
}

/// The types of one event.
pub(super) struct EventTypes {
    pub info: &'static EventInfo,
    pub input: ObjectType,
    pub output: ObjectType,
    /// The fields of `hookSpecificOutput`.
    pub specific_fields: Vec<String>,
}

/// A type that has a name.
pub(super) enum NamedType {
    Object(ObjectType),
    StringEnum(StringEnum),
}

/// An object with known fields.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ObjectType {
    pub name: String,
    pub doc: String,
    pub fields: Vec<ObjectField>,
    /// Whether hooks receive it; `is_answered` says whether they answer it. Both may hold.
    pub is_received: bool,
    pub is_answered: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct ObjectField {
    pub name: String,
    pub doc: String,
    pub field_type: SchemaType,
    pub is_required: bool,
    pub default: Option<Value>,
}

/// A closed set of strings.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StringEnum {
    pub name: String,
    pub doc: String,
    /// Each value with its description.
    pub values: Vec<(String, String)>,
    pub is_answered: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum SchemaType {
    Text,
    Bool,
    /// An integer with the schema's format.
    Integer(String),
    Any,
    AnyObject,
    Const(String),
    /// An enum that has no name in the schema.
    AnonymousEnum(Vec<String>),
    Named(String),
    List(Box<SchemaType>),
    Nullable(Box<SchemaType>),
}

impl ObjectField {
    /// Returns whether the field is in every input of hooks: the SDKs fill in defaults.
    pub(super) fn is_always_received(&self) -> bool {
        self.is_required || self.default.is_some()
    }
}

impl ObjectType {
    /// Returns whether every value of this type has the field.
    pub(super) fn always_has(&self, field: &ObjectField) -> bool {
        if self.is_answered { field.is_required } else { field.is_always_received() }
    }
}

impl EventTypes {
    pub(super) fn kind(&self) -> EventKind {
        self.info.kind
    }

    /// Returns whether the event's `hookSpecificOutput` has a field.
    pub(super) fn has_specific_field(&self, field: &str) -> bool {
        self.specific_fields.iter().any(|name| name == field)
    }

    /// Returns the defaults of fields that the agent may leave out of the input.
    pub(super) fn defaults(&self) -> Map<String, Value> {
        let defaults = self.input.fields.iter().filter_map(|field| Some((field.name.clone(), field.default.clone()?)));
        defaults.collect()
    }
}

/// Reads all schemas.
pub(super) fn read_schemas() -> SdkTypes {
    let mut reader = SchemaReader::default();
    let events = EVENTS.iter().map(|info| reader.read_event(info)).collect();
    let named = reader.order.iter().map(|name| reader.named_types.remove(name).unwrap()).collect();
    SdkTypes { named_types: named, events }
}

#[derive(Default)]
struct SchemaReader {
    named_types: BTreeMap<String, NamedType>,
    order: Vec<String>,
}

/// The position of the reader in a schema.
#[derive(Clone, Copy)]
struct SchemaContext<'a> {
    document: &'a Value,
    is_answer: bool,
    /// The prefix of the name of an object that has none.
    prefix: &'a str,
}

impl SchemaReader {
    fn read_event(&mut self, info: &'static EventInfo) -> EventTypes {
        let (input, output) = (schema::hook_input(info.kind), schema::hook_output(info.kind));
        let input_place = SchemaContext { document: &input, is_answer: false, prefix: info.name };
        let output_place = SchemaContext { document: &output, is_answer: true, prefix: info.name };
        let mut output_shape = self.read_object(&format!("{}Output", info.name), &output, output_place);
        output_shape.doc = format!("What a hook may answer to {}.", info.name);
        let own = &output["properties"]["hookSpecificOutput"]["properties"];
        EventTypes {
            info,
            specific_fields: own.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect(),
            input: self.read_object(&format!("{}Input", info.name), &input, input_place),
            output: output_shape,
        }
    }

    fn read_object(&mut self, name: &str, schema: &Value, place: SchemaContext<'_>) -> ObjectType {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().unwrap();
        let fields = properties.iter().map(|(field, schema)| ObjectField {
            name: field.clone(),
            doc: doc(schema),
            field_type: self.read_type(field, schema, place),
            is_required: required.iter().any(|name| name == field),
            default: schema.get("default").cloned(),
        });
        ObjectType {
            name: name.to_owned(),
            doc: doc(schema),
            fields: fields.collect(),
            is_received: !place.is_answer,
            is_answered: place.is_answer,
        }
    }

    fn read_type(&mut self, field: &str, schema: &Value, place: SchemaContext<'_>) -> SchemaType {
        if let Some(path) = schema["$ref"].as_str() {
            let name = path.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("{path}"));
            let definition = &place.document["$defs"][name];
            assert!(definition.is_object(), "{} has no definition of {name}", place.document["title"]);
            return self.define_named_type(name, definition, place);
        }
        match schema["anyOf"].as_array().map(Vec::as_slice) {
            Some([first, null]) if null["type"] == "null" => {
                return SchemaType::Nullable(Box::new(self.read_type(field, first, place)));
            }
            Some(_) => return SchemaType::Any,
            None => {}
        }
        if let Some(word) = schema["const"].as_str() {
            return SchemaType::Const(word.to_owned());
        }
        if let Some(words) = schema["enum"].as_array() {
            return SchemaType::AnonymousEnum(words.iter().map(|word| word.as_str().unwrap().to_owned()).collect());
        }
        match &schema["type"] {
            Value::Array(types) => {
                assert!(types.len() == 2 && types[1] == "null", "{schema}");
                let mut plain = schema.clone();
                plain["type"] = types[0].clone();
                SchemaType::Nullable(Box::new(self.read_type(field, &plain, place)))
            }
            Value::String(plain) => self.read_primitive(plain, field, schema, place),
            Value::Null => SchemaType::Any,
            other => panic!("{other}"),
        }
    }

    fn read_primitive(&mut self, plain: &str, field: &str, schema: &Value, place: SchemaContext<'_>) -> SchemaType {
        match plain {
            "string" => SchemaType::Text,
            "boolean" => SchemaType::Bool,
            "integer" => SchemaType::Integer(schema["format"].as_str().unwrap().to_owned()),
            "array" => SchemaType::List(Box::new(self.read_type(field, &schema["items"], place))),
            "object" if schema["properties"].is_object() => {
                let own = format!("{}{}", place.prefix, to_pascal_case(field));
                self.define_named_type(schema["title"].as_str().unwrap_or(&own), schema, place)
            }
            "object" => SchemaType::AnyObject,
            other => panic!("{field} is {other}"),
        }
    }

    /// Adds a type with a name, which must mean the same wherever it is used.
    fn define_named_type(&mut self, name: &str, schema: &Value, place: SchemaContext<'_>) -> SchemaType {
        let found = match schema["oneOf"].as_array() {
            Some(words) => {
                let of = |word: &Value| (word["const"].as_str().unwrap().to_owned(), doc(word));
                let words = words.iter().map(of).collect();
                let is_answered = place.is_answer;
                NamedType::StringEnum(StringEnum {
                    name: name.to_owned(),
                    doc: doc(schema),
                    values: words,
                    is_answered,
                })
            }
            None => NamedType::Object(self.read_object(name, schema, place)),
        };
        match (self.named_types.get_mut(name), found) {
            (Some(NamedType::Object(known)), NamedType::Object(found)) => {
                assert_eq!(known.fields, found.fields, "{name}");
                known.is_received |= found.is_received;
                known.is_answered |= found.is_answered;
            }
            (Some(NamedType::StringEnum(known)), NamedType::StringEnum(found)) => {
                assert_eq!(known.values, found.values, "{name}");
                known.is_answered |= found.is_answered;
            }
            (None, found) => {
                self.order.push(name.to_owned());
                self.named_types.insert(name.to_owned(), found);
            }
            _ => panic!("{name} is two things"),
        }
        SchemaType::Named(name.to_owned())
    }
}

fn doc(schema: &Value) -> String {
    // Descriptions link to Rust items, which the SDKs do not have.
    schema["description"].as_str().unwrap_or_default().replace("[`", "`").replace("`]", "`")
}

/// `tool_input`, `toolInput` → `ToolInput`.
pub(super) fn to_pascal_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

/// `toolInput` → `tool_input`.
pub(super) fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
