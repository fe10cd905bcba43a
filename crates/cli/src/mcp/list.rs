//! `mcp list`: every server in a table, with what becomes of it here.

use hookwright_settings::{LeftOutServer, Loaded};
use serde_json::{Value, json};

use super::shown::{self, Mask};
use crate::out::{self, BOLD, DIM, GOOD, NOTE, PLAIN, Table};
use crate::{exit, report};

pub(crate) fn run(loaded: &Loaded, as_json: bool) -> anyhow::Result<u8> {
    let all = loaded.mcp_servers();
    let mask = Mask::new(loaded, &all.servers);
    if as_json {
        let counting = all.servers.iter().map(|server| with(mask.json(server), json!({"state": "on"})));
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
    for server in &all.servers {
        table.row(vec![
            (BOLD, shown::name(&server.name)),
            (PLAIN, shown::name(&server.origin.to_string())),
            (NOTE, server.transport.kind().to_owned()),
            (PLAIN, out::shorten(&mask.target(&server.transport), 60)),
            (GOOD, "on".to_owned()),
        ]);
    }
    for server in &all.left_out {
        table.row(vec![
            (DIM, shown::name(&server.name)),
            (PLAIN, shown::name(&server.origin.to_string())),
            (PLAIN, String::new()),
            (PLAIN, String::new()),
            (DIM, format!("off: {}", mask.text(&server.why.to_string()))),
        ]);
    }
    table.print(&mut out::stdout())?;
    Ok(exit::OK)
}

fn left_out_json(server: &LeftOutServer) -> Value {
    json!({"name": server.name, "source": server.origin.to_string(), "state": "off", "reason": server.why.to_string()})
}

/// An object with the fields of another one.
fn with(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
