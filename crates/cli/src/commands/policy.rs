//! `hookwright policy …`: lists the rules in force, checks a file of rules, and explains what the rules and modes
//! decide on a call. `explain` also names the hooks that would run, and runs them with `--fire`.

use std::io::Write;
use std::sync::Arc;

use anstyle::Style;
use anyhow::anyhow;
use hookwright_agent::session::tool_limits;
use hookwright_agent::{
    ApprovalSubject, Approvals, Interaction, Permission, Policy, PolicyRule, ProtectedPaths, check_policy_file,
    load_policies,
};
use hookwright_hooks::{AnyEvent, Diagnostic, EventKind, Source, canonical_tool_name, strict_json};
use hookwright_settings::ProcessEnv;
use hookwright_tools::{ToolKind, ToolSet, WebSearchSupport};
use serde_json::{Map, Value, json};

use crate::args::{PolicyCommand, PolicyExplainArgs, ProjectCommand};
use crate::commands::hooks::LoadedProject;
use crate::commands::hooks::fire::{exit_code, fire_once};
use crate::output::{self, GOOD, TextTable, paint};
use crate::{exit, output::diagnostics};

/// Runs one of the `policy` commands.
pub(crate) fn run(args: &ProjectCommand<PolicyCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    match &args.command {
        PolicyCommand::List { json } => list(&LoadedProject::open(&args.place, world)?, *json),
        PolicyCommand::Check { file, json } => {
            let found = check_policy_file(&world.cwd.join(file));
            let code = if found.is_broken() { exit::ERROR } else { exit::OK };
            if *json {
                output::print_json(
                    &json!({"ok": !found.is_broken(), "rules": found.rules.len(), "diagnostics": found.diagnostics}),
                )?;
                return Ok(code);
            }
            diagnostics::print(&found.diagnostics)?;
            match diagnostics::count_summary(&found.diagnostics) {
                Some(count) => writeln!(output::stdout(), "{}: {count}", file.display())?,
                None => writeln!(output::stdout(), "{}: {}", file.display(), paint(GOOD, "no problems"))?,
            }
            Ok(code)
        }
        PolicyCommand::Explain(explain) => self::explain(&LoadedProject::open(&args.place, world)?, explain),
    }
}

/// Loads the rules as an interactive session does: a broken file is reported, and is not fatal.
fn load_policy(toolbox: &LoadedProject) -> anyhow::Result<(Policy, Vec<Diagnostic>)> {
    Ok(load_policies(&toolbox.loaded, &[], Interaction::Interactive)?)
}

fn list(toolbox: &LoadedProject, as_json: bool) -> anyhow::Result<u8> {
    let (policy, diagnostics) = load_policy(toolbox)?;
    if as_json {
        let rules: Vec<Value> = policy.rules().iter().map(rule_json).collect();
        output::print_json(&json!({"broken": policy.is_broken(), "rules": rules, "diagnostics": diagnostics}))?;
        return Ok(if policy.is_broken() { exit::ERROR } else { exit::OK });
    }
    diagnostics::print(&diagnostics)?;
    let mut stdout = output::stdout();
    if policy.rules().is_empty() {
        writeln!(stdout, "no policy rules are in force")?;
    } else {
        let mut table = TextTable::new(&["DECISION", "TIER", "PRIORITY", "ABOUT", "WHERE"]);
        for rule in policy.rules() {
            let cells = [
                rule.decision.as_str().to_owned(),
                rule.tier.as_str().to_owned(),
                rule.priority.to_string(),
                rule_text(rule),
                format!("{}:{}", rule.location.file.display(), rule.location.line),
            ];
            table.add_row(cells.into_iter().map(|cell| (Style::new(), cell)).collect());
        }
        table.print(&mut stdout)?;
    }
    Ok(if policy.is_broken() { exit::ERROR } else { exit::OK })
}

fn rule_text(rule: &PolicyRule) -> String {
    let tools = if rule.tools.is_empty() { "*".to_owned() } else { rule.tools.join(", ") };
    let server = rule.server.as_ref().map(|server| format!(" of {server}")).unwrap_or_default();
    let commands = if rule.prefixes.is_empty() { String::new() } else { format!(" ({})", rule.prefixes.join(", ")) };
    let agent = rule.agent.as_ref().map(|agent| format!(" by agent {agent}")).unwrap_or_default();
    let exact = rule.exact.as_ref().map(|exact| format!(" (exactly {exact})")).unwrap_or_default();
    let place = rule.folder.as_ref().or(rule.project.as_ref());
    let place = place.map(|place| format!(" in {}", place.display())).unwrap_or_default();
    format!("{tools}{server}{commands}{exact}{agent}{place}")
}

fn rule_json(rule: &PolicyRule) -> Value {
    json!({
        "decision": rule.decision.as_str(), "tier": rule.tier.as_str(), "priority": rule.priority,
        "toolName": rule.tools, "mcpName": rule.server, "commandPrefix": rule.prefixes, "denyMessage": rule.message,
        "subagent": rule.agent, "exactCommand": rule.exact, "project": rule.project, "folder": rule.folder,
        "file": rule.location.file.as_ref(), "line": rule.location.line,
    })
}

