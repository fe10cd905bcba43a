//! `mcp test`: probes one server: whether it answers, how fast, and under which names hooks see its tools.

use std::io::Write;

use hookwright_settings::administration::{McpAccountReport, usable_server};
use hookwright_settings::{LoadedConfig, McpServer};
use hookwright_tools::mcp::{McpError, McpProbe, session_names};
use serde_json::{Value, json};

use super::probe;
use super::redaction::{self, SecretMask};
use crate::output::{self, BAD, BOLD, GOOD, paint};
use crate::presentation::administration::mcp_account_messages;
use crate::presentation::{CommandStyle, as_error};
use crate::{exit, output::diagnostics};

pub(crate) fn run(loaded: &LoadedConfig, name: &str, as_json: bool) -> anyhow::Result<u8> {
    let server = find_server(loaded, name)?;
    let mask = SecretMask::new(loaded, [&server]);
    let seen = probe::probe_all(loaded, std::slice::from_ref(&server))?.pop().flatten();
    let seen = seen.unwrap_or(Err(McpError::Cancelled));
    let code = if seen.is_ok() { exit::OK } else { exit::ERROR };
    if as_json {
        let mut value = mask.server_json(&server);
        match &seen {
            Ok(probe) => add_probe_json(&mut value, probe, &tool_names(loaded, probe, &server)),
            Err(error) => {
                value["ok"] = json!(false);
                value["reason"] = json!(mask.mask_text(&error.to_string()));
                value["hint"] = json!(error.hint(name));
            }
        }
        output::print_json(&value)?;
        return Ok(code);
    }
    diagnostics::print(loaded.registry.diagnostics())?;
    let mut stdout = output::stdout();
    let target = mask.mask_target(&server.transport);
    writeln!(
        stdout,
        "{} ({}, {}): {target}",
        paint(BOLD, redaction::visible_name(name)),
        server.origin,
        server.transport.kind()
    )?;
    match seen {
        Ok(probe) => print_probe(&mut stdout, &probe, tool_names(loaded, &probe, &server), &mask)?,
        Err(error) => {
            writeln!(stdout, "{} {}", paint(BAD, "fails:"), mask.mask_text(&error.to_string()))?;
            if !server.unset_variables.is_empty() {
                output::hint(format!("nothing sets {}", server.unset_variables.join(", ")))?;
            }
            error.hint(name).map_or(Ok(()), output::hint)?;
        }
    }
    Ok(code)
}

/// Returns the server of that name, if it is in effect here.
pub(crate) fn find_server(loaded: &LoadedConfig, name: &str) -> anyhow::Result<McpServer> {
    let refused = |refusal| as_error(mcp_account_messages(&McpAccountReport::Refused(refusal), CommandStyle::Shell));
    Ok(usable_server(loaded, name).map_err(refused)?)
}

/// Returns the names under which hooks see the tools, in the order of the tools.
fn tool_names(loaded: &LoadedConfig, probe: &McpProbe, server: &McpServer) -> Vec<String> {
    let tools: Vec<&str> = probe.inventory.tools.iter().map(|tool| tool.name.as_str()).collect();
    session_names(&loaded.mcp_servers().servers, &server.name, &tools)
}

fn print_probe(out: &mut impl Write, probe: &McpProbe, tools: Vec<String>, mask: &SecretMask) -> anyhow::Result<()> {
    let seen = &probe.inventory;
    writeln!(out, "{} {} in {} ms", paint(GOOD, "answers:"), mask.mask_text(&seen.about), probe.elapsed.as_millis())?;
    let mut list = |what: &str, more: &str, names: Vec<String>| -> anyhow::Result<()> {
        let plural = if names.len() == 1 { "" } else { "s" };
        writeln!(out, "{} {what}{plural}{more}", names.len())?;
        names.iter().try_for_each(|name| writeln!(out, "  {}", mask.mask_text(name)))?;
        Ok(())
    };
    list("tool", ", as hooks are told of them", tools)?;
    list("prompt", "", seen.prompts.iter().map(|prompt| prompt.name.clone()).collect())?;
    list("resource", "", seen.resources.iter().map(|resource| resource.uri.clone()).collect())?;
    for problem in &seen.problems {
        output::warn(mask.mask_text(problem))?;
    }
    Ok(())
}

fn add_probe_json(value: &mut Value, probe: &McpProbe, names: &[String]) {
    let seen = &probe.inventory;
    let tools: Vec<Value> =
        seen.tools.iter().zip(names).map(|(tool, name)| json!({"name": tool.name, "tool_name": name})).collect();
    value["ok"] = json!(true);
    value["about"] = json!(seen.about);
    value["took_ms"] = json!(u64::try_from(probe.elapsed.as_millis()).unwrap_or(u64::MAX));
    value["tools"] = json!(tools);
    value["prompts"] = json!(seen.prompts.iter().map(|prompt| &prompt.name).collect::<Vec<_>>());
    value["resources"] = json!(seen.resources.iter().map(|resource| &resource.uri).collect::<Vec<_>>());
    value["problems"] = json!(seen.problems);
}
