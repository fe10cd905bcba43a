//! One cell of the table: a fresh home and a fresh project, the agent's own settings with a hook in them, one real run of
//! the agent, and a look at what is on the disk afterwards.

pub(crate) mod place;
pub(crate) mod run;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_bridge::{FailClosed, Host};
use serde::{Deserialize, Serialize};

use crate::behaviour::{self, Behaviour, Meaning, Place, Wanted};
use crate::driver::Driver;
use crate::standin::{Standin, Wish};
use place::Scene;
use run::Patience;

/// An agent that is here.
#[derive(Debug, Clone, Copy)]
pub struct Agent<'a> {
    /// Which.
    pub host: Host,
    /// Its program.
    pub program: &'a Path,
}

/// How the hook comes to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring<'a> {
    /// Written into the agent's own settings.
    Direct,
    /// The same, with the agent's own switch that failures block, where it has one.
    DirectClosed,
    /// Through this program, Hookwright.
    Bridge(&'a Path),
}

/// What runs take from the machine, and how long they may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Where programs are looked for.
    pub path: &'a OsStr,
    /// How long one run may take.
    pub time: Duration,
    /// Whether agents must be kept from the network by what they are told, since nothing else does.
    pub fence: bool,
    /// Whether homes and projects stay on disk, for people to look into.
    pub keep: bool,
    /// The user's folder for what programs can make again: an agent that unpacks itself need not do it for every run.
    pub cache: Option<&'a Path>,
}

/// One cell.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// Who runs.
    pub agent: Agent<'a>,
    /// How the hook behaves.
    pub behaviour: &'static Behaviour,
    /// How it comes to be called.
    pub wiring: Wiring<'a>,
}

/// What became of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
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
pub struct Seen {
    /// What became of the call.
    pub end: End,
    /// Whether the hook's reason reached the model.
    pub told: bool,
    /// Whether the hook's context reached the model.
    pub context: bool,
    /// How many hooks were started.
    pub started: usize,
    /// How long it took.
    #[serde(rename = "milliseconds", with = "milliseconds")]
    pub took: Duration,
    /// The end of what the agent printed.
    #[serde(skip)]
    pub words: String,
    /// Where the home and the project are, if they were kept.
    #[serde(skip)]
    pub kept: Option<std::path::PathBuf>,
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
    Place {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The stand-in could not listen.
    #[error("the model stand-in found no port to listen on")]
    Standin(#[source] std::io::Error),
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
    Wire {
        /// What was run.
        command: String,
        /// What it said.
        words: String,
    },
}

impl Seen {
    /// An agent that never came as far as a call.
    pub(crate) fn of_nothing() -> Seen {
        let (words, took) = (String::new(), Duration::ZERO);
        Seen { end: End::Dead, told: false, context: false, started: 0, took, words, kept: None }
    }

    /// Whether what the hook's author meant is what happened.
    pub fn is_as_meant(&self, behaviour: &Behaviour) -> bool {
        match behaviour.means {
            Meaning::Nothing => self.end == End::Ran,
            Meaning::No => self.end == End::Blocked,
            Meaning::Otherwise => matches!(self.end, End::Rewritten | End::Blocked),
            Meaning::Tell => self.end == End::Ran && self.context,
        }
    }
}

impl Cell<'_> {
    /// Whether there is such a cell: some behaviours need what not every agent has.
    pub fn exists(&self) -> bool {
        let Some(driver) = Driver::of(self.agent.host) else { return false };
        let direct = !matches!(self.wiring, Wiring::Bridge(_));
        let switch = matches!(driver.host.info().fail_closed, FailClosed::Key(..));
        (!direct || driver.takes_commands())
            && (self.wiring != Wiring::DirectClosed || switch)
            && (self.behaviour.place != Place::Untrusted || driver.asks_for_trust())
            && (self.behaviour.place != Place::ProgramGone || !direct)
            && driver.event(self.behaviour.event).is_some()
    }

    /// Runs it.
    ///
    /// # Errors
    /// If it could not be run. An agent that hangs or does nothing has been seen to do that.
    pub async fn run(&self, bounds: Bounds<'_>) -> Result<Seen, TrialError> {
        let driver = Driver::of(self.agent.host).ok_or(TrialError::NoDriver(self.agent.host))?;
        let mut scene = Scene::new(bounds.keep)?;
        let standin = Standin::start(vec![self.wish(&scene)]).await.map_err(TrialError::Standin)?;
        scene.furnish(self, driver, &standin.url(), bounds).await?;
        let start = Instant::now();
        // What became of the one wish is certain as soon as the agent comes back with it.
        let patience = Patience { trusts: self.behaviour.place != Place::Untrusted, answers: Some(1) };
        let look = || (scene.has(behaviour::RAN), scene.has(behaviour::REWRITTEN));
        let run = run::agent(self.agent.program, driver, &scene, &standin, bounds, patience, look).await?;
        let (ran, rewritten) = run.found;
        let started = scene.started(0);
        // Where nothing answers, some agents do not even take the prompt; that they otherwise would, other rows show.
        let was_asked = standin.wished() > 0 || started > 0 || self.behaviour.place == Place::ProgramGone;
        let end = match () {
            () if ran => End::Ran,
            () if rewritten => End::Rewritten,
            () if run.is_overdue => End::Hung,
            () if !was_asked => End::Dead,
            () => End::Blocked,
        };
        let told = standin.has_heard(behaviour::REASON) || run.words.contains(behaviour::REASON);
        let context = standin.has_heard(behaviour::CONTEXT);
        let kept = bounds.keep.then(|| scene.root().to_owned());
        Ok(Seen { end, told, context, started, took: start.elapsed(), words: run.words, kept })
    }

    fn wish(&self, scene: &Scene) -> Wish {
        let file = || scene.project().join(behaviour::RAN).to_string_lossy().into_owned();
        match self.behaviour.wants {
            Wanted::Command => Wish::Shell(format!("touch {}", behaviour::RAN)),
            Wanted::Edit => Wish::Write { path: file(), content: "a trial\n".to_owned() },
            Wanted::EditByCommand => Wish::Shell(format!("echo a trial > {}", behaviour::RAN)),
        }
    }
}
