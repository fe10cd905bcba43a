//! What all rules together say on a call. A shell command is judged by every command it runs: a deny on one denies,
//! an allow must cover them all, and what the text does not tell is never allowed by a rule about commands.

use std::path::Path;

use hookwright_hooks::McpName;
use hookwright_hooks::shell::{Fit, Part, parts};
use hookwright_settings::ApprovalMode;
use serde_json::{Map, Value};

use super::Policy;
use super::rule::{Decision, Rule};
use crate::approval::command_of;

/// A call to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyCall<'a> {
    pub(crate) tool: &'a str,
    /// What it is called, if it has to do with an MCP server; and what all other servers are.
    pub(crate) mcp: Option<McpName<'a>>,
    pub(crate) others: &'a [String],
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) mode: ApprovalMode,
    /// The sub-agent whose call it is.
    pub(crate) agent: Option<&'a str>,
    /// The project that it is made in.
    pub(crate) project: Option<&'a Path>,
    /// The file that it edits, links followed, if it edits one in the project.
    pub(crate) file: Option<&'a Path>,
}

/// What a rule is held against.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    /// A call that is no shell command.
    Call,
    /// One of the commands that a command line runs.
    Part(&'a Part),
    /// A command that nobody can see.
    Unknown,
    /// The command line as it stands; only to tighten.
    Whole(&'a str),
}

/// What the rules say, and by which of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict<'p> {
    pub(crate) decision: Decision,
    pub(crate) rule: &'p Rule,
    /// The rule's place among all.
    rank: usize,
}

impl Policy {
    pub(crate) fn decide(&self, call: &PolicyCall<'_>) -> Option<Verdict<'_>> {
        let Some(command) = command_of(call.tool, call.args) else { return self.first(call, View::Call) };
        if self.rules.is_empty() {
            return None;
        }
        let parts = parts(command);
        let mut verdicts: Vec<_> = parts.commands.iter().map(|part| self.first(call, View::Part(part))).collect();
        if !parts.certain || parts.commands.is_empty() {
            verdicts.push(self.first(call, View::Unknown));
        }
        // Code for an interpreter may run anything; that is no reason against whoever allows the interpreter. Code that other
        // programs run is not certain, so no rule about commands allows it.
        let hidden = parts.code.then(|| self.first(call, View::Unknown)).flatten();
        verdicts.extend(hidden.filter(|verdict| verdict.decision != Decision::Allow).map(Some));
        if let Some(whole) = self.first(call, View::Whole(command)) {
            let outranked = |verdict: &Option<Verdict<'_>>| verdict.is_some_and(|one| one.rank < whole.rank);
            if !verdicts.iter().all(outranked) {
                verdicts.push(Some(whole));
            }
        }
        strictest(&verdicts)
    }

    /// The strongest rule that fits.
    fn first(&self, call: &PolicyCall<'_>, view: View<'_>) -> Option<Verdict<'_>> {
        for (rank, rule) in self.rules.iter().enumerate() {
            let decision = match (rule.fit(call, view, self.interaction), rule.decision) {
                (Fit::No, _) | (Fit::Maybe, Decision::Allow) => continue,
                (Fit::Maybe, _) => Decision::AskUser,
                (Fit::Yes, Decision::Allow) if writes(view) && !rule.allows_redirection => return None,
                (Fit::Yes, decision) => decision,
            };
            return Some(Verdict { decision, rule, rank });
        }
        None
    }
}

fn writes(view: View<'_>) -> bool {
    matches!(view, View::Part(part) if part.redirects)
}

/// Any deny, then any ask; an allow only if there is one for each.
fn strictest<'p>(verdicts: &[Option<Verdict<'p>>]) -> Option<Verdict<'p>> {
    let of = |decision| verdicts.iter().flatten().find(move |verdict| verdict.decision == decision).copied();
    of(Decision::Deny)
        .or_else(|| of(Decision::AskUser))
        .or_else(|| of(Decision::Allow).filter(|_| verdicts.iter().all(Option::is_some)))
}

#[cfg(test)]
mod tests {
    use super::super::load::read;
    use super::super::rule::Tier;
    use super::*;

    fn policy(files: &[(Tier, &str)]) -> Policy {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("p.toml");
        let rules = files.iter().flat_map(|(tier, text)| {
            std::fs::write(&file, text).unwrap();
            let read = read(&file, *tier);
            assert!(!read.is_broken(), "{:?}", read.diagnostics);
            read.rules
        });
        Policy::new(rules.collect())
    }

