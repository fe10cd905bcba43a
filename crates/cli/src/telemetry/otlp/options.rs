//! What the environment says about sending telemetry: OpenTelemetry's own variables, and the proxy. Where it is sent to
//! and what is in it are settings.

use hookwright_model::ProxyOptions;
use hookwright_settings::ProcessEnv;
use percent_encoding::percent_decode_str;

/// How a collector is spoken to.
#[derive(Clone, Default)]
pub(crate) struct CollectorOptions {
    pub(crate) proxy: Option<ProxyOptions>,
    /// Sent with each request.
    pub(crate) headers: Vec<(String, String)>,
    /// Who is speaking, beside and before what the program says of itself.
    pub(crate) resource: Vec<(String, String)>,
}

/// Headers hold keys, which stay out of logs.
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
        CollectorOptions { proxy, headers: parse_pairs(world, "OTEL_EXPORTER_OTLP_HEADERS"), resource }
    }
}

/// `a=b,c=d`, values percent-encoded.
fn parse_pairs(world: &ProcessEnv, variable: &str) -> Vec<(String, String)> {
    let pairs = world.var(variable).unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(key, value)| (key.trim(), percent_decode_str(value.trim()).decode_utf8_lossy()));
    pairs.filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.to_owned(), value.into_owned())).collect()
}
