//! `mcp add`: writes an entry for a server into a settings file, after checking it.

use std::path::Path;

use anyhow::{bail, ensure};
use hookwright_hooks::Source;
use hookwright_settings::edit::{SettingsChange, edited_text, set_value};
use hookwright_settings::mcp::server_problem;
use hookwright_settings::{
    LoadOptions, LoadedConfig, McpTransport, ProcessEnv, is_server_name, load, read_settings_file,
};
use hookwright_tools::mcp::aliases;
use serde_json::{Map, Value, json};

use super::{TRUST_FOLDER_HINT, redaction, settings_file};
use crate::args::{McpAddArgs, McpScopeArg, McpTransportArg};
use crate::{exit, output};

pub(crate) fn run(loaded: &LoadedConfig, server: &McpAddArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let entry = Value::Object(server_entry(server)?);
    check_entry(server, &entry)?;
    let file = settings_file(loaded, server.scope)?;
    let known = has_server(&file, &server.name);
    let changed = set_value(&file, &["mcpServers", &server.name], entry)?;
    let name = redaction::visible_name(&server.name);
    let verb = match (known, changed) {
        (true, true) => "replaced",
        (true, false) => "unchanged:",
        (false, _) => "added",
    };
    output::note(format!("{verb} MCP server `{name}` in {}", file.display()))?;
    let project = loaded.project.root.clone();
    let loaded = load(world, &LoadOptions { project, ..LoadOptions::default() });
    warn_if_inactive(&loaded, server)?;
    warn_about_server(&loaded, server)?;
    Ok(exit::OK)
}

fn settings_source(server: &McpAddArgs) -> Source {
    match server.scope {
        McpScopeArg::User => Source::User,
        McpScopeArg::Project => Source::Project,
    }
}

/// Rejects an entry that is no valid server. An address with variables is checked when they are substituted.
fn check_entry(server: &McpAddArgs, entry: &Value) -> anyhow::Result<()> {
    if server.target.contains('$') && entry.get("url").is_some() {
        return Ok(());
    }
    match server_problem(&server.name, entry, &settings_source(server)) {
        Some(problem) => bail!("{}", output::one_line(&problem)),
        None => Ok(()),
    }
}

/// Warns when the server's program is missing, and notes when its tools get another name.
fn warn_about_server(loaded: &LoadedConfig, server: &McpAddArgs) -> anyhow::Result<()> {
    let all = loaded.mcp_servers().servers;
    let Some(found) = all.iter().find(|one| one.name == server.name) else { return Ok(()) };
    if let McpTransport::Stdio { command, cwd, .. } = &found.transport
        && !crate::commands::is_program_installed(
            command,
            cwd.as_deref().unwrap_or(&loaded.project.root),
            &loaded.process_env.env,
        )
    {
        output::warn(format!("there is no program `{}` here", redaction::visible_name(command)))?;
        output::hint("install it, or write its whole path")?;
    }
    let alias = aliases(&all).remove(&found.name).unwrap_or_default();
    if alias != found.name {
        output::note(format!(
            "its tools are called mcp__{alias}__TOOL; lists, rules and matchers may write its own name too"
        ))?;
    }
    Ok(())
}

/// Whether the file has a server of that name already: removing it would change the text.
fn has_server(file: &Path, name: &str) -> bool {
    let without = SettingsChange::Remove(vec!["mcpServers".to_owned(), name.to_owned()]);
    let text = read_settings_file(file).ok().flatten();
    text.is_some_and(|text| edited_text(file, &text, &without).is_ok_and(|shorter| shorter != text))
}

