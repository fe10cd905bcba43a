//! One rule: what it is about, and whether it fits a call or a part of a command. Which rule decides is `decide.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::shell::{Fit, Naming, Part};
use hookwright_hooks::{Found, McpName, Place, Search, is_like};
use hookwright_settings::ApprovalMode;
use hookwright_tools::{DELEGATE_TO_AGENT, canonical_name};
use serde_json::{Map, Value};

use super::decide::{PolicyCall, View};
use crate::approval::command_of;
use crate::services::Interaction;

/// Whose rule it is; the later outranks the earlier, whatever their priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// What the user allowed for good in a dialog: weaker than every rule that somebody wrote.
    Remembered,
    /// An active extension's.
    Extension,
    /// The trusted project's; it can only tighten.
    Project,
    /// The user's own, and the command line's.
    User,
    /// The administrator's.
    Admin,
}

impl Tier {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Remembered => "remembered",
            Tier::Extension => "extension",
            Tier::Project => "project",
            Tier::User => "user",
            Tier::Admin => "admin",
        }
    }
}

/// A rule's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs unasked.
    Allow,
    /// The user is asked.
    AskUser,
    /// It does not run.
    Deny,
}

impl Decision {
    /// As it is written in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::AskUser => "ask_user",
            Decision::Deny => "deny",
        }
    }
}

/// One `[[rule]]`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Tools, with `*`; none means any.
    pub tools: Vec<String>,
    /// The MCP server whose tools it is about.
    pub server: Option<String>,
    /// How a command begins; any of them.
    pub prefixes: Vec<String>,
    /// The whole command line.
    pub exact: Option<String>,
    /// What it says.
    pub decision: Decision,
    /// What is said with a deny.
    pub message: Option<String>,
    /// Whose it is.
    pub tier: Tier,
    /// 0 to 999.
    pub priority: u16,
    /// Where it stands.
    pub place: Place,
    pub(super) args: Option<Arc<Search>>,
    pub(super) command: Option<Arc<Search>>,
    pub(super) modes: Vec<ApprovalMode>,
    pub(super) interactive: Option<bool>,
    pub(super) allows_redirection: bool,
    /// The sub-agent whose calls it is about.
    pub agent: Option<String>,
    /// What it is called.
    pub name: Option<String>,
    /// The project that it counts in.
    pub project: Option<PathBuf>,
    /// The folder in which files may be changed.
    pub folder: Option<PathBuf>,
    /// It asks for what no call here has.
    pub(super) never: bool,
}

impl Rule {
    /// Whether it is only about some commands or arguments of its tools.
    fn is_conditional(&self) -> bool {
        !self.prefixes.is_empty() || self.exact.is_some() || self.command.is_some() || self.args.is_some()
    }

    pub(super) fn fit(&self, call: &PolicyCall<'_>, view: View<'_>, interaction: Interaction) -> Fit {
        let about = !self.never
            && (self.modes.is_empty() || self.modes.contains(&call.mode))
            && self.interactive.is_none_or(|wanted| wanted == (interaction == Interaction::Interactive))
            && self.agent.as_deref().is_none_or(|name| call.agent == Some(name))
            && (self.is_about(call) || self.is_about_agent(call));
        if !about || self.project.as_deref().is_some_and(|project| call.project != Some(project)) {
            return Fit::No;
        }
        if self.exact.as_deref().is_some_and(|exact| command_of(call.tool, call.args) != Some(exact)) {
            return Fit::No;
        }
        if let Some(folder) = &self.folder {
            return both(self.fits_folder(folder, call), self.fits_view(call, view));
        }
        self.fits_view(call, view)
    }

    /// Whether an edit is one of a file in the folder. What nobody can tell is no yes, and may be a no.
    fn fits_folder(&self, folder: &Path, call: &PolicyCall<'_>) -> Fit {
        match call.file {
            _ if !matches!(call.tool, "write_file" | "replace") => Fit::No,
            Some(file) if file.starts_with(folder) && file != folder => Fit::Yes,
            Some(_) => Fit::No,
            None if self.decision == Decision::Allow => Fit::No,
            None => Fit::Maybe,
        }
    }

    fn fits_view(&self, call: &PolicyCall<'_>, view: View<'_>) -> Fit {
        match view {
            View::Call if !self.prefixes.is_empty() || self.command.is_some() => Fit::No,
            View::Call => self.fits_args(call.args, None),
            View::Unknown if self.is_conditional() => Fit::Maybe,
            View::Unknown => Fit::Yes,
            View::Part(part) => self.fits_part(call.args, part),
            // What begins like the whole begins like its first part, which has been looked at.
            View::Whole(_) if !self.prefixes.is_empty() || self.decision == Decision::Allow => Fit::No,
            View::Whole(_) if self.command.is_none() && self.args.is_none() => Fit::No,
            View::Whole(text) => both(self.fits_command(text), self.fits_args(call.args, None)),
        }
    }

