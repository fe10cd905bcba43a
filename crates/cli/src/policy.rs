//! `hookwright policy …`: which rules are in force, whether a file is one, and what they say on a call. Runs nothing, and
//! asks no hook.

use std::io::Write;

use anstyle::Style;
use anyhow::Context;
use hookwright_agent::session::tool_limits;
use hookwright_agent::{Approvals, Interaction, Permission, Policy, Protected, Rule, check_policy, load_policies};
use hookwright_hooks::{Diagnostic, canonical_tool_name};
use hookwright_settings::World;
use hookwright_tools::{ToolKind, ToolSet, WebSearching};
use serde_json::{Map, Value, json};

use crate::args::{Explain, PolicyArgs, PolicyCommand};
use crate::hooks::Toolbox;
use crate::out::{self, GOOD, Table, paint};
use crate::{exit, report};

/// Runs one of the commands.
pub(crate) fn run(args: &PolicyArgs, world: &World) -> anyhow::Result<u8> {
    match &args.command {
        PolicyCommand::List { json } => list(&Toolbox::open(&args.place, world)?, *json),
        PolicyCommand::Check { file, json } => {
            let found = check_policy(&world.cwd.join(file));
            let code = if found.is_broken() { exit::ERROR } else { exit::OK };
            if *json {
                out::json(
                    &json!({"ok": !found.is_broken(), "rules": found.rules.len(), "diagnostics": found.diagnostics}),
                )?;
                return Ok(code);
            }
            report::print(&found.diagnostics)?;
            match report::count(&found.diagnostics) {
                Some(count) => writeln!(out::stdout(), "{}: {count}", file.display())?,
                None => writeln!(out::stdout(), "{}: {}", file.display(), paint(GOOD, "no problems"))?,
            }
            Ok(code)
        }
        PolicyCommand::Explain(explain) => self::explain(&Toolbox::open(&args.place, world)?, explain),
    }
}

/// The rules as an interactive session has them: a broken file is told of, not fatal.
fn in_force(toolbox: &Toolbox) -> anyhow::Result<(Policy, Vec<Diagnostic>)> {
    Ok(load_policies(&toolbox.loaded, &[], Interaction::Interactive)?)
}

fn list(toolbox: &Toolbox, as_json: bool) -> anyhow::Result<u8> {
    let (policy, diagnostics) = in_force(toolbox)?;
    if as_json {
        let rules: Vec<Value> = policy.rules().iter().map(rule_json).collect();
        out::json(&json!({"broken": policy.is_broken(), "rules": rules, "diagnostics": diagnostics}))?;
        return Ok(if policy.is_broken() { exit::ERROR } else { exit::OK });
    }
    report::print(&diagnostics)?;
    let mut stdout = out::stdout();
    if policy.rules().is_empty() {
        writeln!(stdout, "no rules are in force")?;
    } else {
        let mut table = Table::new(&["DECISION", "TIER", "PRIORITY", "ABOUT", "WHERE"]);
        for rule in policy.rules() {
            let cells = [
                rule.decision.as_str().to_owned(),
                rule.tier.as_str().to_owned(),
                rule.priority.to_string(),
                about(rule),
                format!("{}:{}", rule.place.file.display(), rule.place.line),
            ];
            table.row(cells.into_iter().map(|cell| (Style::new(), cell)).collect());
        }
        table.print(&mut stdout)?;
    }
    Ok(if policy.is_broken() { exit::ERROR } else { exit::OK })
}

fn about(rule: &Rule) -> String {
    let tools = if rule.tools.is_empty() { "*".to_owned() } else { rule.tools.join(", ") };
    let server = rule.server.as_ref().map(|server| format!(" of {server}")).unwrap_or_default();
    let commands = if rule.prefixes.is_empty() { String::new() } else { format!(" ({})", rule.prefixes.join(", ")) };
    format!("{tools}{server}{commands}")
}

fn rule_json(rule: &Rule) -> Value {
    json!({
        "decision": rule.decision.as_str(), "tier": rule.tier.as_str(), "priority": rule.priority,
        "toolName": rule.tools, "mcpName": rule.server, "commandPrefix": rule.prefixes, "denyMessage": rule.message,
        "file": rule.place.file.as_ref(), "line": rule.place.line,
    })
}

fn explain(toolbox: &Toolbox, explain: &Explain) -> anyhow::Result<u8> {
    let args: Map<String, Value> = serde_json::from_str(&explain.args)
        .context("the arguments are no JSON object such as {\"command\": \"ls\"}")?;
    let (policy, diagnostics) = in_force(toolbox)?;
    let loaded = &toolbox.loaded;
    let tool = canonical_tool_name(&explain.tool);
    let tools = ToolSet::builtin(WebSearching::Impossible);
    // A tool that nobody knows may do anything.
    let kind = tools.get(tool).map_or(ToolKind::Execute, |tool| tool.kind());
    let mode = explain.mode.map_or(loaded.settings.general.approval_mode, Into::into);
    let approvals = Approvals::new(mode, loaded.settings.tools.allowed.clone(), policy);
    approvals.set_limits(tool_limits(loaded));
    approvals.set_protected(Protected::new(loaded, &[]));
    let judgement = approvals.judge(tool, kind, &args);
    let (code, word, words) = match judgement.permission {
        Permission::Granted => (exit::OK, "allow", None),
        Permission::Ask => (exit::ASK, "ask_user", None),
        Permission::Protected(path) => {
            let words = format!(
                "no mode, rule or list lets a tool change it unasked; \"!{path}\" in `security.protectedPaths` of your own \
                 settings does"
            );
            (exit::ASK, "ask_user", Some(words))
        }
        Permission::Refused(words) | Permission::Denied(words) => (exit::DENIED, "deny", Some(words)),
    };
    if explain.json {
        out::json(
            &json!({"tool": tool, "mode": mode.as_str(), "decision": word, "by": judgement.by, "message": words}),
        )?;
        return Ok(code);
    }
    report::print(&diagnostics)?;
    writeln!(out::stdout(), "{word}, by {}", judgement.by)?;
    if let Some(words) = words {
        writeln!(out::stdout(), "{words}")?;
    }
    Ok(code)
}
