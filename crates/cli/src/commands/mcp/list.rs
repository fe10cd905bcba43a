//! `mcp list`: prints every server in a table, with its state here.

use anstyle::Style;
use hookwright_settings::{LoadedConfig, McpServer, ServerSkipReason, SkippedServer};
use hookwright_tools::mcp::McpError;
use serde_json::{Value, json};

use super::redaction::{self, SecretMask};
use super::{TRUST_FOLDER_HINT, probe};
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, TextTable, WARN};
use crate::{exit, output::diagnostics};

/// Whether servers are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeMode {
    All,
    Skip,
}

pub(crate) fn run(loaded: &LoadedConfig, asking: ProbeMode, as_json: bool) -> anyhow::Result<u8> {
    let all = loaded.mcp_servers();
    let mask = SecretMask::new(loaded, &all.servers);
    let seen = match asking {
        ProbeMode::All if !all.servers.is_empty() => probe::probe_all(loaded, &all.servers)?,
        _ => all.servers.iter().map(|_| None).collect(),
    };
    let states: Vec<McpListStatus> =
        all.servers.iter().zip(&seen).map(|(server, seen)| server_status(server, seen.as_ref(), &mask)).collect();
    if as_json {
        let counting = all.servers.iter().zip(&states).map(|(server, state)| {
            merged_objects(mask.server_json(server), json!({"state": state.label, "reason": state.detail}))
        });
        let left_out = all.skipped.iter().map(inactive_json);
        output::print_json(&Value::Array(counting.chain(left_out).collect()))?;
        return Ok(exit::OK);
    }
    diagnostics::print(loaded.registry.diagnostics())?;
    if all.servers.is_empty() && all.skipped.is_empty() {
        output::note("no MCP servers are configured here")?;
        output::hint("add one with `hookwright mcp add NAME COMMAND|URL`")?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["NAME", "SOURCE", "KIND", "STARTS OR TALKS TO", "STATE"]);
    for (server, state) in all.servers.iter().zip(&states) {
        table.add_row(vec![
            (BOLD, redaction::visible_name(&server.name)),
            (PLAIN, redaction::visible_name(&server.origin.to_string())),
            (NOTE, server.transport.kind().to_owned()),
            (PLAIN, output::truncate_columns(&mask.mask_target(&server.transport), 60)),
            (
                state.style,
                state.detail.as_ref().map_or(state.label.to_owned(), |more| format!("{}: {more}", state.label)),
            ),
        ]);
    }
    for server in &all.skipped {
        table.add_row(vec![
            (DIM, redaction::visible_name(&server.name)),
            (PLAIN, redaction::visible_name(&server.origin.to_string())),
            (PLAIN, String::new()),
            (PLAIN, String::new()),
            (DIM, format!("{}: {}", inactive_label(server), mask.mask_text(&server.reason.to_string()))),
        ]);
    }
    table.print(&mut output::stdout())?;
    if all.skipped.iter().any(|server| server.reason == ServerSkipReason::Untrusted) {
        output::hint(TRUST_FOLDER_HINT)?;
    }
    Ok(exit::OK)
}

/// The state of a server in a word, and details.
struct McpListStatus {
    style: Style,
    label: &'static str,
    detail: Option<String>,
}

fn server_status(server: &McpServer, seen: Option<&probe::McpProbeResult>, mask: &SecretMask) -> McpListStatus {
    match seen {
        None => McpListStatus { style: PLAIN, label: "on", detail: None },
        Some(Ok(probe)) => {
            let count = probe.inventory.tools.len();
            let tools = if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") };
            McpListStatus { style: GOOD, label: "answers", detail: Some(tools) }
        }
        Some(Err(McpError::Unauthorized { .. })) => {
            let name = redaction::visible_name(&server.name);
            McpListStatus {
                style: WARN,
                label: "locked",
                detail: Some(format!("sign in with `hookwright mcp auth {name}`")),
            }
        }
        Some(Err(error)) => {
            let hint = error.hint(&server.name).map(|hint| format!("; {hint}")).unwrap_or_default();
            McpListStatus { style: BAD, label: "fails", detail: Some(mask.mask_text(&format!("{error}{hint}"))) }
        }
    }
}

fn inactive_json(server: &SkippedServer) -> Value {
    let (name, source) = (&server.name, server.origin.to_string());
    json!({"name": name, "source": source, "state": inactive_label(server), "reason": server.reason.to_string()})
}

fn inactive_label(server: &SkippedServer) -> &'static str {
    if server.reason == ServerSkipReason::Untrusted { "not trusted" } else { "off" }
}

/// Merges the fields of two objects.
fn merged_objects(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
