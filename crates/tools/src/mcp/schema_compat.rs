//! Converts a server's schema to one that providers and `schema.rs` understand: references are inlined, cycles are cut,
//! and keywords of older drafts are converted. A tool with an unusable schema is left out.

use serde_json::{Map, Value, json};

/// The size limit of a schema; a larger one is an attack or a mistake.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// The largest number of nodes with all references inlined; further ones become empty schemas.
const MAX_SCHEMA_NODES: usize = 10_000;
const MAX_INLINE_DEPTH: usize = 48;

/// Keywords that describe a schema, and the definitions, which are inlined where they are used.
const DROPPED_KEYWORDS: [&str; 7] = ["$schema", "$id", "id", "$comment", "$anchor", "$defs", "definitions"];

/// Converts the schema of a tool's arguments.
///
/// # Errors
/// If the schema is unusable; the text says why.
pub(super) fn normalize_parameters(schema: Option<&Value>) -> Result<Value, String> {
    let root = match schema {
        None | Some(Value::Null) => return Ok(json!({ "type": "object", "properties": {} })),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("its schema is not an object".to_owned()),
    };
    if schema.is_some_and(|schema| schema.to_string().len() > MAX_SCHEMA_BYTES) {
        return Err(format!("its schema is larger than {} KiB", MAX_SCHEMA_BYTES >> 10));
    }
    let mut normalizer =
        SchemaNormalizer { root: schema.unwrap_or(&Value::Null), open_references: Vec::new(), node_count: 0 };
    let mut normalized = match normalizer.normalize(&Value::Object(root.clone()), 0) {
        Value::Object(fields) => fields,
        _ => return Err("its schema is not an object".to_owned()),
    };
    match normalized.get("type") {
        None => {
            normalized.insert("type".to_owned(), json!("object"));
        }
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("object") => {}
        Some(other) => return Err(format!("its arguments are of type {other}, and must be an object")),
    }
    if !normalized.get("properties").is_none_or(Value::is_object) {
        return Err("`properties` of its schema is not an object".to_owned());
    }
    normalized.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(normalized))
}

struct SchemaNormalizer<'s> {
    root: &'s Value,
    /// The references that are being inlined.
    open_references: Vec<String>,
    node_count: usize,
}

impl SchemaNormalizer<'_> {
    fn normalize(&mut self, schema: &Value, depth: usize) -> Value {
        self.node_count += 1;
        let Value::Object(fields) = schema else { return schema.clone() };
        if depth > MAX_INLINE_DEPTH || self.node_count > MAX_SCHEMA_NODES {
            return json!({});
        }
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else {
            return Value::Object(self.normalize_fields(fields, depth));
        };
        let beside: Map<String, Value> = fields.iter().filter(|(key, _)| *key != "$ref").map(clone_pair).collect();
        let mut filled = match self.resolve_reference(reference) {
            // A reference to itself or out of the schema adds nothing.
            None => Map::new(),
            Some(target) => {
                self.open_references.push(reference.to_owned());
                let filled = self.normalize(&target, depth + 1);
                self.open_references.pop();
                if let Value::Object(fields) = filled { fields } else { Map::new() }
            }
        };
        filled.extend(self.normalize_fields(&beside, depth));
        Value::Object(filled)
    }

    fn resolve_reference(&self, reference: &str) -> Option<Value> {
        if self.open_references.iter().any(|open| open == reference) {
            return None;
        }
        match reference.strip_prefix('#')? {
            "" => Some(self.root.clone()).filter(|_| self.open_references.is_empty()),
            pointer => self.root.pointer(pointer).filter(|target| target.is_object()).cloned(),
        }
    }

    fn normalize_fields(&mut self, fields: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut normalized = Map::new();
        for (key, value) in fields.iter().filter(|(key, _)| !DROPPED_KEYWORDS.contains(&key.as_str())) {
            let value = match (key.as_str(), value) {
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(each)) => {
                    each.iter().map(|(name, schema)| (name.clone(), self.normalize(schema, depth + 1))).collect()
                }
                // Before draft 2020-12 `items` could be a list of schemas.
                ("items", Value::Array(each)) => {
                    each.first().map_or_else(|| json!({}), |schema| self.normalize(schema, depth + 1))
                }
                (
                    "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" | "propertyNames",
                    _,
                ) => self.normalize(value, depth + 1),
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(each)) => {
                    each.iter().map(|schema| self.normalize(schema, depth + 1)).collect()
                }
                // Before draft 6 these were booleans.
                ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => continue,
                ("required", Value::Bool(_)) => continue,
                ("enum", other) if !other.is_array() => continue,
                _ => value.clone(),
            };
            normalized.insert(key.clone(), value);
        }
        convert_nullable(&mut normalized);
        normalized
    }
}

