//! One case of the trial: a fresh home and project, the agent's own settings with a hook in them, one real run of the
//! agent, and a check of the files afterwards.

pub(crate) mod run;
pub(crate) mod sandbox;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_bridge::{FailClosedSupport, Host};
use serde::{Deserialize, Serialize};

use crate::behaviour::{self, Behaviour, HookIntent, TrialCallKind, TrialSetup};
use crate::driver::AgentDriver;
use crate::mock_model::{MockModelServer, ScriptedAction};
use run::AgentRunOptions;
use sandbox::TrialSandbox;

/// An installed agent.
#[derive(Debug, Clone, Copy)]
pub struct TrialAgent<'a> {
    /// The agent's name and properties.
    pub host: Host,
    /// The path of the agent's program.
    pub program: &'a Path,
}

/// The way in which the hook is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookWiring<'a> {
    /// In the agent's own settings.
    Direct,
    /// In the agent's own settings, with the agent's switch for blocking on failures, where it has one.
    DirectClosed,
    /// Through Hookwright, whose program is at this path.
    Bridge(&'a Path),
}

/// The limits of a run, and what it may use of the machine.
#[derive(Debug, Clone, Copy)]
pub struct TrialLimits<'a> {
    /// The search path for programs.
    pub search_path: &'a OsStr,
    /// The timeout of one run.
    pub timeout: Duration,
    /// Whether agents are kept off the network by an unreachable proxy, because nothing else does so.
    pub block_network: bool,
    /// Whether homes and projects stay on disk, for inspection.
    pub keep_files: bool,
    /// The user's cache directory, so that an agent that unpacks itself need not do so in every run.
    pub cache_dir: Option<&'a Path>,
}

/// One agent with one behaviour and one wiring.
#[derive(Debug, Clone, Copy)]
pub struct TrialCase<'a> {
    /// The agent that runs.
    pub agent: TrialAgent<'a>,
    /// The behaviour of the hook.
    pub behaviour: &'static Behaviour,
    /// The way in which the hook is configured.
    pub wiring: HookWiring<'a>,
}

/// The outcome of the model's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// The call did not run.
    Blocked,
    /// The call ran as the model made it.
    Ran,
    /// The call ran as the hook rewrote it.
    Rewritten,
    /// The call ran, and could not do what the hook is about.
    Confined,
    /// The agent did not end before the timeout, and the call had not run.
    Hung,
    /// The agent never made the call, so that the case shows nothing.
    Dead,
}