/// Builds the entry for the settings.
fn server_entry(server: &McpAddArgs) -> anyhow::Result<Map<String, Value>> {
    ensure!(
        is_server_name(&server.name),
        "a server's name can't be empty, longer than 200 bytes, or have control characters"
    );
    ensure!(
        !(server.trust && server.scope == McpScopeArg::Project),
        "a project can't let a server's tools run unasked; add `--scope user`, or leave `--trust` out"
    );
    let is_address =
        ["http://", "https://"].iter().any(|scheme| server.target.to_ascii_lowercase().starts_with(scheme));
    let is_later = server.target.starts_with('$');
    let mut entry = match (server.transport, is_address) {
        (Some(McpTransportArg::Stdio), _) | (None, false) => stdio_entry(server)?,
        (kind @ Some(_), false) if is_later => remote_entry(server, kind)?,
        (Some(_), false) => bail!("`{}` is not an http or https address", redaction::visible_name(&server.target)),
        (kind, true) => remote_entry(server, kind)?,
    };
    if let Some(timeout) = server.timeout {
        entry.insert("timeout".to_owned(), json!(timeout));
    }
    if server.trust {
        entry.insert("trust".to_owned(), json!(true));
    }
    if let Some(description) = &server.description {
        entry.insert("description".to_owned(), json!(description));
    }
    for (key, tools) in [("includeTools", &server.include_tools), ("excludeTools", &server.exclude_tools)] {
        if !tools.is_empty() {
            entry.insert(key.to_owned(), json!(tools.iter().map(|tool| tool.trim()).collect::<Vec<_>>()));
        }
    }
    Ok(entry)
}

fn stdio_entry(server: &McpAddArgs) -> anyhow::Result<Map<String, Value>> {
    ensure!(server.header.is_empty(), "headers are for servers with an address, not for programs");
    ensure!(!server.target.trim().is_empty(), "the command is empty");
    let mut entry = Map::from_iter([("command".to_owned(), json!(server.target))]);
    if !server.args.is_empty() {
        entry.insert("args".to_owned(), json!(server.args));
    }
    let variables = parse_pairs(&server.env, '=', "KEY=VALUE")?;
    if !variables.is_empty() {
        entry.insert("env".to_owned(), Value::Object(variables));
    }
    Ok(entry)
}

fn remote_entry(server: &McpAddArgs, kind: Option<McpTransportArg>) -> anyhow::Result<Map<String, Value>> {
    ensure!(server.env.is_empty(), "variables are for programs; a server with an address gets headers (`-H`)");
    ensure!(server.args.is_empty(), "arguments are for programs, not for a server with an address");
    let mut entry = Map::from_iter([("url".to_owned(), json!(server.target))]);
    match kind {
        Some(McpTransportArg::Http) => drop(entry.insert("type".to_owned(), json!("http"))),
        Some(McpTransportArg::Sse) => drop(entry.insert("type".to_owned(), json!("sse"))),
        Some(McpTransportArg::Stdio) | None => {}
    }
    let headers = parse_pairs(&server.header, ':', "NAME: VALUE")?;
    if !headers.is_empty() {
        entry.insert("headers".to_owned(), Value::Object(headers));
    }
    Ok(entry)
}

/// Parses `NAME=VALUE` or `NAME: VALUE`. An error does not contain the value, which may be secret.
fn parse_pairs(texts: &[String], sign: char, expected: &str) -> anyhow::Result<Map<String, Value>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(sign)?;
        let value = if sign == ':' { value.trim() } else { value };
        (!name.trim().is_empty()).then(|| (name.trim().to_owned(), json!(value)))
    };
    let mut all = Map::new();
    for (at, text) in texts.iter().enumerate() {
        let Some((name, value)) = pair(text) else { bail!("number {} is not {expected}", at + 1) };
        all.insert(name, value);
    }
    Ok(all)
}

/// Warns when the written entry is not in effect, or when a variable that it needs is not set.
fn warn_if_inactive(loaded: &LoadedConfig, server: &McpAddArgs) -> anyhow::Result<()> {
    let all = loaded.mcp_servers();
    let is_it = |name: &str| name == server.name;
    let source = settings_source(server);
    if let Some(found) = all.servers.iter().find(|one| is_it(&one.name) && one.origin == source) {
        if !found.unset_variables.is_empty() {
            output::warn(format!("nothing sets {}", found.unset_variables.join(", ")))?;
        }
        return Ok(());
    }
    let untrusted = !loaded.project.trust.is_trusted() && server.scope == McpScopeArg::Project;
    let why = match all.skipped.iter().find(|one| is_it(&one.name) && one.origin == source) {
        Some(left_out) => left_out.reason.to_string(),
        None if untrusted => "this folder is not trusted".to_owned(),
        None => "other settings have a server of that name, which is used instead".to_owned(),
    };
    output::warn(format!("it is not used here: {}", output::one_line(&why)))?;
    if untrusted {
        output::hint(TRUST_FOLDER_HINT)?;
    }
    Ok(())
}
