//! `!{…}` in a command's prompt: resolved, judged like the model's `run_shell_command` by hooks, rules and user, all of
//! them before any runs, then run by that tool.

use std::sync::Arc;

use hookwright_hooks::RequestedBy;
use hookwright_settings::commands::Command;
use hookwright_tools::{CommandEnd, Display, Tool, ToolResult, signal_name};
use serde_json::{Map, Value};

use super::error::{CommandError, place};
use super::escape::{self, Unsafe};
use super::template::Segment;
use crate::approval::Judged;
use crate::approval::{Flags, Permission};
use crate::call::wanted::{self, Admitted, Consent, NotRun, Voice, Wanted};
use crate::event::AgentEvent;
use crate::scope::Scope;
use crate::services::{Interaction, Services};
use crate::translate::defuse;

const TOOL: &str = "run_shell_command";

/// A shell command with the user's arguments in it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// As it is asked about.
    pub(super) shell: String,
    /// What the tool is given.
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

/// Has all blocks judged, then runs them one after another; what stands in their places.
pub(super) async fn run_all(
    services: &Arc<Services>,
    name: &str,
    blocks: Vec<Block>,
    scope: &Scope,
) -> Result<Vec<String>, CommandError> {
    let Some(first) = blocks.first() else { return Ok(Vec::new()) };
    let tools = services.tools.now();
    let Some(tool) = tools.get(TOOL) else {
        return Err(refused(name, first, format!("{TOOL} is switched off")));
    };
    let runner = BlockRunner { services, name, tool, scope };
    let admitted = runner.admit(&blocks).await?;
    let mut outputs = Vec::new();
    for (block, admitted) in blocks.iter().zip(admitted) {
        outputs.push(runner.run(block, admitted).await?);
    }
    Ok(outputs)
}

struct BlockRunner<'a> {
    services: &'a Arc<Services>,
    name: &'a str,
    tool: &'a Arc<dyn Tool>,
    scope: &'a Scope,
}

impl<'a> BlockRunner<'a> {
    async fn admit(&self, blocks: &[Block]) -> Result<Vec<Admitted<'a>>, CommandError> {
        // Nobody is asked about the half of a command whose other half will not run.
        for block in blocks {
            let judgement = self.services.approvals.judge(&Judged::new(TOOL, self.tool.kind(), &block.args));
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
        let mut admitted: Vec<Admitted<'a>> = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            // The user is asked about each command once, and hooks about every run of it.
            let same = blocks[..at].iter().position(|earlier| earlier.shell == block.shell);
            let (args, consent) = match same {
                Some(earlier) => (admitted[earlier].args().clone(), Consent::Given),
                None => (block.args.clone(), Consent::Needed),
            };
            let wanted = Wanted {
                id: format!("/{}-{}", self.name, at + 1),
                tool: TOOL,
                args,
                requested_by: RequestedBy::Command,
                consent,
                voice: Voice::Quiet(Some(format!("/{}", self.name))),
                tools: None,
            };
            let judged = wanted::admit(self.services, wanted, self.scope).await;
            admitted.push(judged.map_err(|why| self.not_run(block, why))?);
        }
        Ok(admitted)
    }

    async fn run(&self, block: &Block, admitted: Admitted<'_>) -> Result<String, CommandError> {
        self.services.events.send(AgentEvent::Note(format!("/{} runs {}", self.name, admitted.describe())));
        let given = admitted.run().await.map_err(|why| self.not_run(block, why))?;
        Ok(match given.is_command_output() {
            true => {
                defuse(&injected(&given.result)).into_owned()
                    + &given.added.map(|added| format!("\n\n{added}")).unwrap_or_default()
            }
            false => given.result.llm_content.to_text(),
        })
    }

    fn not_run(&self, block: &Block, why: NotRun) -> CommandError {
        let (name, shell) = (self.name.to_owned(), block.shell.clone());
        match why {
            NotRun::Refused(reason) => CommandError::Refused { name, shell, reason },
            NotRun::Denied(word) => CommandError::Denied { name, shell, word },
            NotRun::Failed(failure) => CommandError::NotRun { name, shell, reason: failure.message },
            NotRun::Stopped(reason) => CommandError::Stopped(reason),
            NotRun::Cancelled => CommandError::Cancelled,
        }
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
