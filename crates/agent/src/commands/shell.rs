//! Runs `!{…}` in a command's prompt.
//!
//! Hooks, approval rules and the user judge all blocks before any runs, like the model's
//! `run_shell_command`; then that tool runs them.

use std::sync::Arc;

use hookwright_hooks::RequestedBy;
use hookwright_settings::commands::CustomCommand;
use hookwright_tools::{CommandEnd, Tool, ToolDisplay, ToolResult, signal_name};
use serde_json::{Map, Value};

use super::error::{CommandError, source_location};
use super::escape::{self, UnsafeArgs};
use super::template::TemplateSegment;
use crate::approval::ApprovalSubject;
use crate::approval::{FlagEffect, Permission};
use crate::call::prompt_tools::{self, AdmittedCall, PromptToolCall, PromptToolError, UserConsent, Visibility};
use crate::event::AgentNotice;
use crate::scope::TurnScope;
use crate::services::{Interaction, Services};
use crate::translate::escape_hook_marker;

const SHELL_TOOL_NAME: &str = "run_shell_command";

/// A shell command with the user's arguments inserted.
#[derive(Clone, Debug)]
pub(super) struct ShellBlock {
    /// The command as the user is asked about it.
    pub(super) command: String,
    /// The arguments of the tool call.
    args: Map<String, Value>,
}

/// Returns the shell commands of a prompt, in order, as they would run.
pub(super) fn resolve_blocks(
    command: &CustomCommand,
    segments: &[TemplateSegment<'_>],
    args: &str,
) -> Result<Vec<ShellBlock>, CommandError> {
    let blocks = segments.iter().filter_map(|segment| match segment {
        TemplateSegment::Shell { command, at } => Some((*command, *at)),
        _ => None,
    });
    blocks
        .map(|(written, start)| {
            let shell = escape::insert_args(written, args).map_err(|UnsafeArgs { at, reason: why }| {
                CommandError::Unescapable { place: source_location(command, start + at), why }
            })?;
            let args = Map::from_iter([("command".to_owned(), Value::String(shell.clone()))]);
            Ok(ShellBlock { command: shell, args })
        })
        .collect()
}

/// Admits all blocks, then runs them one after another; returns the texts that replace them.
pub(super) async fn run_all(
    services: &Arc<Services>,
    name: &str,
    blocks: Vec<ShellBlock>,
    scope: &TurnScope,
) -> Result<Vec<String>, CommandError> {
    let Some(first) = blocks.first() else { return Ok(Vec::new()) };
    let tools = services.tools.current();
    let Some(tool) = tools.get(SHELL_TOOL_NAME) else {
        return Err(refused_error(name, first, format!("{SHELL_TOOL_NAME} is switched off")));
    };
    let runner = BlockRunner { services, name, tool, scope };
    let admitted = runner.admit_all(&blocks).await?;
    let mut outputs = Vec::new();
    for (block, admitted) in blocks.iter().zip(admitted) {
        outputs.push(runner.run_block(block, admitted).await?);
    }
    Ok(outputs)
}

struct BlockRunner<'a> {
    services: &'a Arc<Services>,
    name: &'a str,
    tool: &'a Arc<dyn Tool>,
    scope: &'a TurnScope,
}

impl<'a> BlockRunner<'a> {
    async fn admit_all(&self, blocks: &[ShellBlock]) -> Result<Vec<AdmittedCall<'a>>, CommandError> {
        // If one block cannot run, the user is not asked about the others.
        for block in blocks {
            let judgement =
                self.services.approvals.evaluate(&ApprovalSubject::new(SHELL_TOOL_NAME, self.tool.kind(), &block.args));
            match judgement.permission {
                Permission::Refused(reason) | Permission::Denied(reason) => {
                    return Err(refused_error(self.name, block, reason));
                }
                Permission::Ask | Permission::Protected(_) if self.services.interaction == Interaction::Headless => {
                    let rule = (judgement.flag_effect == FlagEffect::CannotOverride).then_some(judgement.decided_by);
                    return Err(CommandError::ApprovalUnavailable {
                        name: self.name.to_owned(),
                        shell: block.command.clone(),
                        rule,
                    });
                }
                Permission::Ask | Permission::Protected(_) | Permission::Granted => {}
            }
        }
        let mut admitted: Vec<AdmittedCall<'a>> = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            // The user is asked about each command once, and hooks judge every run of it.
            let same = blocks[..at].iter().position(|earlier| earlier.command == block.command);
            let (args, consent) = match same {
                Some(earlier) => (admitted[earlier].args().clone(), UserConsent::Given),
                None => (block.args.clone(), UserConsent::Needed),
            };
            let wanted = PromptToolCall {
                id: format!("/{}-{}", self.name, at + 1),
                tool: SHELL_TOOL_NAME,
                args,
                requested_by: RequestedBy::Command,
                consent,
                visibility: Visibility::Hidden(Some(format!("/{}", self.name))),
                tools: None,
            };
            let judged = prompt_tools::admit_prompt_call(self.services, wanted, self.scope).await;
            admitted.push(judged.map_err(|why| self.command_error(block, why))?);
        }
        Ok(admitted)
    }

    async fn run_block(&self, block: &ShellBlock, admitted: AdmittedCall<'_>) -> Result<String, CommandError> {
        self.services.events.send(AgentNotice::Note(format!("/{} runs {}", self.name, admitted.describe())));
        let given = admitted.run().await.map_err(|why| self.command_error(block, why))?;
        Ok(match given.is_command_output() {
            true => {
                escape_hook_marker(&injected_output(&given.result)).into_owned()
                    + &given.added_context.map(|added| format!("\n\n{added}")).unwrap_or_default()
            }
            false => given.result.llm_content.to_text(),
        })
    }

    fn command_error(&self, block: &ShellBlock, why: PromptToolError) -> CommandError {
        let (name, shell) = (self.name.to_owned(), block.command.clone());
        match why {
            PromptToolError::Refused(reason) => CommandError::Refused { name, shell, reason },
            PromptToolError::Denied(word) => CommandError::Denied { name, shell, word },
            PromptToolError::Failed(failure) => CommandError::NotStarted { name, shell, reason: failure.message },
            PromptToolError::Stopped(reason) => CommandError::Stopped(reason),
            PromptToolError::Cancelled => CommandError::Cancelled,
        }
    }
}

fn refused_error(name: &str, block: &ShellBlock, reason: String) -> CommandError {
    CommandError::Refused { name: name.to_owned(), shell: block.command.clone(), reason }
}

/// Returns the text that replaces a block: the command's output, and its exit status if it failed.
fn injected_output(result: &ToolResult) -> String {
    let run = result.command.as_ref();
    let status = match run.map(|run| run.end) {
        Some(CommandEnd::Exited(0)) => String::new(),
        Some(CommandEnd::Exited(code)) => format!("[Shell command exited with code {code}]"),
        Some(CommandEnd::Signaled(signal)) => {
            let name = signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned);
            format!("[Shell command terminated by signal {name}]")
        }
        // The command timed out or was left running, which the display text says.
        _ => match &result.return_display {
            ToolDisplay::Text(shown) => return shown.trim_end().to_owned(),
            other => return other.summary(),
        },
    };
    let output = run.map_or("", |run| run.output.trim_end());
    let gap = if output.is_empty() || status.is_empty() { "" } else { "\n" };
    format!("{output}{gap}{status}")
}
