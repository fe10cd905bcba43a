//! `mcp test`: one server in full: does it answer, how fast, and what would hooks be told of its tools.

use std::io::Write;

use anyhow::bail;
use hookwright_settings::{Loaded, McpServer, WhyLeftOut};
use hookwright_tools::mcp::{McpError, Probe, session_names};
use serde_json::{Value, json};

use super::shown::{self, Mask};
use super::{TRUST, ask};
use crate::out::{self, BAD, BOLD, GOOD, paint};
use crate::{exit, report};

pub(crate) fn run(loaded: &Loaded, name: &str, as_json: bool) -> anyhow::Result<u8> {
    let server = find(loaded, name)?;
    let mask = Mask::new(loaded, [&server]);
    let seen = ask::all(loaded, std::slice::from_ref(&server))?.pop().flatten();
    let seen = seen.unwrap_or(Err(McpError::Cancelled));
    let code = if seen.is_ok() { exit::OK } else { exit::ERROR };
    if as_json {
        let mut value = mask.json(&server);
        match &seen {
            Ok(probe) => describe(&mut value, probe, &tool_names(loaded, probe, &server)),
            Err(error) => {
                value["ok"] = json!(false);
                value["reason"] = json!(mask.text(&error.to_string()));
                value["hint"] = json!(error.hint(name));
            }
        }
        out::json(&value)?;
        return Ok(code);
    }
    report::print(loaded.registry.diagnostics())?;
    let mut stdout = out::stdout();
    let target = mask.target(&server.transport);
    writeln!(stdout, "{} ({}, {}): {target}", paint(BOLD, shown::name(name)), server.origin, server.transport.kind())?;
    match seen {
        Ok(probe) => print(&mut stdout, &probe, tool_names(loaded, &probe, &server), &mask)?,
        Err(error) => {
            writeln!(stdout, "{} {}", paint(BAD, "fails:"), mask.text(&error.to_string()))?;
            if !server.unset.is_empty() {
                out::hint(format!("nothing sets {}", server.unset.join(", ")))?;
            }
            error.hint(name).map_or(Ok(()), out::hint)?;
        }
    }
    Ok(code)
}

/// The server of a name that counts here.
pub(crate) fn find(loaded: &Loaded, name: &str) -> anyhow::Result<McpServer> {
    let all = loaded.mcp_servers();
    let name_shown = shown::name(name);
    match all.named(name) {
        Ok(server) => Ok(server.clone()),
        Err(Some(left_out)) => {
            if left_out.why == WhyLeftOut::Untrusted {
                out::hint(TRUST)?;
            }
            bail!("MCP server `{name_shown}` does not count here: {}", out::one_line(&left_out.why.to_string()))
        }
        Err(None) => Err(super::switch::unknown(loaded, name)),
    }
}

/// The names that hooks are told of the tools, in their order.
fn tool_names(loaded: &Loaded, probe: &Probe, server: &McpServer) -> Vec<String> {
    let tools: Vec<&str> = probe.inventory.tools.iter().map(|tool| tool.name.as_str()).collect();
    session_names(&loaded.mcp_servers().servers, &server.name, &tools)
}

fn print(out: &mut impl Write, probe: &Probe, tools: Vec<String>, mask: &Mask) -> anyhow::Result<()> {
    let seen = &probe.inventory;
    writeln!(out, "{} {} in {} ms", paint(GOOD, "answers:"), mask.text(&seen.about), probe.took.as_millis())?;
    let mut list = |what: &str, more: &str, names: Vec<String>| -> anyhow::Result<()> {
        let plural = if names.len() == 1 { "" } else { "s" };
        writeln!(out, "{} {what}{plural}{more}", names.len())?;
        names.iter().try_for_each(|name| writeln!(out, "  {}", mask.text(name)))?;
        Ok(())
    };
    list("tool", ", as hooks are told of them", tools)?;
    list("prompt", "", seen.prompts.iter().map(|prompt| prompt.name.clone()).collect())?;
    list("resource", "", seen.resources.iter().map(|resource| resource.uri.clone()).collect())?;
    for problem in &seen.problems {
        out::warn(mask.text(problem))?;
    }
    Ok(())
}

fn describe(value: &mut Value, probe: &Probe, names: &[String]) {
    let seen = &probe.inventory;
    let tools: Vec<Value> =
        seen.tools.iter().zip(names).map(|(tool, name)| json!({"name": tool.name, "tool_name": name})).collect();
    value["ok"] = json!(true);
    value["about"] = json!(seen.about);
    value["took_ms"] = json!(u64::try_from(probe.took.as_millis()).unwrap_or(u64::MAX));
    value["tools"] = json!(tools);
    value["prompts"] = json!(seen.prompts.iter().map(|prompt| &prompt.name).collect::<Vec<_>>());
    value["resources"] = json!(seen.resources.iter().map(|resource| &resource.uri).collect::<Vec<_>>());
    value["problems"] = json!(seen.problems);
}