fn clone_pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// Converts `["string", "null"]` to a nullable string, which providers understand.
fn convert_nullable(fields: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = fields.get("type") else { return };
    let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    if let [one] = others.as_slice() {
        let (one, null) = ((*one).clone(), kinds.len() > others.len());
        fields.insert("type".to_owned(), one);
        if null {
            fields.insert("nullable".to_owned(), json!(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(schema: Value) -> Value {
        normalize_parameters(Some(&schema)).unwrap()
    }

    #[test]
    fn references_are_inlined() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": { "p": { "$ref": "#/definitions/Point", "description": "where" } },
            "definitions": {
                "Point": { "type": "object", "properties": { "x": { "$ref": "#/definitions/N" } } },
                "N": { "type": ["number", "null"] },
            },
        });
        assert_eq!(
            normalized(schema),
            json!({
                "properties": { "p": {
                    "type": "object",
                    "properties": { "x": { "type": "number", "nullable": true } },
                    "description": "where",
                } },
                "type": "object",
            })
        );
    }

    #[test]
    fn cycles_are_cut_and_foreign_references_left_open() {
        let tree = json!({
            "type": "object",
            "properties": { "root": { "$ref": "#/$defs/Node" }, "me": { "$ref": "#" }, "far": { "$ref": "https://x/y" } },
            "$defs": { "Node": { "properties": { "left": { "$ref": "#/$defs/Node" }, "v": { "type": "string" } } } },
        });
        let normalized = normalized(tree);
        let properties = &normalized["properties"];
        assert_eq!(properties["root"], json!({ "properties": { "left": {}, "v": { "type": "string" } } }));
        assert_eq!(properties["far"], json!({}));
        assert_eq!(properties["me"]["type"], "object");
        let wide = json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": (0..40).map(|at| {
            let next = json!({ "$ref": format!("#/$defs/{}", at + 1) });
            (at.to_string(), json!({ "anyOf": [next, next, next] }))
        }).collect::<Map<_, _>>() });
        assert!(normalize_parameters(Some(&wide)).unwrap().to_string().len() < 1 << 20);
    }

    #[test]
    fn keywords_of_older_drafts_are_converted() {
        let old = json!({ "properties": {
            "n": { "type": "number", "minimum": 1, "exclusiveMinimum": true, "required": true },
            "l": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }] },
        } });
        assert_eq!(
            normalized(old)["properties"],
            json!({ "n": { "type": "number", "minimum": 1 }, "l": { "type": "array", "items": { "type": "string" } } })
        );
    }

    #[test]
    fn an_invalid_schema_drops_its_tool() {
        assert_eq!(normalize_parameters(None).unwrap()["type"], "object");
        assert_eq!(normalized(json!({}))["properties"], json!({}));
        for bad in [json!("x"), json!([]), json!(true), json!({ "type": "string" }), json!({ "properties": [] })] {
            assert!(normalize_parameters(Some(&bad)).is_err(), "{bad}");
        }
        let large = json!({ "description": "x".repeat(MAX_SCHEMA_BYTES) });
        assert!(normalize_parameters(Some(&large)).is_err());
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
        assert!(normalize_parameters(Some(&deep)).is_ok());
    }
}
