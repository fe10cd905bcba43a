//! `!{…}` in a command's prompt: resolved, approved like the model's `run_shell_command`, all of them before any runs,
//! then run by that tool. BeforeTool and AfterTool are for the model's calls and do not fire: the user asked for this.

use std::sync::Arc;

use hookwright_settings::commands::Command;
use hookwright_tools::{CommandEnd, Display, Tool, ToolResult, signal_name};
use serde_json::{Map, Value};

use super::error::{CommandError, place};
use super::escape::{self, Unsafe};
use super::template::Segment;
use crate::approval::{Flags, Permission};
use crate::ask::ask;
use crate::event::{AgentEvent, ApprovalReply, ApprovalRequest};
use crate::protect::settle;
use crate::scope::Scope;
use crate::services::{Interaction, Services};

const TOOL: &str = "run_shell_command";

/// A shell command with the user's arguments in it.
#[derive(Debug)]
pub(super) struct Block {
    /// As it is asked about.
    shell: String,
    /// What the tool is given; the user may have edited it.
    args: Map<String, Value>,
}

/// The shell commands of a prompt, in order, as they would run.
pub(super) fn resolve(command: &Command, segments: &[Segment<'_>], args: &str) -> Result<Vec<Block>, CommandError> {
    let blocks = segments.iter().filter_map(|segment| match segment {
        Segment::Shell { command, at } => Some((*command, *at)),
        _ => None,
    });
    blocks
        .map(|(written, start)| {
            let shell = escape::fill(written, args)
                .map_err(|Unsafe { at, why }| CommandError::Unescapable { place: place(command, start + at), why })?;
            let args = Map::from_iter([("command".to_owned(), Value::String(shell.clone()))]);
            Ok(Block { shell, args })
        })
        .collect()
}

/// Approves all blocks, then runs them one after another; what stands in their places.
pub(super) async fn run_all(
    services: &Services,
    name: &str,
    mut blocks: Vec<Block>,
    scope: &Scope,
) -> Result<Vec<String>, CommandError> {
    let Some(first) = blocks.first() else { return Ok(Vec::new()) };
    let Some(tool) = services.tools.get(TOOL) else {
        return Err(refused(name, first, format!("{TOOL} is switched off")));
    };
    let runner = BlockRunner { services, name, tool, scope };
    runner.approve(&mut blocks).await?;
    let mut outputs = Vec::new();
    for block in &blocks {
        outputs.push(runner.run(block).await?);
    }
    Ok(outputs)
}

struct BlockRunner<'a> {
    services: &'a Services,
    name: &'a str,
    tool: &'a Arc<dyn Tool>,
    scope: &'a Scope,
}

