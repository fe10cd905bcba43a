//! MCP servers that a single agent declares in its file, and the decision which of them are used. They are checked
//! like those of the settings, and cannot take another server's name. The agent starts them.

use std::collections::HashMap;

use hookwright_hooks::{Diagnostic, Severity, Source};
use serde_json::{Map, Value};

use super::{SubAgentDefinition, SubAgents};
use crate::json::fill_variables;
use crate::load::LoadedConfig;
use crate::mcp::{McpServer, ServerSkipReason};
use crate::process_env::ProcessEnv;

/// Converts an entry to the keys of the settings: agents' files write `http_url` and `auth` for `httpUrl` and
/// `oauth`.
pub(super) fn to_settings_entry(entry: Value) -> Value {
    let Value::Object(entry) = entry else { return entry };
    let renamed = entry.into_iter().map(|(key, value)| match (key.as_str(), value) {
        ("auth", Value::Object(auth)) if auth.get("type").and_then(Value::as_str) == Some("oauth") => {
            let fields = auth.into_iter().filter(|(key, _)| key != "type");
            ("oauth".to_owned(), Value::Object(fields.map(|(key, value)| (camel_case(&key), value)).collect()))
        }
        ("http_url" | "include_tools" | "exclude_tools", value) => (camel_case(&key), value),
        (_, value) => (key, value),
    });
    Value::Object(renamed.collect())
}

fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let mut letters = word.chars();
        all + &letters.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default() + letters.as_str()
    })
}

/// Decides which servers of each agent are used, and reports why others are not.
pub(super) fn resolve_servers(agents: &mut SubAgents, loaded: &LoadedConfig) {
    let mut taken = server_name_owners(loaded);
    for agent in agents.list.iter_mut().filter(|agent| agent.enabled) {
        let mut counting = Vec::new();
        for (name, entry) in &agent.named_servers {
            match check_agent_server(agent, name, entry, loaded, &mut taken) {
                Ok(server) => counting.push(server),
                // Broken entries are reported at their positions, and servers that the user disabled need no report.
                Err(
                    why @ (ServerSkipReason::Untrusted
                    | ServerSkipReason::Shadowed(_)
                    | ServerSkipReason::EnablementUnknown),
                ) => {
                    let text =
                        format!("MCP server `{}` of agent `{}` is not started: {why}", escaped_name(name), agent.name);
                    let wrong = Diagnostic::about_file(Severity::Warning, &agent.path, text);
                    let shadowed = matches!(why, ServerSkipReason::Shadowed(_));
                    agents.diagnostics.push(if shadowed { wrong.help("give it another name") } else { wrong });
                }
                Err(_) => {}
            }
        }
        agent.servers = counting;
    }
}

/// The owner of each server name, because permissions by name must mean only that server.
type ServerNameOwners = HashMap<String, (Source, Option<McpServer>)>;

fn server_name_owners(loaded: &LoadedConfig) -> ServerNameOwners {
    let all = loaded.mcp_servers();
    let counting = all.servers.into_iter().map(|one| (one.name, one.origin));
    let others = all.skipped.into_iter().map(|one| (one.name, one.origin));
    counting.chain(others).map(|(name, origin)| (server_key(&name), (origin, None))).collect()
}

fn server_key(name: &str) -> String {
    name.trim().to_lowercase()
}

fn check_agent_server(
    agent: &SubAgentDefinition,
    name: &str,
    entry: &Value,
    loaded: &LoadedConfig,
    taken: &mut ServerNameOwners,
) -> Result<McpServer, ServerSkipReason> {
    let mut server = loaded.check_server(name, &fill_value(entry, &process_env_for(agent, loaded)), &agent.source)?;
    server.unresolved = crate::mcp::unresolved_entry(entry);
    if let (crate::McpTransport::Stdio { env, .. }, Some(extension)) =
        (&mut server.transport, extension_of(agent, loaded))
    {
        env.splice(0..0, extension.env.iter().cloned());
    }
    match taken.get(&server_key(name)) {
        // Several agents may declare the same server.
        Some((_, Some(same))) if *same == server => {}
        Some((by, _)) => return Err(ServerSkipReason::Shadowed(by.clone())),
        None => drop(taken.insert(server_key(name), (agent.source.clone(), Some(server.clone())))),
    }
    Ok(server)
}

fn extension_of<'l>(agent: &SubAgentDefinition, loaded: &'l LoadedConfig) -> Option<&'l crate::Extension> {
    let Source::Extension(name) = &agent.source else { return None };
    loaded.extensions.iter().find(|extension| extension.name == *name)
}

/// Returns the variables that an agent's file may use: the same as the settings of its layer.
fn process_env_for(agent: &SubAgentDefinition, loaded: &LoadedConfig) -> ProcessEnv {
    match (&agent.source, extension_of(agent, loaded)) {
        (_, Some(extension)) => extension.extend_env(&loaded.process_env),
        (Source::Project, None) => loaded.process_env.clone(),
        _ => loaded.user_process_env().clone(),
    }
}

fn fill_value(value: &Value, world: &ProcessEnv) -> Value {
    match value {
        Value::String(text) => Value::String(fill_variables(text, world).into_owned()),
        Value::Array(values) => values.iter().map(|value| fill_value(value, world)).collect(),
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(key, value)| (key.clone(), fill_value(value, world))).collect();
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

fn escaped_name(name: &str) -> String {
    name.escape_debug().to_string()
}
