//! The scope of an approval "for this session": a tool, a command or an MCP server.

use hookwright_analysis::command_parts::{parts, sole_command, sole_program};
use hookwright_tools::mcp::McpToolOrigin;
use serde_json::Value;

use super::ApprovalSubject;
use super::tool_lists::shell_command_arg;
use crate::event::ApprovalDemand;
use crate::skills::ACTIVATE_SKILL;

/// Returns the key of what an approval "for this session" covers.
///
/// For a shell command that is the same program and sub-command, for an MCP tool the tool as its
/// fingerprint was then, otherwise the tool.
pub(super) fn grant_key(call: &ApprovalSubject<'_>) -> String {
    let ApprovalSubject { tool, args, server, .. } = *call;
    if let Some(McpToolOrigin { server, tool, fingerprint: print, .. }) = server {
        return format!("{server:?} has {tool:?} as {print:x}");
    }
    match shell_command_arg(tool, args) {
        Some(command) => match session_grant_scope(command) {
            Some(words) => format!("{tool} begins {words}"),
            None => format!("{tool} is {command}"),
        },
        // Approval of one skill does not cover another.
        None if tool == ACTIVATE_SKILL => {
            format!("{tool} {}", args.get("name").and_then(Value::as_str).unwrap_or_default().to_lowercase())
        }
        None => tool.to_owned(),
    }
}

/// Returns the key of what an approval "for this session" covers where hooks demanded approval: the same call, as long
/// as no other hook demands it.
pub(super) fn demand_grant_key(call: &ApprovalSubject<'_>, demand: &ApprovalDemand) -> String {
    let mut args = call.args.clone();
    let tool = match call.server {
        Some(_) => grant_key(call),
        None => {
            // The model words these anew for each call.
            ["description", "instruction"].into_iter().for_each(|key| drop(args.remove(key)));
            call.tool.to_owned()
        }
    };
    let text = match shell_command_arg(call.tool, &args) {
        Some(command) if args.len() == 1 => command.to_owned(),
        _ => Value::Object(args).to_string(),
    };
    format!("{tool} is {text}, although hook {} asks", demand.hooks.join(", "))
}

/// Returns the key of what an approval of a whole server "for this session" covers.
pub(super) fn server_grant_key(call: &ApprovalSubject<'_>) -> Option<String> {
    call.server.map(|tool| format!("{:?} has everything", tool.server))
}

/// Returns the words of a command that an approval "for this session" covers.
///
/// That is the program with its sub-command (`git log`, `npm run build`), or a program whose arguments never change its
/// effect. `None` means that the approval covers exactly this command: shell syntax, other programs.
pub fn session_grant_scope(command: &str) -> Option<String> {
    /// Programs whose arguments only say what is read: their effect is always the same.
    const FIXED_EFFECT_PROGRAMS: &str = " basename cat cmp cut df diff dirname du echo egrep fgrep grep head id ls nl pwd \
        readlink realpath stat tail tr true type uname wc which whoami ";
    /// Programs whose first argument is the sub-command.
    const ONE_WORD_SUBCOMMAND_PROGRAMS: &str = " apt brew bun cargo docker git go helm kubectl make npm npx pip pnpm podman systemctl terraform \
        uv yarn ";
    /// Programs whose first two arguments are the sub-command.
    const TWO_WORD_SUBCOMMAND_PROGRAMS: &str = " aws az gcloud gh hookwright ";
    /// Sub-commands that run what the next word names.
    const RUN_SUBCOMMANDS: [&str; 4] = ["run", "exec", "run-script", "compose"];
    let program = sole_program(command)?;
    let parts = parts(command);
    if parts.commands.len() != 1 || !parts.is_clear() {
        return None;
    }
    let name = program.rsplit('/').next().unwrap_or(&program);
    let is_in = |list: &str| list.contains(&format!(" {name} "));
    if is_in(FIXED_EFFECT_PROGRAMS) {
        return Some(program);
    }
    let words = sole_command(command)?;
    let mut granted = vec![program.clone()];
    // For other programs it is unknown which of their arguments matter.
    let mut wanted = match () {
        () if is_in(ONE_WORD_SUBCOMMAND_PROGRAMS) => 1,
        () if is_in(TWO_WORD_SUBCOMMAND_PROGRAMS) => 2,
        () => return None,
    };
    for word in &words[1..] {
        // With an option before the sub-command, or a word that is no literal, the scope is unknown.
        let word = word.literal().filter(|word| !word.is_empty() && !word.starts_with('-') && !word.contains(' '))?;
        wanted += usize::from(RUN_SUBCOMMANDS.contains(&word.as_str()));
        granted.push(word);
        wanted -= 1;
        if wanted == 0 {
            return Some(granted.join(" "));
        }
    }
    None
}
