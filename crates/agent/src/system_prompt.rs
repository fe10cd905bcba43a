//! The system prompt: rules (`system.md`, or the user's own), facts about the session, skills, and context files.
//!
//! The same facts give the same text, so that providers can cache it.

use std::path::{Path, PathBuf};

use hookwright_settings::ApprovalMode;

use crate::services::Interaction;

const DEFAULT_RULES: &str = include_str!("system.md");

/// The facts about the session that the system prompt states.
#[derive(Clone, Debug)]
pub struct SystemPromptFacts<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The other directories of the workspace.
    pub extra_directories: &'a [PathBuf],
    /// The operating system.
    pub os: &'a str,
    /// The date, as `2026-01-31`. The time would change the prompt with every request.
    pub date: &'a str,
    /// Whether the working directory is in a git repository.
    pub git_repository: bool,
    /// Whether a user is present who can be asked.
    pub interaction: Interaction,
    /// The approval mode, which says what runs without approval.
    pub approval_mode: ApprovalMode,
    /// The list of skills that can be activated, one per line.
    pub skills: &'a str,
    /// The text of the context files.
    pub memory: &'a str,
    /// The user's own rules in place of the default ones.
    pub override_text: Option<String>,
}

/// Returns the whole system prompt.
pub fn system_prompt(facts: &SystemPromptFacts<'_>) -> String {
    let rules = facts.override_text.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(DEFAULT_RULES);
    let mut prompt = format!("{}\n\n## This session\n\n", rules.trim_end());
    for line in session_lines(facts) {
        prompt.push_str(&format!("- {line}\n"));
    }
    if !facts.skills.trim().is_empty() {
        prompt.push_str(
            "\n## Skills\n\nInstructions for some kinds of tasks can be loaded with activate_skill. When a task fits one of \
             these descriptions, load that skill first, and follow it as far as the rules above and the user's words \
             allow.\n\n<available_skills>\n",
        );
        prompt.push_str(facts.skills.trim_end());
        prompt.push_str("\n</available_skills>\n");
    }
    if !facts.memory.trim().is_empty() {
        prompt.push_str(
            "\n## From the user's context files\n\nThe user and the project have written the following for you. It adds to \
             the rules above and goes before general habits. Where two files differ, the later one counts.\n\n",
        );
        prompt.push_str(facts.memory.trim_end());
        prompt.push('\n');
    }
    prompt
}

fn session_lines(facts: &SystemPromptFacts<'_>) -> Vec<String> {
    let mut lines = vec![format!("Working directory: {}", facts.cwd.display())];
    if !facts.extra_directories.is_empty() {
        let named: Vec<String> = facts.extra_directories.iter().map(|path| path.display().to_string()).collect();
        lines.push(format!("Other directories of the workspace: {}", named.join(", ")));
    }
    lines.push(format!("Operating system: {}", facts.os));
    lines.push(format!("Date: {}", facts.date));
    lines.push(format!("Git repository: {}", if facts.git_repository { "yes" } else { "no" }));
    let interaction = match facts.interaction {
        Interaction::Interactive => "Interactive: the user reads along and can answer.",
        Interaction::Headless => {
            "Headless: nobody can answer. Do not ask; decide sensibly, finish, and make the last message complete in itself."
        }
    };
    lines.push(interaction.to_owned());
    lines.push(format!("Approval mode {}", approval_line(facts)));
    lines
}

fn approval_line(facts: &SystemPromptFacts<'_>) -> &'static str {
    match (facts.approval_mode, facts.interaction) {
        (ApprovalMode::Default, Interaction::Interactive) => {
            "default: the user is asked before anything changes files, runs programs or uses the network."
        }
        (ApprovalMode::Default, Interaction::Headless) => {
            "default: calls that would change files, run programs or use the network may be refused."
        }
        (ApprovalMode::AutoEdit, Interaction::Interactive) => {
            "auto_edit: edits run unasked; the user is asked before programs run or the network is used."
        }
        (ApprovalMode::AutoEdit, Interaction::Headless) => {
            "auto_edit: edits run; calls that would run programs or use the network may be refused."
        }
        (ApprovalMode::Yolo, _) => "yolo: every call runs unasked. Nobody stands between you and a mistake; take care.",
        (ApprovalMode::Plan, _) => {
            "plan: look, do not touch. Calls that change anything are refused. Study the matter, then answer with a plan: \
             what to change, where, in which order, and how to check it. Do not start on it."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> SystemPromptFacts<'static> {
        SystemPromptFacts {
            cwd: Path::new("/w"),
            extra_directories: &[],
            os: "linux",
            date: "2026-01-31",
            git_repository: true,
            interaction: Interaction::Interactive,
            approval_mode: ApprovalMode::Default,
            skills: "",
            memory: "",
            override_text: None,
        }
    }

    #[test]
    fn prompt_orders_rules_facts_and_memory() {
        let prompt = system_prompt(&SystemPromptFacts { memory: "=== From GEMINI.md ===\nTabs.", ..facts() });
        let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(at("<hook_context>") < at("Working directory: /w"));
        assert!(at("Git repository: yes") < at("Tabs."));
        assert!(!prompt.contains("available_skills"));
        let prompt = system_prompt(&SystemPromptFacts { memory: "Tabs.", skills: "- pdf: reads\n", ..facts() });
        let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(at("<available_skills>\n- pdf: reads\n</available_skills>\n") < at("Tabs."));
        assert!(!prompt.contains("Other directories"));
        assert!(DEFAULT_RULES.lines().count() <= 80);
    }

    #[test]
    fn without_memory_there_is_no_heading_for_it() {
        let prompt = system_prompt(&SystemPromptFacts { memory: " \n", ..facts() });
        assert!(!prompt.contains("context files"));
        assert_eq!(prompt, system_prompt(&facts()));
    }

    #[test]
    fn user_rules_replace_only_the_default_rules() {
        let mine = SystemPromptFacts { override_text: Some("Be a pirate.\n".into()), memory: "M", ..facts() };
        let prompt = system_prompt(&mine);
        assert!(prompt.starts_with("Be a pirate.\n\n## This session"));
        assert!(prompt.ends_with("M\n") && !prompt.contains("Hookwright"));
        let blank = SystemPromptFacts { override_text: Some(" ".into()), ..facts() };
        assert_eq!(system_prompt(&blank), system_prompt(&facts()));
    }

    #[test]
    fn approval_modes_have_different_lines() {
        let mut seen = std::collections::HashSet::new();
        for approval_mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo, ApprovalMode::Plan] {
            for interaction in [Interaction::Interactive, Interaction::Headless] {
                assert!(seen.insert(system_prompt(&SystemPromptFacts { approval_mode, interaction, ..facts() })));
            }
        }
        let more = [PathBuf::from("/x"), PathBuf::from("/y")];
        assert!(
            system_prompt(&SystemPromptFacts { extra_directories: &more, ..facts() }).contains("workspace: /x, /y")
        );
    }
}