impl BlockRunner<'_> {
    fn decide(&self, block: &Block) -> Permission {
        self.services.approvals.decide(TOOL, self.tool.kind(), &block.args)
    }

    async fn approve(&self, blocks: &mut [Block]) -> Result<(), CommandError> {
        // Nobody is asked about the half of a command whose other half will not run.
        for block in blocks.iter() {
            let judgement = self.services.approvals.judge(TOOL, self.tool.kind(), &block.args);
            match judgement.permission {
                Permission::Refused(reason) | Permission::Denied(reason) => {
                    return Err(refused(self.name, block, reason));
                }
                Permission::Ask | Permission::Protected(_) if self.services.interaction == Interaction::Headless => {
                    let rule = (judgement.flags == Flags::DoNotHelp).then_some(judgement.by);
                    return Err(CommandError::NobodyToAsk {
                        name: self.name.to_owned(),
                        shell: block.shell.clone(),
                        rule,
                    });
                }
                Permission::Ask | Permission::Protected(_) | Permission::Granted => {}
            }
        }
        let mut answered: Vec<(String, Map<String, Value>)> = Vec::new();
        for (number, block) in blocks.iter_mut().enumerate() {
            // Decided anew: a yes for the session may have covered this one too.
            if self.decide(block) == Permission::Granted {
                continue;
            }
            block.args = match answered.iter().find(|(shell, _)| *shell == block.shell) {
                Some((_, args)) => args.clone(),
                None => self.ask(block, number + 1).await?,
            };
            answered.push((block.shell.clone(), block.args.clone()));
        }
        Ok(())
    }

    /// Asks the user; what the tool is to be given.
    async fn ask(&self, block: &Block, number: usize) -> Result<Map<String, Value>, CommandError> {
        let request = self.request(block, number).await;
        match ask(self.services, request, self.scope).await {
            ApprovalReply::Once => Ok(block.args.clone()),
            ApprovalReply::Session => {
                self.services.approvals.grant(TOOL, &block.args);
                Ok(block.args.clone())
            }
            ApprovalReply::Edited(args) => self.judge(block, args),
            ApprovalReply::Deny(word) => {
                Err(CommandError::Denied { name: self.name.to_owned(), shell: block.shell.clone(), word })
            }
            ApprovalReply::Cancel => Err(CommandError::Cancelled),
        }
    }

    /// What the user wrote instead: it must fit the tool, and no rule may forbid it.
    fn judge(&self, block: &Block, args: Map<String, Value>) -> Result<Map<String, Value>, CommandError> {
        if let Err(problem) = self.services.tools.check(TOOL, &Value::Object(args.clone())) {
            return Err(self.not_run(block, problem.message));
        }
        match self.services.approvals.decide(TOOL, self.tool.kind(), &args) {
            Permission::Refused(reason) | Permission::Denied(reason) => Err(refused(self.name, block, reason)),
            Permission::Granted | Permission::Protected(_) | Permission::Ask => Ok(args),
        }
    }

    async fn request(&self, block: &Block, number: usize) -> ApprovalRequest {
        let args = Value::Object(block.args.clone());
        ApprovalRequest {
            call_id: format!("/{}-{number}", self.name),
            name: TOOL.to_owned(),
            title: format!("{} for /{}", self.tool.display_name(), self.name),
            kind: self.tool.kind(),
            args: block.args.clone(),
            description: self.tool.describe(&args),
            preview: self.tool.preview(&args, &self.services.context()).await,
            rewritten: Vec::new(),
            requested_by: hookwright_hooks::RequestedBy::Command,
            asked_by: None,
            protected: None,
        }
    }

    async fn run(&self, block: &Block) -> Result<String, CommandError> {
        let args = Value::Object(block.args.clone());
        let told = format!("/{} runs {}", self.name, self.tool.describe(&args));
        self.services.events.send(AgentEvent::Note(told));
        let mut context = self.services.context();
        context.cancel = self.scope.cancel.clone();
        let result = {
            let _window = self.services.guards.call(None);
            self.tool.run(&args, &context).await
        };
        settle(self.services, self.scope).await;
        if self.scope.is_cancelled() {
            return Err(CommandError::Cancelled);
        }
        match result.error {
            Some(failure) => Err(self.not_run(block, failure.message)),
            None => Ok(injected(&result)),
        }
    }

    fn not_run(&self, block: &Block, reason: String) -> CommandError {
        CommandError::NotRun { name: self.name.to_owned(), shell: block.shell.clone(), reason }
    }
}

fn refused(name: &str, block: &Block, reason: String) -> CommandError {
    CommandError::Refused { name: name.to_owned(), shell: block.shell.clone(), reason }
}

/// What stands in a block's place: the command's output, and how it ended if not well.
fn injected(result: &ToolResult) -> String {
    let run = result.command.as_ref();
    let status = match run.map(|run| run.end) {
        Some(CommandEnd::Exited(0)) => String::new(),
        Some(CommandEnd::Exited(code)) => format!("[Shell command exited with code {code}]"),
        Some(CommandEnd::Signaled(signal)) => {
            let name = signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned);
            format!("[Shell command terminated by signal {name}]")
        }
        // It ran too long, or was left running: what is shown says so.
        _ => match &result.return_display {
            Display::Text(shown) => return shown.trim_end().to_owned(),
            other => return other.summary(),
        },
    };
    let output = run.map_or("", |run| run.output.trim_end());
    let gap = if output.is_empty() || status.is_empty() { "" } else { "\n" };
    format!("{output}{gap}{status}")
}
