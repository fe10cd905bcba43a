//! `mcp list`: every server in a table, with what becomes of it here.

use anstyle::Style;
use hookwright_settings::{LeftOutServer, Loaded, McpServer, WhyLeftOut};
use hookwright_tools::mcp::McpError;
use serde_json::{Value, json};

use super::shown::{self, Mask};
use super::{TRUST, ask};
use crate::out::{self, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, Table, WARN};
use crate::{exit, report};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    Everybody,
    Nobody,
}

pub(crate) fn run(loaded: &Loaded, asking: Asking, as_json: bool) -> anyhow::Result<u8> {
    let all = loaded.mcp_servers();
    let mask = Mask::new(loaded, &all.servers);
    let seen = match asking {
        Asking::Everybody if !all.servers.is_empty() => ask::all(loaded, &all.servers)?,
        _ => all.servers.iter().map(|_| None).collect(),
    };
    let states: Vec<State> =
        all.servers.iter().zip(&seen).map(|(server, seen)| state(server, seen.as_ref(), &mask)).collect();
    if as_json {
        let counting = all
            .servers
            .iter()
            .zip(&states)
            .map(|(server, state)| with(mask.json(server), json!({"state": state.word, "reason": state.more})));
        let left_out = all.left_out.iter().map(left_out_json);
        out::json(&Value::Array(counting.chain(left_out).collect()))?;
        return Ok(exit::OK);
    }
    report::print(loaded.registry.diagnostics())?;
    if all.servers.is_empty() && all.left_out.is_empty() {
        out::note("no MCP servers are configured here")?;
        out::hint("add one with `hookwright mcp add NAME COMMAND|URL`")?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["NAME", "SOURCE", "KIND", "STARTS OR TALKS TO", "STATE"]);
    for (server, state) in all.servers.iter().zip(&states) {
        table.row(vec![
            (BOLD, shown::name(&server.name)),
            (PLAIN, shown::name(&server.origin.to_string())),
            (NOTE, server.transport.kind().to_owned()),
            (PLAIN, out::shorten(&mask.target(&server.transport), 60)),
            (state.style, state.more.as_ref().map_or(state.word.to_owned(), |more| format!("{}: {more}", state.word))),
        ]);
    }
    for server in &all.left_out {
        table.row(vec![
            (DIM, shown::name(&server.name)),
            (PLAIN, shown::name(&server.origin.to_string())),
            (PLAIN, String::new()),
            (PLAIN, String::new()),
            (DIM, format!("{}: {}", off_word(server), mask.text(&server.why.to_string()))),
        ]);
    }
    table.print(&mut out::stdout())?;
    if all.left_out.iter().any(|server| server.why == WhyLeftOut::Untrusted) {
        out::hint(TRUST)?;
    }
    Ok(exit::OK)
}

/// What became of a server, in a word, and more about it.
struct State {
    style: Style,
    word: &'static str,
    more: Option<String>,
}

fn state(server: &McpServer, seen: Option<&ask::Seen>, mask: &Mask) -> State {
    match seen {
        None => State { style: PLAIN, word: "on", more: None },
        Some(Ok(probe)) => {
            let count = probe.inventory.tools.len();
            let tools = if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") };
            State { style: GOOD, word: "answers", more: Some(tools) }
        }
        Some(Err(McpError::Unauthorized { .. })) => {
            let name = shown::name(&server.name);
            State { style: WARN, word: "locked", more: Some(format!("sign in with `hookwright mcp auth {name}`")) }
        }
        Some(Err(error)) => {
            let hint = error.hint(&server.name).map(|hint| format!("; {hint}")).unwrap_or_default();
            State { style: BAD, word: "fails", more: Some(mask.text(&format!("{error}{hint}"))) }
        }
    }
}

fn left_out_json(server: &LeftOutServer) -> Value {
    let (name, source) = (&server.name, server.origin.to_string());
    json!({"name": name, "source": source, "state": off_word(server), "reason": server.why.to_string()})
}

fn off_word(server: &LeftOutServer) -> &'static str {
    if server.why == WhyLeftOut::Untrusted { "not trusted" } else { "off" }
}

/// An object with the fields of another one.
fn with(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