    /// Whether it names the agent that is delegated to, as if that were a tool.
    fn is_about_agent(&self, call: &PolicyCall<'_>) -> bool {
        let agent = || call.args.get("agent_name")?.as_str();
        call.tool == DELEGATE_TO_AGENT && agent().is_some_and(|agent| self.tools.iter().any(|name| name == agent))
    }

    fn is_about(&self, call: &PolicyCall<'_>) -> bool {
        let tool = call.tool;
        let allows = self.decision == Decision::Allow;
        if let Some(server) = &self.server {
            let Some(mcp) = call.mcp else { return false };
            let is_of = if allows { mcp.is_surely_of(server, call.others) } else { mcp.may_be_of(server) };
            let named = |name: &String| mcp.is_tool(name) || is_like(tool, name) || self.means(name, mcp, call.others);
            return is_of && (self.tools.is_empty() || self.tools.iter().any(named));
        }
        let about_commands = !self.prefixes.is_empty() || self.exact.is_some() || self.command.is_some();
        let shell_only = self.tools.is_empty() && about_commands;
        if shell_only {
            return tool == "run_shell_command";
        }
        // What allows `mcp_a_*` does not mean server `a_b`, although its tools' names begin so.
        let is_plain = |name: &str| !(allows && call.mcp.is_some() && name.starts_with("mcp_"));
        let named = |name: &String| {
            (is_plain(name) && is_like(tool, name))
                || canonical_name(name) == tool
                || call.mcp.is_some_and(|mcp| self.means(name, mcp, call.others))
        };
        self.tools.is_empty() || self.tools.iter().any(named)
    }

    /// Whether a name means a server's tool: a no in every reading, a yes in its only one.
    fn means(&self, name: &str, mcp: McpName<'_>, others: &[String]) -> bool {
        if self.decision == Decision::Allow { mcp.is_surely(name, others) } else { mcp.may_be(name) }
    }

    fn fits_part(&self, args: &Map<String, Value>, part: &Part) -> Fit {
        // A program elsewhere is another program: nobody allowed it. To deny, its name is enough.
        let naming = if self.decision == Decision::Allow { Naming::Exact } else { Naming::AnyDirectory };
        let prefix = match self.prefixes.as_slice() {
            [] => Fit::Yes,
            prefixes => prefixes.iter().map(|prefix| part.begins_with(prefix, naming)).fold(Fit::No, either),
        };
        both(prefix, both(self.fits_command(&part.text), self.fits_args(args, Some(&part.text))))
    }

    fn fits_command(&self, text: &str) -> Fit {
        self.command.as_ref().map_or(Fit::Yes, |pattern| self.searched(pattern, text, |start| start == 0))
    }

    /// Tests the arguments' JSON, with a part in the command's place.
    fn fits_args(&self, args: &Map<String, Value>, command: Option<&str>) -> Fit {
        let Some(pattern) = &self.args else { return Fit::Yes };
        let mut args = args.clone();
        if let Some(command) = command {
            args.insert("command".to_owned(), command.into());
        }
        self.searched(pattern, &stable_json(&Value::Object(args)), |_| true)
    }

    /// Where nobody can tell in reasonable time, what forbids counts and what allows does not.
    fn searched(&self, pattern: &Search, text: &str, counts: impl Fn(usize) -> bool) -> Fit {
        match pattern.find(text) {
            Found::At(start) if counts(start) => Fit::Yes,
            Found::TooMuchWork if self.decision != Decision::Allow => Fit::Yes,
            Found::At(_) | Found::Nowhere | Found::TooMuchWork => Fit::No,
        }
    }
}

fn both(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::No, _) | (_, Fit::No) => Fit::No,
        (Fit::Yes, Fit::Yes) => Fit::Yes,
        _ => Fit::Maybe,
    }
}

fn either(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::No, Fit::No) => Fit::No,
        _ => Fit::Maybe,
    }
}

/// JSON without spaces whose keys are sorted, so that patterns can rely on it.
fn stable_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entry =
                |(key, value): (&String, &Value)| format!("{}:{}", Value::from(key.as_str()), stable_json(value));
            format!("{{{}}}", entries.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(stable_json).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
