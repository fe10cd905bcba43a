//! `hookwright demo ecosystem`: an extension with a hook, an MCP server, a skill and a sub-agent, each of which is used
//! and checked by the hook.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use hookwright_agent::session::SessionCommand;
use hookwright_agent::{AgentEvent, HookEvent, ToolEvent};
use hookwright_hooks::{Decision, EventKind};
use serde_json::json;

use super::DemoScript;
use super::sandbox::DemoSandbox;
use crate::output::{self, DIM, GOOD, paint};

const EXTENSION_DIR: &str = "home/.gemini/extensions/workshop";

/// The guard's script, which checks the calls of the model and of sub-agents.
const FOREMAN_SCRIPT: &str = r#"#!/bin/sh
input=$(cat)
case $input in
*secret*'"server_name":"bench"'*)
    echo 'secrets stay out of the workshop' >&2
    exit 2
    ;;
*'"agent_id":"'*'rm -rf'*)
    echo 'an inspector only looks' >&2
    exit 2
    ;;
esac
"#;

const SKILL_TEXT: &str = "---
name: release-notes
description: How release notes are written here. Use it before writing any.
---

One line for each change, the user's gain first. `template.md` beside this file is the form.
";

const AGENT_TEXT: &str = "---
name: inspector
description: Looks at the project and reports what it finds.
tools:
  - list_directory
  - read_file
  - run_shell_command
max_turns: 5
---

You inspect, and you change nothing.
";

/// The prompts that a user would type.
const ECOSYSTEM_PROMPTS: [&str; 3] = [
    "call mcp__bench__add {\"a\": 40, \"b\": 2}\n\
     call mcp__bench__echo {\"text\": \"the secret is 42\"}\n\
     say The bench adds, and is told no secrets.",
    "call activate_skill {\"name\": \"release-notes\"}\n\
     say Now I know how release notes are written here.",
    "call delegate_to_agent {\"agent_name\": \"inspector\", \"objective\": \
     \"call run_shell_command {\\\"command\\\": \\\"rm -rf build\\\"}\\nsay Nothing was deleted.\"}\n\
     say The inspector has looked.",
];

/// Counts of what happened in the demo.
#[derive(Default)]
pub(super) struct EcosystemDemo {
    mcp_calls: u32,
    skills: u32,
    agents: u32,
    hooks: u32,
    denied: u32,
}

impl DemoScript for EcosystemDemo {
    fn write_files(&self, stage: &DemoSandbox) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("this program can't find itself")?;
        let manifest = json!({
            "name": "workshop",
            "version": "1.0.0",
            "description": "A bench, a foreman, and an inspector",
            "mcpServers": {"bench": {"command": program, "args": ["serve-demo-mcp"]}},
        });
        let command = "sh \"${extensionPath}/hooks/foreman.sh\"";
        let foreman = json!({"type": "command", "name": "foreman", "command": command, "guard": true});
        let hooks = json!({"hooks": {EventKind::BeforeTool.name(): [{"matcher": "*", "hooks": [foreman]}]}});
        let file = |path: &str, text: &str| stage.write(&format!("{EXTENSION_DIR}/{path}"), text);
        file("gemini-extension.json", &format!("{manifest:#}\n"))?;
        file("hooks/hooks.json", &format!("{hooks:#}\n"))?;
        file("hooks/foreman.sh", FOREMAN_SCRIPT)?;
        file("skills/release-notes/SKILL.md", SKILL_TEXT)?;
        file("skills/release-notes/template.md", "- You can now …\n")?;
        file("agents/inspector.md", AGENT_TEXT)?;
        stage.write("project/build/notes.txt", "three bugs left\n")
    }

    fn session_commands(&self) -> Vec<SessionCommand> {
        ECOSYSTEM_PROMPTS.iter().map(|prompt| SessionCommand::Prompt((*prompt).to_owned())).collect()
    }

    fn count_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => {
                self.hooks += 1;
                let refused = report.event == EventKind::BeforeTool && report.decision() == Some(Decision::Deny);
                self.denied += u32::from(refused);
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) if end.error.is_none() => match end.name.as_str() {
                "activate_skill" => self.skills += 1,
                "delegate_to_agent" => self.agents += 1,
                name => self.mcp_calls += u32::from(name.starts_with("mcp__")),
            },
            _ => {}
        }
    }

    fn is_complete(&self) -> bool {
        (self.mcp_calls, self.skills, self.agents, self.denied) == (1, 1, 1, 2)
    }

    fn print_summary(&self, elapsed: Duration) -> std::io::Result<()> {
        let EcosystemDemo { mcp_calls: served, skills, agents, hooks, denied } = self;
        let mut stdout = output::stdout();
        let used = format!("{served} call of an MCP server, {skills} skill, {agents} sub-agent");
        writeln!(
            stdout,
            "\n{}, all of one extension; its guard blocked {denied} calls, one in the sub-agent",
            paint(GOOD, used)
        )?;
        writeln!(stdout, "{}", paint(DIM, format!("{hooks} hook runs, {} ms in all", elapsed.as_millis())))?;
        writeln!(
            stdout,
            "\nNext: `hookwright extensions new my-extension hooks`, and `hookwright extensions install my-extension`."
        )
    }
}
