//! Checks arguments against the subset of JSON Schema that tools use. Unknown keywords are ignored, so that an unusual
//! schema does not make a valid call fail. It is not a general validator.

use serde_json::{Map, Value};

/// Checks `args`; the error lists all violations in one line.
///
/// The wording is that of common validators: `params must have required property 'file_path'`, `params/file_path must
/// be string`.
pub fn validate(schema: &Value, args: &Value) -> Result<(), String> {
    if !args.is_object() {
        return Err("params must be object".to_owned());
    }
    let mut faults = Vec::new();
    check_value(schema, args, "params", 0, &mut faults);
    if faults.is_empty() { Ok(()) } else { Err(faults.join(", ")) }
}

/// The nesting depth beyond which nothing is checked, so that recursive schemas end.
const MAX_CHECK_DEPTH: usize = 64;

fn check_value(schema: &Value, value: &Value, at: &str, depth: usize, faults: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        if schema == &Value::Bool(false) {
            faults.push(format!("{at} must NOT be given"));
        }
        return;
    };
    if depth > MAX_CHECK_DEPTH || !check_type(schema, value, at, faults) {
        return;
    }
    check_enum(schema, value, at, faults);
    check_combined(schema, value, at, depth, faults);
    match value {
        Value::Object(fields) => check_object(schema, fields, at, depth, faults),
        Value::Array(items) => check_array(schema, items, at, depth, faults),
        Value::String(text) => check_string(schema, text, at, faults),
        Value::Number(number) => check_number(schema, number.as_f64(), at, faults),
        Value::Null | Value::Bool(_) => {}
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Returns false if the type is wrong; then no other violation of the value is reported.
fn check_type(schema: &Map<String, Value>, value: &Value, at: &str, faults: &mut Vec<String>) -> bool {
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    let nullable = value.is_null() && schema.get("nullable") == Some(&Value::Bool(true));
    if nullable || names.is_empty() || names.iter().any(|name| is_of_type(name, value)) {
        return true;
    }
    faults.push(format!("{at} must be {}", names.join(",").to_ascii_lowercase()));
    false
}

fn check_enum(schema: &Map<String, Value>, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        faults.push(format!("{at} must be equal to one of the allowed values ({})", choices.join(", ")));
    }
    if let Some(wanted) = schema.get("const")
        && wanted != value
    {
        faults.push(format!("{at} must be equal to {wanted}"));
    }
}

/// Checks the combined schemas. `anyOf` and `oneOf` both need a matching alternative; several matches are accepted,
/// because generated schemas often overlap.
fn check_combined(schema: &Map<String, Value>, value: &Value, at: &str, depth: usize, faults: &mut Vec<String>) {
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(alternatives)) = schema.get(keyword)
            && !alternatives.is_empty()
            && !alternatives.iter().any(|alternative| {
                let mut tried = Vec::new();
                check_value(alternative, value, at, depth + 1, &mut tried);
                tried.is_empty()
            })
        {
            faults.push(format!("{at} must match a schema in {keyword}"));
        }
    }
    if let Some(Value::Array(all)) = schema.get("allOf") {
        for part in all {
            check_value(part, value, at, depth + 1, faults);
        }
    }
}

fn check_object(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    at: &str,
    depth: usize,
    faults: &mut Vec<String>,
) {
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            faults.push(format!("{at} must have required property '{name}'"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => check_value(property, value, &format!("{at}/{name}"), depth + 1, faults),
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !schema.contains_key("patternProperties") => {
                    faults.push(format!("{at} must NOT have additional properties ('{name}')"));
                }
                Some(others @ Value::Object(_)) => {
                    check_value(others, value, &format!("{at}/{name}"), depth + 1, faults);
                }
                _ => {}
            },
        }
    }
}

fn check_array(schema: &Map<String, Value>, items: &[Value], at: &str, depth: usize, faults: &mut Vec<String>) {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    if let Some(least) = bound("minItems").filter(|least| (items.len() as u64) < *least) {
        faults.push(format!("{at} must NOT have fewer than {least} items"));
    }
    if let Some(most) = bound("maxItems").filter(|most| items.len() as u64 > *most) {
        faults.push(format!("{at} must NOT have more than {most} items"));
    }
    if let Some(of_item @ Value::Object(_)) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            check_value(of_item, item, &format!("{at}/{index}"), depth + 1, faults);
        }
    }
}

fn check_string(schema: &Map<String, Value>, text: &str, at: &str, faults: &mut Vec<String>) {
    let length = || text.chars().count() as u64;
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    if let Some(least) = bound("minLength").filter(|least| length() < *least) {
        faults.push(format!("{at} must NOT have fewer than {least} characters"));
    }
    if let Some(most) = bound("maxLength").filter(|most| length() > *most) {
        faults.push(format!("{at} must NOT have more than {most} characters"));
    }
}