/// The observations of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialObservation {
    /// The outcome of the call.
    pub end: CallOutcome,
    /// Whether the hook's reason reached the model or the agent's output.
    pub told: bool,
    /// Whether the hook's context reached the model.
    pub context: bool,
    /// How many hook processes were started.
    pub started: usize,
    /// The duration of the run.
    #[serde(rename = "milliseconds", with = "milliseconds")]
    pub elapsed: Duration,
    /// The kept part of the agent's output.
    #[serde(skip)]
    pub output: String,
    /// The directory with the home and the project, if they were kept.
    #[serde(skip)]
    pub kept_dir: Option<std::path::PathBuf>,
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// The reason why a case could not be run.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no driver for this agent.
    #[error("{} cannot be tried: there is no known way to run it without a login", .0.title())]
    NoDriver(Host),
    /// The home or the project could not be made.
    #[error("could not create a directory for the trial at {path}")]
    Sandbox {
        /// The path that could not be made.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The mock model server could not listen.
    #[error("the model stand-in found no port to listen on")]
    MockModel(#[source] std::io::Error),
    /// The program could not be run.
    #[error("could not run {program}")]
    Run {
        /// The path of the program.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The bridge could not be installed.
    #[error("`{command}` failed: {words}")]
    Install {
        /// The command that failed.
        command: String,
        /// The command's output.
        words: String,
    },
}

impl TrialObservation {
    /// Creates the observation of an agent that never made a call.
    pub(crate) fn without_call() -> TrialObservation {
        let (words, took) = (String::new(), Duration::ZERO);
        TrialObservation {
            end: CallOutcome::Dead,
            told: false,
            context: false,
            started: 0,
            elapsed: took,
            output: words,
            kept_dir: None,
        }
    }

    /// Returns whether the outcome is what the hook's author intended.
    pub fn matches_intent(&self, behaviour: &Behaviour) -> bool {
        match behaviour.intent {
            HookIntent::Allow => self.end == CallOutcome::Ran,
            HookIntent::Deny => self.end == CallOutcome::Blocked,
            HookIntent::Rewrite => matches!(self.end, CallOutcome::Rewritten | CallOutcome::Blocked),
            HookIntent::Confine => matches!(self.end, CallOutcome::Confined | CallOutcome::Blocked),
            HookIntent::AddContext => self.end == CallOutcome::Ran && self.context,
        }
    }
}

impl TrialCase<'_> {
    /// Returns whether the case can be run: some behaviours need a feature that not every agent has.
    pub fn is_applicable(&self) -> bool {
        let Some(driver) = AgentDriver::for_host(self.agent.host) else { return false };
        let direct = !matches!(self.wiring, HookWiring::Bridge(_));
        let switch = matches!(driver.host.info().fail_closed, FailClosedSupport::Key(..));
        (!direct || driver.supports_command_hooks())
            && (self.wiring != HookWiring::DirectClosed || switch)
            && (self.behaviour.setup != TrialSetup::Untrusted || driver.requires_hook_trust())
            && (self.behaviour.setup != TrialSetup::ProgramMissing || !direct)
            // An agent has no rules of Hookwright in its own settings.
            && (self.behaviour.intent != HookIntent::Confine || !direct)
            && driver.event_name(self.behaviour.event).is_some()
    }

    /// Runs the case.
    ///
    /// # Errors
    /// Returns an error if it could not be run. An agent that hangs or makes no call is an observation, not an error.
    pub async fn run(&self, bounds: TrialLimits<'_>) -> Result<TrialObservation, TrialError> {
        let driver = AgentDriver::for_host(self.agent.host).ok_or(TrialError::NoDriver(self.agent.host))?;
        let mut sandbox = TrialSandbox::new(bounds.keep_files)?;
        let server =
            MockModelServer::start(vec![self.scripted_action(&sandbox)]).await.map_err(TrialError::MockModel)?;
        sandbox.prepare(self, driver, &server.url(), bounds).await?;
        let start = Instant::now();
        // The outcome of the one action is certain as soon as the agent has answered it.
        let options = AgentRunOptions {
            trusts_hooks: self.behaviour.setup != TrialSetup::Untrusted,
            stop_after_answers: Some(1),
        };
        let look = || (sandbox.has_file(behaviour::RAN_FILE), sandbox.has_file(behaviour::REWRITTEN_FILE));
        let run = run::run_agent(self.agent.program, driver, &sandbox, &server, bounds, options, look).await?;
        let (ran, rewritten) = run.found;
        let started = sandbox.started_hooks(0);
        // If the hook's program is missing, some agents do not even accept the prompt; that they normally do, other
        // rows show.
        let was_asked =
            server.tool_call_count() > 0 || started > 0 || self.behaviour.setup == TrialSetup::ProgramMissing;
        let end = match () {
            () if ran => CallOutcome::Ran,
            () if rewritten && self.behaviour.intent == HookIntent::Confine => CallOutcome::Confined,
            () if rewritten => CallOutcome::Rewritten,
            () if run.timed_out => CallOutcome::Hung,
            () if !was_asked => CallOutcome::Dead,
            () => CallOutcome::Blocked,
        };
        let told = server.has_received(behaviour::REASON_MARKER) || run.output.contains(behaviour::REASON_MARKER);
        let context = server.has_received(behaviour::CONTEXT_MARKER);
        let kept = bounds.keep_files.then(|| sandbox.root().to_owned());
        Ok(TrialObservation {
            end,
            told,
            context,
            started,
            elapsed: start.elapsed(),
            output: run.output,
            kept_dir: kept,
        })
    }

    fn scripted_action(&self, sandbox: &TrialSandbox) -> ScriptedAction {
        let file = || sandbox.project_dir().join(behaviour::RAN_FILE).to_string_lossy().into_owned();
        match self.behaviour.call_kind {
            TrialCallKind::Command => ScriptedAction::Shell(format!("touch {}", behaviour::RAN_FILE)),
            TrialCallKind::Edit => ScriptedAction::Write { path: file(), content: "a trial\n".to_owned() },
            TrialCallKind::EditByCommand => ScriptedAction::Shell(format!("echo a trial > {}", behaviour::RAN_FILE)),
            TrialCallKind::UnknownScript(_) => ScriptedAction::Shell(format!("sh {}", sandbox::UNKNOWN_SCRIPT)),
            TrialCallKind::DisguisedProgram(_) => ScriptedAction::Shell(sandbox::DISGUISED_PROGRAM.to_owned()),
        }
    }
}
