//! The protobuf form of OTLP, made from the JSON form by a table of messages.
//!
//! Both forms have the same messages; the table has the number and the type of each field that `wire.rs` writes.

use serde_json::{Map, Value};

use super::wire::OtlpSignal;

/// A field: its name in JSON, its number, and its type.
struct MessageField(&'static str, u32, FieldType);

/// A type of OTLP's protobuf schema; a repeated field is an array in JSON.
enum FieldType {
    Text,
    /// Bytes, as hexadecimal digits in JSON.
    Id,
    Bool,
    /// An `int64` or an enumeration.
    Varint,
    Fixed32,
    /// A `fixed64` or an `sfixed64`.
    Fixed64,
    Double,
    Message(&'static [MessageField]),
}

use FieldType::{Bool, Double, Fixed32, Fixed64, Id, Message, Text, Varint};

static ANY_VALUE: [MessageField; 4] = [
    MessageField("stringValue", 1, Text),
    MessageField("boolValue", 2, Bool),
    MessageField("intValue", 3, Varint),
    MessageField("arrayValue", 5, Message(&ARRAY_VALUE)),
];
static ARRAY_VALUE: [MessageField; 1] = [MessageField("values", 1, Message(&ANY_VALUE))];
static KEY_VALUE: [MessageField; 2] = [MessageField("key", 1, Text), MessageField("value", 2, Message(&ANY_VALUE))];
static RESOURCE: [MessageField; 1] = [MessageField("attributes", 1, Message(&KEY_VALUE))];
static SCOPE: [MessageField; 2] = [MessageField("name", 1, Text), MessageField("version", 2, Text)];

static SPAN: [MessageField; 11] = [
    MessageField("traceId", 1, Id),
    MessageField("spanId", 2, Id),
    MessageField("parentSpanId", 4, Id),
    MessageField("name", 5, Text),
    MessageField("kind", 6, Varint),
    MessageField("startTimeUnixNano", 7, Fixed64),
    MessageField("endTimeUnixNano", 8, Fixed64),
    MessageField("attributes", 9, Message(&KEY_VALUE)),
    MessageField("events", 11, Message(&SPAN_EVENT)),
    MessageField("status", 15, Message(&STATUS)),
    MessageField("flags", 16, Fixed32),
];
static SPAN_EVENT: [MessageField; 3] = [
    MessageField("timeUnixNano", 1, Fixed64),
    MessageField("name", 2, Text),
    MessageField("attributes", 3, Message(&KEY_VALUE)),
];
static STATUS: [MessageField; 2] = [MessageField("message", 2, Text), MessageField("code", 3, Varint)];

static LOG_RECORD: [MessageField; 9] = [
    MessageField("timeUnixNano", 1, Fixed64),
    MessageField("severityNumber", 2, Varint),
    MessageField("body", 5, Message(&ANY_VALUE)),
    MessageField("attributes", 6, Message(&KEY_VALUE)),
    MessageField("flags", 8, Fixed32),
    MessageField("traceId", 9, Id),
    MessageField("spanId", 10, Id),
    MessageField("observedTimeUnixNano", 11, Fixed64),
    MessageField("eventName", 12, Text),
];

static METRIC: [MessageField; 5] = [
    MessageField("name", 1, Text),
    MessageField("description", 2, Text),
    MessageField("unit", 3, Text),
    MessageField("sum", 7, Message(&SUM)),
    MessageField("histogram", 9, Message(&HISTOGRAM)),
];
static SUM: [MessageField; 3] = [
    MessageField("dataPoints", 1, Message(&NUMBER_POINT)),
    MessageField("aggregationTemporality", 2, Varint),
    MessageField("isMonotonic", 3, Bool),
];
static HISTOGRAM: [MessageField; 2] =
    [MessageField("dataPoints", 1, Message(&HISTOGRAM_POINT)), MessageField("aggregationTemporality", 2, Varint)];
static NUMBER_POINT: [MessageField; 4] = [
    MessageField("startTimeUnixNano", 2, Fixed64),
    MessageField("timeUnixNano", 3, Fixed64),
    MessageField("asInt", 6, Fixed64),
    MessageField("attributes", 7, Message(&KEY_VALUE)),
];
static HISTOGRAM_POINT: [MessageField; 9] = [
    MessageField("startTimeUnixNano", 2, Fixed64),
    MessageField("timeUnixNano", 3, Fixed64),
    MessageField("count", 4, Fixed64),
    MessageField("sum", 5, Double),
    MessageField("bucketCounts", 6, Fixed64),
    MessageField("explicitBounds", 7, Double),
    MessageField("attributes", 9, Message(&KEY_VALUE)),
    MessageField("min", 11, Double),
    MessageField("max", 12, Double),
];

/// Returns the protobuf form of a request's JSON body.
pub(super) fn encode_request(signal: OtlpSignal, json: &str) -> Result<Vec<u8>, String> {
    let body: Map<String, Value> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let item: &'static [MessageField] = match signal {
        OtlpSignal::Traces => &SPAN,
        OtlpSignal::Logs => &LOG_RECORD,
        OtlpSignal::Metrics => &METRIC,
    };
    let [resources, scopes, items] = signal.list_keys();
    let mut request = Vec::with_capacity(json.len());
    // All signals have the same three lists around their items.
    for resource in objects(body.get(resources)) {
        put_message(&mut request, 1, |message| {
            encode_fields(message, &[MessageField("resource", 1, Message(&RESOURCE))], resource);
            for scope in objects(resource.get(scopes)) {
                put_message(message, 2, |message| {
                    encode_fields(message, &[MessageField("scope", 1, Message(&SCOPE))], scope);
                    objects(scope.get(items))
                        .for_each(|one| put_message(message, 2, |out| encode_fields(out, item, one)));
                });
            }
        });
    }
    Ok(request)
}

fn objects(list: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn encode_fields(out: &mut Vec<u8>, fields: &[MessageField], object: &Map<String, Value>) {
    for MessageField(name, number, kind) in fields {
        match (object.get(*name), kind) {
            (None, _) => {}
            (Some(Value::Array(values)), Fixed64 | Double) => {
                // Numbers of a repeated field are packed.
                put_bytes(out, *number, &values.iter().flat_map(|value| fixed64(value, kind)).collect::<Vec<u8>>());
            }
            (Some(Value::Array(values)), _) => values.iter().for_each(|value| encode_value(out, *number, kind, value)),
            (Some(value), _) => encode_value(out, *number, kind, value),
        }
    }
}

fn encode_value(out: &mut Vec<u8>, number: u32, kind: &FieldType, value: &Value) {
    match kind {
        Text => put_bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Id => put_bytes(out, number, &hex_bytes(value.as_str().unwrap_or_default())),
        Bool => {
            put_tag(out, number, WireType::Varint);
            put_varint(out, u64::from(value.as_bool().unwrap_or_default()));
        }
        Varint => {
            put_tag(out, number, WireType::Varint);
            put_varint(out, integer(value));
        }
        Fixed32 => {
            put_tag(out, number, WireType::Fixed32);
            out.extend(u32::try_from(integer(value)).unwrap_or_default().to_le_bytes());
        }
        Fixed64 | Double => {
            put_tag(out, number, WireType::Fixed64);
            out.extend(fixed64(value, kind));
        }
        Message(fields) => {
            let empty = Map::new();
            put_message(out, number, |out| encode_fields(out, fields, value.as_object().unwrap_or(&empty)));
        }
    }
}

fn fixed64(value: &Value, kind: &FieldType) -> [u8; 8] {
    match kind {
        Double => value.as_f64().unwrap_or_default().to_le_bytes(),
        _ => integer(value).to_le_bytes(),
    }
}

/// Returns an integer in two's complement; JSON has 64-bit integers as texts.
fn integer(value: &Value) -> u64 {
    let number = match value {
        Value::String(text) => text.parse::<i64>().ok(),
        value => value.as_i64(),
    };
    number.unwrap_or_default().cast_unsigned()
}

fn hex_bytes(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len() / 2).filter_map(|at| digits.get(at * 2..at * 2 + 2));
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// How the value of a field is laid out.
#[derive(Clone, Copy)]
enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: WireType) {
    put_varint(out, u64::from(number) << 3 | wire_type as u64);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low & 0x7f);
        }
        out.push(low | 0x80);
    }
}

fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, WireType::Length);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_message(out: &mut Vec<u8>, number: u32, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    encode(&mut message);
    put_bytes(out, number, &message);
}
