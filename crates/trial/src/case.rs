//! One cell of the table: a fresh home and a fresh project, the agent's own settings with a hook in them, one real run of
//! the agent, and a look at what is on the disk afterwards.

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

/// An agent that is here.
#[derive(Debug, Clone, Copy)]
pub struct TrialAgent<'a> {
    /// Which.
    pub host: Host,
    /// Its program.
    pub program: &'a Path,
}

/// How the hook comes to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookWiring<'a> {
    /// Written into the agent's own settings.
    Direct,
    /// The same, with the agent's own switch that failures block, where it has one.
    DirectClosed,
    /// Through this program, Hookwright.
    Bridge(&'a Path),
}

/// What runs take from the machine, and how long they may take.
#[derive(Debug, Clone, Copy)]
pub struct TrialLimits<'a> {
    /// Where programs are looked for.
    pub search_path: &'a OsStr,
    /// How long one run may take.
    pub timeout: Duration,
    /// Whether agents must be kept from the network by what they are told, since nothing else does.
    pub block_network: bool,
    /// Whether homes and projects stay on disk, for people to look into.
    pub keep_files: bool,
    /// The user's folder for what programs can make again: an agent that unpacks itself need not do it for every run.
    pub cache_dir: Option<&'a Path>,
}

/// One cell.
#[derive(Debug, Clone, Copy)]
pub struct TrialCase<'a> {
    /// Who runs.
    pub agent: TrialAgent<'a>,
    /// How the hook behaves.
    pub behaviour: &'static Behaviour,
    /// How it comes to be called.
    pub wiring: HookWiring<'a>,
}

/// What became of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// It did not run.
    Blocked,
    /// It ran as the model wanted.
    Ran,
    /// It ran as the hook rewrote it.
    Rewritten,
    /// The agent did not come to an end in its time, and the call had not run.
    Hung,
    /// The agent never came as far as a call: nothing can be said.
    Dead,
}

/// What was seen of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialObservation {
    /// What became of the call.
    pub end: CallOutcome,
    /// Whether the hook's reason reached the model.
    pub told: bool,
    /// Whether the hook's context reached the model.
    pub context: bool,
    /// How many hooks were started.
    pub started: usize,
    /// How long it took.
    #[serde(rename = "milliseconds", with = "milliseconds")]
    pub elapsed: Duration,
    /// The end of what the agent printed.
    #[serde(skip)]
    pub output: String,
    /// Where the home and the project are, if they were kept.
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

/// Why a cell could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no driver for it.
    #[error("{} cannot be tried: nobody knows how to run it without a login", .0.title())]
    NoDriver(Host),
    /// The home or the project could not be made.
    #[error("could not make a place for the trial at {path}")]
    Sandbox {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The stand-in could not listen.
    #[error("the model stand-in found no port to listen on")]
    MockModel(#[source] std::io::Error),
    /// The program could not be run.
    #[error("could not run {program}")]
    Run {
        /// Which.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The bridge could not be wired.
    #[error("`{command}` failed: {words}")]
    Install {
        /// What was run.
        command: String,
        /// What it said.
        words: String,
    },
}

impl TrialObservation {
    /// An agent that never came as far as a call.
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

    /// Whether what the hook's author meant is what happened.
    pub fn matches_intent(&self, behaviour: &Behaviour) -> bool {
        match behaviour.intent {
            HookIntent::Allow => self.end == CallOutcome::Ran,
            HookIntent::Deny => self.end == CallOutcome::Blocked,
            HookIntent::Rewrite => matches!(self.end, CallOutcome::Rewritten | CallOutcome::Blocked),
            HookIntent::AddContext => self.end == CallOutcome::Ran && self.context,
        }
    }
}

impl TrialCase<'_> {
    /// Whether there is such a cell: some behaviours need what not every agent has.
    pub fn is_applicable(&self) -> bool {
        let Some(driver) = AgentDriver::for_host(self.agent.host) else { return false };
        let direct = !matches!(self.wiring, HookWiring::Bridge(_));
        let switch = matches!(driver.host.info().fail_closed, FailClosedSupport::Key(..));
        (!direct || driver.supports_command_hooks())
            && (self.wiring != HookWiring::DirectClosed || switch)
            && (self.behaviour.setup != TrialSetup::Untrusted || driver.requires_hook_trust())
            && (self.behaviour.setup != TrialSetup::ProgramMissing || !direct)
            && driver.event_name(self.behaviour.event).is_some()
    }

    /// Runs it.
    ///
    /// # Errors
    /// If it could not be run. An agent that hangs or does nothing has been seen to do that.
    pub async fn run(&self, bounds: TrialLimits<'_>) -> Result<TrialObservation, TrialError> {
        let driver = AgentDriver::for_host(self.agent.host).ok_or(TrialError::NoDriver(self.agent.host))?;
        let mut scene = TrialSandbox::new(bounds.keep_files)?;
        let standin =
            MockModelServer::start(vec![self.scripted_action(&scene)]).await.map_err(TrialError::MockModel)?;
        scene.prepare(self, driver, &standin.url(), bounds).await?;
        let start = Instant::now();
        // What became of the one wish is certain as soon as the agent comes back with it.
        let patience = AgentRunOptions {
            trusts_hooks: self.behaviour.setup != TrialSetup::Untrusted,
            stop_after_answers: Some(1),
        };
        let look = || (scene.has_file(behaviour::RAN_FILE), scene.has_file(behaviour::REWRITTEN_FILE));
        let run = run::run_agent(self.agent.program, driver, &scene, &standin, bounds, patience, look).await?;
        let (ran, rewritten) = run.found;
        let started = scene.started_hooks(0);
        // Where nothing answers, some agents do not even take the prompt; that they otherwise would, other rows show.
        let was_asked =
            standin.tool_call_count() > 0 || started > 0 || self.behaviour.setup == TrialSetup::ProgramMissing;
        let end = match () {
            () if ran => CallOutcome::Ran,
            () if rewritten => CallOutcome::Rewritten,
            () if run.timed_out => CallOutcome::Hung,
            () if !was_asked => CallOutcome::Dead,
            () => CallOutcome::Blocked,
        };
        let told = standin.has_received(behaviour::REASON_MARKER) || run.output.contains(behaviour::REASON_MARKER);
        let context = standin.has_received(behaviour::CONTEXT_MARKER);
        let kept = bounds.keep_files.then(|| scene.root().to_owned());
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

    fn scripted_action(&self, scene: &TrialSandbox) -> ScriptedAction {
        let file = || scene.project_dir().join(behaviour::RAN_FILE).to_string_lossy().into_owned();
        match self.behaviour.call_kind {
            TrialCallKind::Command => ScriptedAction::Shell(format!("touch {}", behaviour::RAN_FILE)),
            TrialCallKind::Edit => ScriptedAction::Write { path: file(), content: "a trial\n".to_owned() },
            TrialCallKind::EditByCommand => ScriptedAction::Shell(format!("echo a trial > {}", behaviour::RAN_FILE)),
        }
    }
}
