//! A decoder of OTLP requests in protobuf, which returns their JSON form.
//!
//! It shares nothing with the program's encoder: the schema is OTLP's own, message by message, and a field that is not
//! in it is an error.

use serde_json::{Map, Value, json};

/// The messages: a name and the fields with their numbers and types; `*` marks repeated fields.
const SCHEMA: &str = "
traces: 1 resourceSpans ResourceSpans*
logs: 1 resourceLogs ResourceLogs*
metrics: 1 resourceMetrics ResourceMetrics*
ResourceSpans: 1 resource Resource, 2 scopeSpans ScopeSpans*, 3 schemaUrl string
ResourceLogs: 1 resource Resource, 2 scopeLogs ScopeLogs*, 3 schemaUrl string
ResourceMetrics: 1 resource Resource, 2 scopeMetrics ScopeMetrics*, 3 schemaUrl string
Resource: 1 attributes KeyValue*, 2 droppedAttributesCount uint32
ScopeSpans: 1 scope InstrumentationScope, 2 spans Span*, 3 schemaUrl string
ScopeLogs: 1 scope InstrumentationScope, 2 logRecords LogRecord*, 3 schemaUrl string
ScopeMetrics: 1 scope InstrumentationScope, 2 metrics Metric*, 3 schemaUrl string
InstrumentationScope: 1 name string, 2 version string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32
KeyValue: 1 key string, 2 value AnyValue
AnyValue: 1 stringValue string, 2 boolValue bool, 3 intValue int64, 4 doubleValue double, 5 arrayValue ArrayValue
ArrayValue: 1 values AnyValue*
Span: 1 traceId bytes, 2 spanId bytes, 3 traceState string, 4 parentSpanId bytes, 5 name string, 6 kind enum, \
7 startTimeUnixNano fixed64, 8 endTimeUnixNano fixed64, 9 attributes KeyValue*, 10 droppedAttributesCount uint32, \
11 events Event*, 12 droppedEventsCount uint32, 14 droppedLinksCount uint32, 15 status Status, 16 flags fixed32
Event: 1 timeUnixNano fixed64, 2 name string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32
Status: 2 message string, 3 code enum
LogRecord: 1 timeUnixNano fixed64, 2 severityNumber enum, 3 severityText string, 5 body AnyValue, \
6 attributes KeyValue*, 7 droppedAttributesCount uint32, 8 flags fixed32, 9 traceId bytes, 10 spanId bytes, \
11 observedTimeUnixNano fixed64, 12 eventName string
Metric: 1 name string, 2 description string, 3 unit string, 7 sum Sum, 9 histogram Histogram
Sum: 1 dataPoints NumberDataPoint*, 2 aggregationTemporality enum, 3 isMonotonic bool
Histogram: 1 dataPoints HistogramDataPoint*, 2 aggregationTemporality enum
NumberDataPoint: 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 asDouble double, 6 asInt sfixed64, \
7 attributes KeyValue*, 8 flags uint32
HistogramDataPoint: 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, \
6 bucketCounts fixed64*, 7 explicitBounds double*, 9 attributes KeyValue*, 10 flags uint32, 11 min double, 12 max double
";

/// Returns the JSON form of a request for `traces`, `logs` or `metrics`.
pub(super) fn decode_request(signal: &str, bytes: &[u8]) -> Value {
    decode_message(signal, bytes)
}

/// Returns a field's name and type.
fn field(message: &str, number: u64) -> (&'static str, &'static str) {
    let fields = SCHEMA.lines().find_map(|line| line.strip_prefix(message)?.strip_prefix(": "));
    let fields = fields.unwrap_or_else(|| panic!("there is no message {message}"));
    let found = fields.split(", ").find_map(|field| {
        let mut words = field.split(' ');
        (words.next()?.parse() == Ok(number)).then(|| (words.next().unwrap(), words.next().unwrap()))
    });
    found.unwrap_or_else(|| panic!("{message} has no field {number}"))
}

fn decode_message(message: &str, mut bytes: &[u8]) -> Value {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes);
        let (name, kind) = field(message, tag >> 3);
        let (kind, is_repeated) = kind.strip_suffix('*').map_or((kind, false), |kind| (kind, true));
        let wire_type = tag & 7;
        if !is_repeated {
            let value = take_value(kind, wire_type, &mut bytes);
            assert!(object.insert(name.to_owned(), value).is_none(), "{message}.{name} occurs twice");
            continue;
        }
        let list = object.entry(name).or_insert_with(|| json!([])).as_array_mut().unwrap();
        if wire_type == 2 && matches!(kind, "fixed64" | "double") {
            let mut packed = take_length(&mut bytes);
            while !packed.is_empty() {
                list.push(take_value(kind, 1, &mut packed));
            }
        } else {
            list.push(take_value(kind, wire_type, &mut bytes));
        }
    }
    Value::Object(object)
}

fn take_value(kind: &str, wire_type: u64, bytes: &mut &[u8]) -> Value {
    let expected = match kind {
        "bool" | "enum" | "int64" | "uint32" => 0,
        "fixed64" | "sfixed64" | "double" => 1,
        "fixed32" => 5,
        _ => 2,
    };
    assert_eq!(wire_type, expected, "a {kind}");
    match kind {
        "bool" => json!(take_varint(bytes) != 0),
        "enum" | "uint32" => json!(take_varint(bytes)),
        "int64" => json!(take_varint(bytes).cast_signed().to_string()),
        "fixed64" => json!(u64::from_le_bytes(take_array(bytes)).to_string()),
        "sfixed64" => json!(i64::from_le_bytes(take_array(bytes)).to_string()),
        "fixed32" => json!(u32::from_le_bytes(take_array(bytes))),
        "double" => match f64::from_le_bytes(take_array(bytes)) {
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => json!(whole as i64),
            other => json!(other),
        },
        "string" => json!(std::str::from_utf8(take_length(bytes)).unwrap()),
        "bytes" => json!(take_length(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        message => decode_message(message, take_length(bytes)),
    }
}

fn take_varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take_array(bytes);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint is too long")
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (head, rest) = bytes.split_first_chunk().expect("the message ends too early");
    *bytes = rest;
    *head
}

fn take_length<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = usize::try_from(take_varint(bytes)).unwrap();
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    head
}