fn check_number(schema: &Map<String, Value>, number: Option<f64>, at: &str, faults: &mut Vec<String>) {
    let Some(number) = number else { return };
    type BoundCheck = fn(&f64, &f64) -> bool;
    let bounds: [(&str, &str, BoundCheck); 4] = [
        ("minimum", ">=", f64::ge),
        ("maximum", "<=", f64::le),
        ("exclusiveMinimum", ">", f64::gt),
        ("exclusiveMaximum", "<", f64::lt),
    ];
    for (keyword, sign, holds) in bounds {
        // Draft 4 has booleans under the exclusive keywords; they are ignored.
        if let Some(bound) = schema.get(keyword).filter(|bound| bound.is_number())
            && bound.as_f64().is_some_and(|limit| !holds(&number, &limit))
        {
            faults.push(format!("{at} must be {sign} {bound}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(schema: Value, args: Value) -> String {
        validate(&schema, &args).err().unwrap_or_default()
    }

    #[test]
    fn violations_name_the_path_and_the_expectation() {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "minLength": 1 },
                "start_line": { "type": "integer", "minimum": 1 },
                "status": { "type": "string", "enum": ["a", "b"] },
                "include": { "type": "array", "minItems": 1, "items": { "type": "string" } },
                "deep": { "type": "object", "properties": { "x": { "type": "boolean" } }, "additionalProperties": false },
            },
            "required": ["file_path"],
        });
        let with = |key: &str, value: Value| fault(schema.clone(), json!({ "file_path": "a", key: value }));
        assert_eq!(fault(schema.clone(), json!({})), "params must have required property 'file_path'");
        assert_eq!(fault(schema.clone(), json!({ "file_path": 3 })), "params/file_path must be string");
        assert_eq!(
            fault(schema.clone(), json!({ "file_path": "" })),
            "params/file_path must NOT have fewer than 1 characters"
        );
        assert_eq!(fault(schema.clone(), json!([])), "params must be object");
        assert_eq!(with("start_line", json!(1.5)), "params/start_line must be integer");
        assert_eq!(with("start_line", json!(0)), "params/start_line must be >= 1");
        assert_eq!(with("start_line", json!(2.0)), "");
        assert_eq!(
            with("status", json!("c")),
            "params/status must be equal to one of the allowed values (\"a\", \"b\")"
        );
        assert_eq!(with("include", json!([])), "params/include must NOT have fewer than 1 items");
        assert_eq!(with("include", json!(["a", 1])), "params/include/1 must be string");
        assert_eq!(with("deep", json!({ "x": 1 })), "params/deep/x must be boolean");
        assert_eq!(with("deep", json!({ "y": 1 })), "params/deep must NOT have additional properties ('y')");
        assert_eq!(with("unknown", json!(1)), "");
    }

    #[test]
    fn all_violations_are_listed() {
        let schema = json!({ "properties": { "a": { "type": "string" } }, "required": ["b"] });
        assert_eq!(fault(schema, json!({ "a": 1 })), "params must have required property 'b', params/a must be string");
    }

    #[test]
    fn foreign_schemas_are_tolerated() {
        let either = json!({ "properties": { "v": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } });
        assert_eq!(fault(either.clone(), json!({ "v": null })), "");
        assert_eq!(fault(either, json!({ "v": 1 })), "params/v must match a schema in anyOf");
        let overlapping = json!({ "properties": { "v": { "oneOf": [{ "type": "number" }, { "type": "integer" }] } } });
        assert_eq!(fault(overlapping, json!({ "v": 1 })), "");
        let upper = json!({ "type": "OBJECT", "properties": { "v": { "type": "STRING", "nullable": true } } });
        assert_eq!(fault(upper.clone(), json!({ "v": null })), "");
        assert_eq!(fault(upper, json!({ "v": 1 })), "params/v must be string");
        let odd = json!({ "$ref": "#/nowhere", "type": ["string", "object"], "format": "odd", "items": 3 });
        assert_eq!(fault(odd, json!({})), "");
        assert_eq!(fault(json!({ "type": "whatever" }), json!({})), "");
        assert_eq!(fault(json!(true), json!({})), "");
        assert_eq!(fault(json!(null), json!({})), "");
    }

    proptest::proptest! {
        #[test]
        fn any_schema_and_value_are_survived(schema in json_value(), value in json_value()) {
            let _ = validate(&schema, &value);
            let _ = validate(&json!({ "properties": { "a": schema }, "items": {} }), &json!({ "a": value }));
        }
    }

    fn json_value() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let key =
            prop::sample::select(vec!["type", "enum", "anyOf", "items", "minimum", "properties", "required", "a"]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            prop::sample::select(vec!["string", "object", "array", "integer", "x"]).prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..4)
                    .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ]
        })
    }
}
