//! `hookwright acp guard`: a proxy between an editor and any agent of the Agent Client Protocol. What the agent asks the
//! editor for, and what the user asks the agent for, passes hooks.
//!
//! `routing.rs` says what happens to a message, `requests.rs` judges those that hooks are asked about, with the calls of
//! `judged_call.rs`; `proxy.rs` keeps their order.

mod agent_process;
mod judged_call;
mod message;
mod proxy;
mod requests;
mod routing;
mod sessions;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use hookwright_bridge::Host;
use hookwright_settings::ProcessEnv;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::agent_process::{AgentProcess, AgentWatch, describe_exit, exit_code};
use self::proxy::{AcpProxy, PumpEnd, Side};
use super::transport::EditorLines;
use crate::bridge::ProxiedAgent;
use crate::signals::Signals;
use crate::{exit, output, runtime};

/// How long messages that hooks judge are waited for at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last lines of an agent that has ended are waited for.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(2);
/// How long writing to the editor and the journal may take at the end.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connects an editor on stdin and stdout with the agent of this command line, until one of them ends.
pub(crate) fn run(words: &[OsString], process_env: &ProcessEnv) -> anyhow::Result<u8> {
    let runtime = runtime::start(2)?;
    let code = runtime.block_on(serve(words, process_env));
    // A hook that blocks a thread must not delay the exit.
    runtime.shutdown_background();
    code
}

async fn serve(words: &[OsString], process_env: &ProcessEnv) -> anyhow::Result<u8> {
    let mut signals = Signals::listen()?;
    let agent = match AgentProcess::spawn(words, process_env) {
        Ok(agent) => agent,
        Err(error) => {
            output::error(&error.message)?;
            output::hint(
                "after `--`, name the command that starts an ACP agent, such as `claude-agent-acp` or `gemini --acp`",
            )?;
            return Ok(error.exit_code);
        }
    };
    let EditorLines { incoming, outgoing, mut written } = EditorLines::open()?;
    let (recording, mut recorded) = mpsc::channel(1);
    let AgentProcess { incoming: agent_lines, outgoing: agent_input, watch } = agent;
    let proxy = AcpProxy::new(process_env.clone(), agent_name(words), outgoing, agent_input, recording);
    let connection = Connection {
        from_editor: tokio::spawn(proxy.clone().pump(Side::Editor, incoming)),
        from_agent: tokio::spawn(proxy.clone().pump(Side::Agent, agent_lines)),
        proxy,
        watch,
    };
    let code = connection.serve(&mut signals).await?;
    // What hangs keeps its part of the proxy.
    let _ = tokio::time::timeout(WRITE_TIMEOUT, written.recv()).await;
    let _ = tokio::time::timeout(WRITE_TIMEOUT, recorded.recv()).await;
    Ok(code)
}

/// Returns what is known about an agent before it says its name.
fn agent_name(words: &[OsString]) -> ProxiedAgent {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = words.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit(std::path::is_separator).next().unwrap_or(program).to_owned();
    ProxiedAgent { name, version: None, host: Host::named_in(&words.join(" ")) }
}

/// A running connection.
struct Connection {
    proxy: Arc<AcpProxy>,
    from_editor: JoinHandle<PumpEnd>,
    from_agent: JoinHandle<PumpEnd>,
    watch: AgentWatch,
}

/// What ended a connection.
enum ProxyEnd {
    Editor(PumpEnd),
    Agent(PumpEnd),
    Signal(u8),
}

impl Connection {
    /// Serves both sides until one ends, and returns the exit code.
    async fn serve(mut self, signals: &mut Signals) -> anyhow::Result<u8> {
        let end = tokio::select! {
            end = &mut self.from_editor => ProxyEnd::Editor(pump_end(end)),
            end = &mut self.from_agent => ProxyEnd::Agent(pump_end(end)),
            () = self.watch.exited.cancelled() => {
                // Its last lines may still be on their way.
                let last = tokio::time::timeout(LAST_LINES_TIMEOUT, &mut self.from_agent).await;
                ProxyEnd::Agent(last.map_or(PumpEnd::Closed, pump_end))
            }
            code = signals.next() => ProxyEnd::Signal(code),
        };
        signals.defer(true);
        match end {
            ProxyEnd::Signal(code) => {
                self.proxy.abandon_questions();
                self.proxy.close_agent_input();
                self.watch.end().await;
                self.from_editor.abort();
                self.from_agent.abort();
                Ok(code)
            }
            ProxyEnd::Editor(PumpEnd::ReceiverGone) | ProxyEnd::Agent(PumpEnd::Closed) => {
                self.end_without_agent().await
            }
            ProxyEnd::Editor(end) | ProxyEnd::Agent(end @ PumpEnd::Failed(_)) => {
                if let PumpEnd::Failed(error) = &end {
                    self.proxy.abandon_editor_requests(&format!("the connection failed: {error}")).await;
                    output::error(format!("the connection failed: {error}"))?;
                }
                self.end_without_editor().await;
                Ok(if matches!(end, PumpEnd::Failed(_)) { exit::ERROR } else { exit::OK })
            }
            ProxyEnd::Agent(PumpEnd::ReceiverGone) => {
                self.end_without_editor().await;
                Ok(exit::OK)
            }
        }
    }

    /// Ends the agent, whose editor has gone.
    async fn end_without_editor(mut self) {
        self.proxy.drain(DRAIN_TIMEOUT).await;
        self.proxy.abandon_questions();
        self.proxy.close_agent_input();
        self.watch.end().await;
        if !self.from_agent.is_finished() {
            let _ = tokio::time::timeout(LAST_LINES_TIMEOUT, &mut self.from_agent).await;
        }
        self.proxy.drain(DRAIN_TIMEOUT).await;
        self.from_agent.abort();
        self.from_editor.abort();
    }

    /// Tells the editor that the agent has gone.
    async fn end_without_agent(self) -> anyhow::Result<u8> {
        self.proxy.abandon_questions();
        self.proxy.close_agent_input();
        let exit = self.watch.end().await;
        self.proxy.drain(DRAIN_TIMEOUT).await;
        let reason = format!("the agent {}", describe_exit(exit));
        self.proxy.abandon_editor_requests(&reason).await;
        self.from_editor.abort();
        let code = exit_code(exit);
        let has_spoken = self.proxy.state().has_spoken;
        if code != exit::OK || !has_spoken {
            output::error(&reason)?;
        }
        if !has_spoken {
            output::hint("the command must speak the Agent Client Protocol on its stdin and stdout")?;
        }
        Ok(if has_spoken || code != exit::OK { code } else { exit::ERROR })
    }
}

/// Returns how a direction ended; a panic counts as its end.
fn pump_end(end: Result<PumpEnd, tokio::task::JoinError>) -> PumpEnd {
    end.unwrap_or_else(|error| PumpEnd::Failed(std::io::Error::other(error)))
}
