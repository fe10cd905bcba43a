//! Options for sending telemetry that come from the environment: OpenTelemetry's own variables, and the proxy.
//!
//! The endpoint and the content are settings.

use hookwright_model::ProxyOptions;
use hookwright_settings::ProcessEnv;
use percent_encoding::percent_decode_str;

use super::spans::SpanContext;

/// Proxy, headers, resource attributes and the parent of all traces, for a collector.
#[derive(Clone, Default)]
pub(crate) struct CollectorOptions {
    pub(crate) proxy: Option<ProxyOptions>,
    /// Headers that are sent with each request.
    pub(crate) headers: Vec<(String, String)>,
    /// Resource attributes; they replace the program's own attributes of the same name.
    pub(crate) resource: Vec<(String, String)>,
    /// The span of another program within which this one runs: W3C's `traceparent` in `TRACEPARENT`.
    pub(crate) remote_parent: Option<SpanContext>,
}

/// Leaves out the headers, which hold keys that must not be logged.
impl std::fmt::Debug for CollectorOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl CollectorOptions {
    pub(crate) fn new(world: &ProcessEnv, proxy: Option<ProxyOptions>) -> Self {
        let mut resource = parse_pairs(world, "OTEL_RESOURCE_ATTRIBUTES");
        if let Some(name) = world.var("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()) {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name.to_owned()));
        }
        CollectorOptions {
            proxy,
            headers: parse_pairs(world, "OTEL_EXPORTER_OTLP_HEADERS"),
            resource,
            remote_parent: world.var("TRACEPARENT").and_then(SpanContext::parse_traceparent),
        }
    }
}

/// Parses `a=b,c=d`, with percent-encoded values.
fn parse_pairs(world: &ProcessEnv, variable: &str) -> Vec<(String, String)> {
    let pairs = world.var(variable).unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(key, value)| (key.trim(), percent_decode_str(value.trim()).decode_utf8_lossy()));
    pairs.filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.to_owned(), value.into_owned())).collect()
}