    fn decide(policy: &Policy, tool: &str, args: Value) -> Option<Decision> {
        decide_for(None, policy, tool, args)
    }

    fn decide_for(agent: Option<&str>, policy: &Policy, tool: &str, args: Value) -> Option<Decision> {
        let args = args.as_object().unwrap().clone();
        let mcp = McpName::read(tool);
        let call = PolicyCall {
            tool,
            mcp,
            others: &[],
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
    fn a_tier_outranks_every_priority_and_a_priority_every_order() {
        let (weak, strong) = (rule("glob", "deny", 0), rule("glob", "allow", 999));
        let tiers = [Tier::Extension, Tier::Project, Tier::User, Tier::Admin];
        for pair in tiers.windows(2) {
            let both = policy(&[(pair[0], &strong), (pair[1], &weak)]);
            assert_eq!(decide(&both, "glob", serde_json::json!({})), Some(Decision::Deny), "{pair:?}");
        }
        let one = policy(&[(Tier::User, &weak), (Tier::User, &strong)]);
        assert_eq!(decide(&one, "glob", serde_json::json!({})), Some(Decision::Allow));
        assert_eq!(decide(&one, "replace", serde_json::json!({})), None);
    }

    #[test]
    fn names_have_wildcards_and_servers() {
        let by = |text: &str, tool: &str| decide(&policy(&[(Tier::User, text)]), tool, serde_json::json!({})).is_some();
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
    fn a_rule_for_an_agent_is_for_no_other_and_allows_nothing() {
        let rule = |word| format!("[[rule]]\nsubagent = \"scout\"\ntoolName = \"glob\"\ndecision = \"{word}\"\n");
        for (word, decision) in [("deny", Some(Decision::Deny)), ("ask_user", Some(Decision::AskUser)), ("allow", None)]
        {
            let policy = policy(&[(Tier::User, &rule(word))]);
            let by = |agent| decide_for(agent, &policy, "glob", serde_json::json!({}));
            assert_eq!((by(Some("scout")), by(Some("guide")), by(None)), (decision, None, None), "{word}");
        }
    }

    #[test]
    fn an_allow_covers_every_part_and_nothing_uncertain() {
        let allow = "[[rule]]\ncommandPrefix = [\"git log\", \"ls\"]\ndecision = \"allow\"\n\
                     [[rule]]\ncommandRegex = \"echo [a-z]+$\"\ndecision = \"allow\"\n";
        let policy = policy(&[(Tier::User, allow)]);
        let shell = |command: &str| decide(&policy, "run_shell_command", serde_json::json!({"command": command}));
        for command in ["git log -1", "ls && git log", "ls | ls $(git log)", "echo a; ls"] {
            assert_eq!(shell(command), Some(Decision::Allow), "{command}");
        }
        for command in ["git push", "ls; make", "ls > x", "/tmp/ls", "$X", "ls $(make)", "sudo ls", "echo A", "A=1 ls"]
        {
            assert_eq!(shell(command), None, "{command}");
        }
    }

    #[test]
    fn an_allow_covers_no_code_and_no_output_file_that_it_does_not_name() {
        let allow = "[[rule]]\ncommandPrefix = [\"sed\", \"find\", \"man\", \"tar\", \"sort\", \"git\", \"rg\", \"printf\", \
                     \"python3\", \"awk\", \"make\", \"split\", \"cp\", \"./x\", \"ls\", \"test\"]\ndecision = \"allow\"\n";
        let policy = policy(&[(Tier::User, allow)]);
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
            assert_eq!(shell(command), Some(Decision::Allow), "{command}");
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
    fn a_deny_that_may_be_meant_is_asked() {
        let text = "[[rule]]\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 5\n\
                    [[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\n\
                    [[rule]]\nargsPattern = '\"file_path\":\"secret'\ndecision = \"deny\"\npriority = 6\n";
        let policy = policy(&[(Tier::User, text)]);
        let shell = |command: &str| decide(&policy, "run_shell_command", serde_json::json!({"command": command}));
        assert_eq!(shell("ls && git push -f"), Some(Decision::Deny));
        assert_eq!(shell("git $X"), Some(Decision::AskUser));
        assert_eq!(shell("$X"), Some(Decision::AskUser));
        assert_eq!(shell("git log"), Some(Decision::Allow));
        let write = |file: &str| decide(&policy, "write_file", serde_json::json!({"file_path": file}));
        assert_eq!((write("secret.txt"), write("a.txt")), (Some(Decision::Deny), Some(Decision::Allow)));
    }
}
