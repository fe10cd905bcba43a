//! MCP servers that one agent alone has: what its file names, and which of them count here. They are judged as the settings'
//! own are, and take nobody's name. Starting them is the agent's work.

use std::collections::HashMap;

use hookwright_hooks::{Diagnostic, Severity, Source};
use serde_json::{Map, Value};

use super::{Definition, SubAgents};
use crate::json::fill_variables;
use crate::load::Loaded;
use crate::mcp::{McpServer, WhyLeftOut};
use crate::world::World;

/// An entry in the words of settings: agents' files write `http_url` and `auth` for `httpUrl` and `oauth`.
pub(super) fn in_words_of_settings(entry: Value) -> Value {
    let Value::Object(entry) = entry else { return entry };
    let renamed = entry.into_iter().map(|(key, value)| match (key.as_str(), value) {
        ("auth", Value::Object(auth)) if auth.get("type").and_then(Value::as_str) == Some("oauth") => {
            let fields = auth.into_iter().filter(|(key, _)| key != "type");
            ("oauth".to_owned(), Value::Object(fields.map(|(key, value)| (camel(&key), value)).collect()))
        }
        ("http_url" | "include_tools" | "exclude_tools", value) => (camel(&key), value),
        (_, value) => (key, value),
    });
    Value::Object(renamed.collect())
}

fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let mut letters = word.chars();
        all + &letters.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default() + letters.as_str()
    })
}

/// Decides which servers of each agent count, and says of the others why not.
pub(super) fn decide(agents: &mut SubAgents, loaded: &Loaded) {
    let mut taken = taken(loaded);
    for agent in agents.list.iter_mut().filter(|agent| agent.enabled) {
        let mut counting = Vec::new();
        for (name, entry) in &agent.named_servers {
            match judged(agent, name, entry, loaded, &mut taken) {
                Ok(server) => counting.push(server),
                // Broken entries were said where they stand; what the user switched off need not be.
                Err(why @ (WhyLeftOut::Untrusted | WhyLeftOut::Shadowed(_) | WhyLeftOut::NobodyKnows)) => {
                    let text = format!("MCP server `{}` of agent `{}` is not started: {why}", shown(name), agent.name);
                    let wrong = Diagnostic::about_file(Severity::Warning, &agent.path, text);
                    let shadowed = matches!(why, WhyLeftOut::Shadowed(_));
                    agents.diagnostics.push(if shadowed { wrong.help("give it another name") } else { wrong });
                }
                Err(_) => {}
            }
        }
        agent.servers = counting;
    }
}

/// Who has a name: what is allowed, denied or granted by it means that server and no other.
type Taken = HashMap<String, (Source, Option<McpServer>)>;

fn taken(loaded: &Loaded) -> Taken {
    let all = loaded.mcp_servers();
    let counting = all.servers.into_iter().map(|one| (one.name, one.origin));
    let others = all.left_out.into_iter().map(|one| (one.name, one.origin));
    counting.chain(others).map(|(name, origin)| (key(&name), (origin, None))).collect()
}

fn key(name: &str) -> String {
    name.trim().to_lowercase()
}

fn judged(
    agent: &Definition,
    name: &str,
    entry: &Value,
    loaded: &Loaded,
    taken: &mut Taken,
) -> Result<McpServer, WhyLeftOut> {
    let mut server = loaded.judged(name, &filled(entry, &world(agent, loaded)), &agent.source)?;
    server.written = crate::mcp::written(entry);
    if let (crate::Transport::Stdio { env, .. }, Some(extension)) = (&mut server.transport, extension(agent, loaded)) {
        env.splice(0..0, extension.env.iter().cloned());
    }
    match taken.get(&key(name)) {
        // Several agents may have the very same.
        Some((_, Some(same))) if *same == server => {}
        Some((by, _)) => return Err(WhyLeftOut::Shadowed(by.clone())),
        None => drop(taken.insert(key(name), (agent.source.clone(), Some(server.clone())))),
    }
    Ok(server)
}

fn extension<'l>(agent: &Definition, loaded: &'l Loaded) -> Option<&'l crate::Extension> {
    let Source::Extension(name) = &agent.source else { return None };
    loaded.extensions.iter().find(|extension| extension.name == *name)
}

/// The variables that an agent's file sees: those that settings of the same place do.
fn world(agent: &Definition, loaded: &Loaded) -> World {
    match (&agent.source, extension(agent, loaded)) {
        (_, Some(extension)) => extension.world(&loaded.world),
        (Source::Project, None) => loaded.world.clone(),
        _ => loaded.own_world().clone(),
    }
}

fn filled(value: &Value, world: &World) -> Value {
    match value {
        Value::String(text) => Value::String(fill_variables(text, world).into_owned()),
        Value::Array(values) => values.iter().map(|value| filled(value, world)).collect(),
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(key, value)| (key.clone(), filled(value, world))).collect();
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}
