//! Combines all rules into a verdict on a call.
//!
//! A shell command is judged by every command that it runs: a denial of one denies it, an allowance must cover them
//! all, and a command that cannot be read is never allowed by a rule about commands.

use std::path::Path;

use hookwright_analysis::command_parts::{Fit, Part, parts};
use hookwright_hooks::McpToolName;
use hookwright_settings::ApprovalMode;
use serde_json::{Map, Value};

use super::Policy;
use super::rule::{PolicyRule, RuleDecision};
use crate::approval::shell_command_arg;

/// A tool call to be judged by a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyCall<'a> {
    pub(crate) tool: &'a str,
    /// The MCP name of the call, if it concerns an MCP server.
    pub(crate) mcp_name: Option<McpToolName<'a>>,
    pub(crate) other_servers: &'a [String],
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) mode: ApprovalMode,
    /// The sub-agent that makes the call.
    pub(crate) agent: Option<&'a str>,
    /// The project of the session.
    pub(crate) project: Option<&'a Path>,
    /// The file that the call edits, with links resolved, if it lies in the project.
    pub(crate) file: Option<&'a Path>,
}

/// The part of a call that a rule is matched against.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuleTarget<'a> {
    /// A call that is not a shell command.
    Call,
    /// One of the commands that a command line runs.
    CommandPart(&'a Part),
    /// A command that cannot be read from the command line.
    UnknownCommand,
    /// The whole command line; only for rules that deny or ask.
    CommandLine(&'a str),
}

/// The verdict of a policy, with the rule that decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleVerdict<'p> {
    pub(crate) decision: RuleDecision,
    pub(crate) rule: &'p PolicyRule,
    /// The position of the rule in the policy.
    rank: usize,
}

impl Policy {
    pub(crate) fn decide(&self, call: &PolicyCall<'_>) -> Option<RuleVerdict<'_>> {
        let Some(command) = shell_command_arg(call.tool, call.args) else {
            return self.strongest_match(call, RuleTarget::Call);
        };
        if self.rules.is_empty() {
            return None;
        }
        let parts = parts(command);
        let mut verdicts: Vec<_> =
            parts.commands.iter().map(|part| self.strongest_match(call, RuleTarget::CommandPart(part))).collect();
        if !parts.certain || parts.commands.is_empty() {
            verdicts.push(self.strongest_match(call, RuleTarget::UnknownCommand));
        }
        // Where not everything can be told, a deny of what may run holds.
        let possible = parts.possible.iter().map(|part| self.strongest_match(call, RuleTarget::CommandPart(part)));
        verdicts.extend(possible.filter(|verdict| verdict.is_some_and(|one| one.decision == RuleDecision::Deny)));
        // Code for an interpreter may run anything, which does not speak against a rule that allows the interpreter.
        // Code that other programs run is uncertain, so no rule about commands allows it.
        let hidden = parts.code.then(|| self.strongest_match(call, RuleTarget::UnknownCommand)).flatten();
        verdicts.extend(hidden.filter(|verdict| verdict.decision != RuleDecision::Allow).map(Some));
        if let Some(whole) = self.strongest_match(call, RuleTarget::CommandLine(command)) {
            let outranked = |verdict: &Option<RuleVerdict<'_>>| verdict.is_some_and(|one| one.rank < whole.rank);
            if !verdicts.iter().all(outranked) {
                verdicts.push(Some(whole));
            }
        }
        strictest_verdict(&verdicts)
    }

    /// Returns the verdict of the strongest rule that matches.
    fn strongest_match(&self, call: &PolicyCall<'_>, view: RuleTarget<'_>) -> Option<RuleVerdict<'_>> {
        for (rank, rule) in self.rules.iter().enumerate() {
            let decision = match (rule.match_call(call, view, self.interaction), rule.decision) {
                (Fit::No, _) | (Fit::Maybe, RuleDecision::Allow) => continue,
                (Fit::Maybe, _) => RuleDecision::AskUser,
                (Fit::Yes, RuleDecision::Allow) if redirects_output(view) && !rule.allows_redirection => return None,
                (Fit::Yes, decision) => decision,
            };
            return Some(RuleVerdict { decision, rule, rank });
        }
        None
    }
}