fn explain(toolbox: &LoadedProject, explain: &PolicyExplainArgs) -> anyhow::Result<u8> {
    let args = strict_json::object_from_slice(explain.args.as_bytes())
        .map_err(|why| anyhow!("the arguments are not a JSON object such as {{\"command\": \"ls\"}}: {why}"))?;
    let (policy, diagnostics) = load_policy(toolbox)?;
    let loaded = &toolbox.loaded;
    let tool = canonical_tool_name(&explain.tool);
    let tools = ToolSet::builtin(WebSearchSupport::Unavailable);
    // An unknown tool may do anything.
    let kind = tools.get(tool).map_or(ToolKind::Execute, |tool| tool.kind());
    let mode = explain.mode.map_or(loaded.settings.general.approval_mode, Into::into);
    let approvals = Approvals::new(mode, loaded.settings.tools.allowed.clone(), policy);
    approvals.set_tool_limits(tool_limits(loaded));
    approvals.set_protected(Arc::new(ProtectedPaths::new(loaded, &[])));
    let call = ApprovalSubject { agent: explain.subagent.as_deref(), ..ApprovalSubject::new(tool, kind, &args) };
    let judgement = approvals.evaluate(&call);
    let hooks = AskedHooks::find(toolbox, tool, &args, explain.fire)?;
    let (rules, words) = match judgement.permission {
        Permission::Granted => (exit::OK, None),
        Permission::Ask => (exit::ASK, None),
        Permission::Protected(path) => {
            let words = format!(
                "no mode, rule or list lets a tool change it unasked; \"!{path}\" in `security.protectedPaths` of your own \
                 settings does"
            );
            (exit::ASK, Some(words))
        }
        Permission::Refused(words) | Permission::Denied(words) => (exit::DENIED, Some(words)),
    };
    // A denial outranks a question, and a question outranks an approval.
    let strictness = |code: u8| [exit::OK, exit::ASK, exit::DENIED].iter().position(|known| *known == code);
    let by_hooks = hooks.fire_result.as_ref().filter(|(code, _)| strictness(*code) > strictness(rules));
    let (code, by, words) = match by_hooks {
        Some((code, reason)) => (*code, "hooks".to_owned(), reason.clone()),
        None => (rules, judgement.decided_by, words),
    };
    let word = match code {
        exit::DENIED => "deny",
        exit::ASK => "ask_user",
        _ => "allow",
    };
    if explain.json {
        let hooks = hooks.to_json();
        output::print_json(
            &json!({"tool": tool, "mode": mode.as_str(), "decision": word, "by": by, "message": words, "hooks": hooks}),
        )?;
        return Ok(code);
    }
    diagnostics::print(&diagnostics)?;
    let mut stdout = output::stdout();
    writeln!(stdout, "{word}, by {by}")?;
    if let Some(words) = words {
        writeln!(stdout, "{words}")?;
    }
    writeln!(stdout, "{}", hooks.summary())?;
    Ok(code)
}

/// The hooks that run before a call.
struct AskedHooks {
    hooks: Vec<(String, Source)>,
    /// The result of the run, if the hooks were run: an exit code, and their reason.
    fire_result: Option<(u8, Option<String>)>,
}

impl AskedHooks {
    fn find(toolbox: &LoadedProject, tool: &str, args: &Map<String, Value>, fire: bool) -> anyhow::Result<AskedHooks> {
        let kind = EventKind::BeforeTool;
        let (plan, fired) = if fire {
            let fields = [("tool_name", Value::from(tool)), ("tool_input", Value::Object(args.clone()))];
            let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            let event = AnyEvent::from_fields(kind, fields)?;
            let fired = fire_once(toolbox, &event, Some(tool), "policy-explain")?;
            let code = fired.signal_exit_code.unwrap_or_else(|| exit_code(&fired.outcome));
            (fired.plan, Some((code, fired.outcome.merged.answer.reason)))
        } else {
            let engine = toolbox.engine(toolbox.engine_session("policy-explain", std::path::PathBuf::new()));
            (engine.plan(kind, Some(tool)), None)
        };
        let hooks = plan.iter().flat_map(|plan| &plan.hooks).map(|hook| (hook.id().to_owned(), hook.source.clone()));
        Ok(AskedHooks { hooks: hooks.collect(), fire_result: fired })
    }

    fn summary(&self) -> String {
        let names: Vec<String> =
            self.hooks.iter().map(|(name, source)| format!("{} ({source})", output::one_line(name))).collect();
        match (names.as_slice(), &self.fire_result) {
            ([], _) => "no hook would run".to_owned(),
            (names, None) => format!("hooks that would run first: {}; --fire runs them", names.join(", ")),
            (names, Some(_)) => format!("hooks that ran: {}", names.join(", ")),
        }
    }

    fn to_json(&self) -> Value {
        let fired = self.fire_result.as_ref();
        let hooks: Vec<Value> =
            self.hooks.iter().map(|(name, source)| json!({"name": name, "source": source.to_string()})).collect();
        json!({"asked": hooks, "fired": fired.is_some(), "reason": fired.and_then(|(_, reason)| reason.clone())})
    }
}
