//! Finds model servers on this machine by asking the usual ports for a list of models, which costs nothing. A port that
//! answers in another way is no model server.

use std::time::Duration;

use hookwright_model::Cancel;
use hookwright_settings::{ConnectionOrigin, ModelConnection, ModelService, ProcessEnv};
use tokio::task::JoinSet;

use super::super::model_selection;

/// The default ports of known servers.
const LOCAL_SERVER_PORTS: [(&str, u16); 4] =
    [("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000)];

/// How long a port may take; a local server answers at once.
const LOCAL_SERVER_TIMEOUT: Duration = Duration::from_millis(1500);

/// A local server that responded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalModelServer {
    pub(super) name: &'static str,
    pub(super) connection: ModelConnection,
    pub(super) models: Vec<String>,
}

/// Returns the local servers that respond, in the order of the table.
pub(super) async fn find_local_servers(world: &ProcessEnv) -> Vec<LocalModelServer> {
    let mut probes = JoinSet::new();
    for (at, (name, address)) in server_addresses(world).into_iter().enumerate() {
        probes.spawn(async move { Some((at, probe_server(name, &address).await?)) });
    }
    let mut found: Vec<(usize, LocalModelServer)> = probes.join_all().await.into_iter().flatten().collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

async fn probe_server(name: &'static str, address: &str) -> Option<LocalModelServer> {
    let connection = ModelConnection {
        service: ModelService::OpenAi,
        base_url: Some(format!("{address}/v1")),
        key: String::new(),
        model: None,
        from: ConnectionOrigin::File,
    };
    let model = model_selection::probe_model(&connection, LOCAL_SERVER_TIMEOUT, None)?;
    let models = tokio::time::timeout(LOCAL_SERVER_TIMEOUT, model.list_models(&Cancel::new())).await.ok()?.ok()?;
    (!models.is_empty()).then_some(LocalModelServer { name, connection, models })
}

fn server_addresses(world: &ProcessEnv) -> Vec<(&'static str, String)> {
    let ollama = world.var("OLLAMA_HOST").and_then(ollama_address);
    let usual = |(name, port): (&'static str, u16)| match (&ollama, name) {
        (Some(address), "Ollama") => (name, address.clone()),
        _ => (name, format!("http://127.0.0.1:{port}")),
    };
    LOCAL_SERVER_PORTS.into_iter().map(usual).collect()
}

/// Parses `OLLAMA_HOST`: a host, a port or both, with or without a scheme. A wildcard address means this machine.
fn ollama_address(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    if rest.is_empty() || !matches!(scheme, "http" | "https") || rest.contains(['/', '@']) {
        return None;
    }
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port),
        _ => (rest, "11434"),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    Some(format!("{scheme}://{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_host_variable_is_parsed_like_ollama_does() {
        for (host, address) in [
            ("127.0.0.1:4000", Some("http://127.0.0.1:4000")),
            ("0.0.0.0", Some("http://127.0.0.1:11434")),
            (":5000", Some("http://127.0.0.1:5000")),
            ("https://gpu:443/", Some("https://gpu:443")),
            ("[::]:7", Some("http://127.0.0.1:7")),
            ("", None),
            ("ftp://x", None),
            ("http://me:secret@x", None),
        ] {
            assert_eq!(ollama_address(host).as_deref(), address, "{host}");
        }
    }
}