fn redirects_output(view: RuleTarget<'_>) -> bool {
    matches!(view, RuleTarget::CommandPart(part) if part.redirects)
}

/// Returns a denial if there is one, then a demand for approval; an allowance only if every part has one.
fn strictest_verdict<'p>(verdicts: &[Option<RuleVerdict<'p>>]) -> Option<RuleVerdict<'p>> {
    let of = |decision| verdicts.iter().flatten().find(move |verdict| verdict.decision == decision).copied();
    of(RuleDecision::Deny)
        .or_else(|| of(RuleDecision::AskUser))
        .or_else(|| of(RuleDecision::Allow).filter(|_| verdicts.iter().all(Option::is_some)))
}

#[cfg(test)]
mod tests {
    use super::super::policy_file::read_policy_file;
    use super::super::rule::PolicyTier;
    use super::*;

    fn policy(files: &[(PolicyTier, &str)]) -> Policy {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("p.toml");
        let rules = files.iter().flat_map(|(tier, text)| {
            std::fs::write(&file, text).unwrap();
            let read = read_policy_file(&file, *tier);
            assert!(!read.is_broken(), "{:?}", read.diagnostics);
            read.rules
        });
        Policy::new(rules.collect())
    }

    fn decide(policy: &Policy, tool: &str, args: Value) -> Option<RuleDecision> {
        decide_for(None, policy, tool, args)
    }

    fn decide_for(agent: Option<&str>, policy: &Policy, tool: &str, args: Value) -> Option<RuleDecision> {
        let args = args.as_object().unwrap().clone();
        let mcp = McpToolName::parse(tool);
        let call = PolicyCall {
            tool,
            mcp_name: mcp,
            other_servers: &[],
            args: &args,
            mode: ApprovalMode::Default,
            agent,
            project: None,
            file: None,
        };
        policy.decide(&call).map(|verdict| verdict.decision)
    }

    fn rule(tool: &str, decision: &str, priority: u16) -> String {
        format!("[[rule]]\ntoolName = \"{tool}\"\ndecision = \"{decision}\"\npriority = {priority}\n")
    }

    #[test]
    fn tier_outranks_priority_and_priority_outranks_order() {
        let (weak, strong) = (rule("glob", "deny", 0), rule("glob", "allow", 999));
        let tiers = [PolicyTier::Extension, PolicyTier::Project, PolicyTier::User, PolicyTier::Admin];
        for pair in tiers.windows(2) {
            let both = policy(&[(pair[0], &strong), (pair[1], &weak)]);
            assert_eq!(decide(&both, "glob", serde_json::json!({})), Some(RuleDecision::Deny), "{pair:?}");
        }
        let one = policy(&[(PolicyTier::User, &weak), (PolicyTier::User, &strong)]);
        assert_eq!(decide(&one, "glob", serde_json::json!({})), Some(RuleDecision::Allow));
        assert_eq!(decide(&one, "replace", serde_json::json!({})), None);
    }

    #[test]
    fn tool_names_support_wildcards_and_servers() {
        let by = |text: &str, tool: &str| {
            decide(&policy(&[(PolicyTier::User, text)]), tool, serde_json::json!({})).is_some()
        };
        for (pattern, tool, fits) in [
            ("*", "glob", true),
            ("mcp_*", "mcp__git__log", true),
            ("mcp__git__*", "mcp__git__log", true),
            ("mcp__git__*", "mcp__hub__log", false),
            ("mcp_*_log", "mcp_git_log", true),
            ("mcp_*", "glob", false),
            ("EditTool", "replace", true),
        ] {
            assert_eq!(by(&rule(pattern, "deny", 1), tool), fits, "{pattern} {tool}");
        }
        let server = "[[rule]]\nmcpName = \"git\"\ntoolName = \"log\"\ndecision = \"deny\"\n";
        assert!(by(server, "mcp__git__log") && !by(server, "mcp__hub__log") && !by(server, "log"));
    }

    #[test]
    fn agent_rule_applies_to_that_agent_only() {
        let rule = |word| format!("[[rule]]\nsubagent = \"scout\"\ntoolName = \"glob\"\ndecision = \"{word}\"\n");
        for (word, decision) in
            [("deny", Some(RuleDecision::Deny)), ("ask_user", Some(RuleDecision::AskUser)), ("allow", None)]
        {
            let policy = policy(&[(PolicyTier::User, &rule(word))]);
            let by = |agent| decide_for(agent, &policy, "glob", serde_json::json!({}));
            assert_eq!((by(Some("scout")), by(Some("guide")), by(None)), (decision, None, None), "{word}");
        }
    }

    #[test]
    fn allow_must_cover_every_part() {
        let allow = "[[rule]]\ncommandPrefix = [\"git log\", \"ls\"]\ndecision = \"allow\"\n\
                     [[rule]]\ncommandRegex = \"echo [a-z]+$\"\ndecision = \"allow\"\n";
        let policy = policy(&[(PolicyTier::User, allow)]);
        let shell = |command: &str| decide(&policy, "run_shell_command", serde_json::json!({"command": command}));
        for command in ["git log -1", "ls && git log", "ls | ls $(git log)", "echo a; ls"] {
            assert_eq!(shell(command), Some(RuleDecision::Allow), "{command}");
        }
        for command in ["git push", "ls; make", "ls > x", "/tmp/ls", "$X", "ls $(make)", "sudo ls", "echo A", "A=1 ls"]
        {
            assert_eq!(shell(command), None, "{command}");
        }
    }

    #[test]
    fn allow_does_not_cover_unnamed_code_or_output_files() {
        let allow = "[[rule]]\ncommandPrefix = [\"sed\", \"find\", \"man\", \"tar\", \"sort\", \"git\", \"rg\", \"printf\", \
                     \"python3\", \"awk\", \"make\", \"split\", \"cp\", \"./x\", \"ls\", \"test\"]\ndecision = \"allow\"\n";
        let policy = policy(&[(PolicyTier::User, allow)]);
        let shell = |command: &str| decide(&policy, "run_shell_command", serde_json::json!({"command": command}));
        for command in [
            "sed -n '1,5p' f",
            "sed 's/a/b/' f",
            "find . -name x",
            "man ls",
            "tar -czf x y",
            "sort -u x",
            "git log -1",
            "rg x y",
            "printf x",
            "python3 -c 'print(1)'",
            "awk 'BEGIN{system(\"date\")}'",
            "find . -exec ls {} +",
        ] {
            assert_eq!(shell(command), Some(RuleDecision::Allow), "{command}");
        }
        for command in [
            "sed -n '1e touch P' f",
            "sed 'w x' f",
            "find . -delete",
            "find . -fprintf x y",
            "find . -exec touch {} +",
            "man -P 'touch P' ls",
            "tar --checkpoint-action=exec=x -cf x y",
            "tar --to-command=x -xf y",
            "tar -I x -xf y",
            "sort -o x y",
            "sort --compress-program=x y",
            "git log --output=x",
            "git grep -O'touch P' y",
            "git -c core.pager=x log",
            "rg --pre x y",
            "printf -v PATH .",
            "make --eval='$(shell touch P)'",
            "split --filter='touch P' f",
            "cp /bin/touch x; ./x P",
            "test -v 'a[$(touch P)]'",
            "PATH=.; ls",
        ] {
            assert_eq!(shell(command), None, "{command}");
        }
    }

    #[test]
    fn uncertain_deny_asks_the_user() {
        let text = "[[rule]]\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 5\n\
                    [[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\n\
                    [[rule]]\nargsPattern = '\"file_path\":\"secret'\ndecision = \"deny\"\npriority = 6\n";
        let policy = policy(&[(PolicyTier::User, text)]);
        let shell = |command: &str| decide(&policy, "run_shell_command", serde_json::json!({"command": command}));
        assert_eq!(shell("ls && git push -f"), Some(RuleDecision::Deny));
        assert_eq!(shell("git $X"), Some(RuleDecision::AskUser));
        assert_eq!(shell("$X"), Some(RuleDecision::AskUser));
        assert_eq!(shell("git log"), Some(RuleDecision::Allow));
        let write = |file: &str| decide(&policy, "write_file", serde_json::json!({"file_path": file}));
        assert_eq!((write("secret.txt"), write("a.txt")), (Some(RuleDecision::Deny), Some(RuleDecision::Allow)));
    }
}
