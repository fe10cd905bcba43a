//! The command-line arguments.

use std::path::PathBuf;

use clap::Parser;
use hookwright_trial::{BEHAVIOURS, Behaviour, Host};

/// Does a deny hold? Real agents, a model stand-in, hooks that behave in every way there is.
///
/// Examples:
///   cargo run -p conformance
///   cargo run -p conformance -- --agents claude-code,codex@0.166.0 --behaviours short --json out.json
///   cargo run -p conformance -- --agents qwen --behaviours cut-off,log-before --wiring bridge --keep
///   cargo run -p conformance -- --agents codex@0.167.0 --record crates/bridge/fixtures
#[derive(Debug, Parser)]
#[command(name = "conformance", verbatim_doc_comment)]
pub(crate) struct ConformanceArgs {
    /// Which agents: names, each with `@VERSION` if it is not to be the one that is known
    #[arg(long, value_delimiter = ',', value_parser = parse_agent_version, default_value = "claude-code,codex,gemini-cli,qwen,copilot,droid")]
    pub(crate) agents: Vec<AgentVersion>,
    /// Which behaviours: names, `short` or `all`
    #[arg(long, default_value = "all", value_parser = parse_behaviours)]
    pub(crate) behaviours: BehaviourSelection,
    /// Which ways of wiring: `direct`, `closed` (the agent's own switch for failures), `bridge`
    #[arg(long, value_delimiter = ',', default_value = "direct,closed,bridge")]
    pub(crate) wiring: Vec<WiringKind>,
    /// Where agents are installed
    #[arg(long, default_value = "target/conformance/agents")]
    pub(crate) cache: PathBuf,
    /// Hookwright's program; built if it is not given
    #[arg(long)]
    pub(crate) hookwright: Option<PathBuf>,
    /// How many runs at once
    #[arg(long, default_value_t = 2)]
    pub(crate) at_once: usize,
    /// How long one run may take, in seconds
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// How long everything may take, in seconds, installations included; runs that are left are said and not run
    #[arg(long)]
    pub(crate) within: Option<u64>,
    /// Writes the results as JSON
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Writes the results as a page, such as docs/does-a-deny-hold.md
    #[arg(long)]
    pub(crate) page: Option<PathBuf>,
    /// Reads earlier results instead of running those cells again
    #[arg(long)]
    pub(crate) with: Option<PathBuf>,
    /// Tries nothing: prints and writes earlier results once more
    #[arg(long, requires = "with")]
    pub(crate) again: bool,
    /// Records what the agents send their hooks into this folder, such as crates/bridge/fixtures, and tries nothing
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
    /// Leaves homes and projects on disk, and says where
    #[arg(long)]
    pub(crate) keep: bool,
    /// Runs in the machine's own network, where a namespace would be possible
    #[arg(long)]
    pub(crate) no_namespace: bool,
}

/// An agent in a certain version.
#[derive(Debug, Clone)]
pub(crate) struct AgentVersion {
    pub(crate) host: Host,
    pub(crate) version: String,
}

fn parse_agent_version(text: &str) -> Result<AgentVersion, String> {
    let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
    let host = Host::from_name(name).filter(|host| hookwright_trial::testable_hosts().any(|known| known == *host));
    let host = host.ok_or_else(|| {
        let names: Vec<_> = hookwright_trial::testable_hosts().map(Host::name).collect();
        format!("nobody knows how to run it here; known are {}", names.join(", "))
    })?;
    Ok(AgentVersion { host, version: version.unwrap_or(host.info().known_version).to_owned() })
}

/// The selected behaviours, which are the rows of the table.
#[derive(Debug, Clone)]
pub(crate) struct BehaviourSelection(pub(crate) Vec<&'static Behaviour>);

fn parse_behaviours(text: &str) -> Result<BehaviourSelection, String> {
    let one = |name: &str| Behaviour::by_name(name).ok_or_else(|| format!("no behaviour is called {name}"));
    let rows = match text {
        "all" => BEHAVIOURS.iter().collect(),
        "short" => Behaviour::live_trials().collect(),
        names => names.split(',').map(one).collect::<Result<_, _>>()?,
    };
    Ok(BehaviourSelection(rows))
}

/// How a hook comes to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WiringKind {
    /// Written into the agent's own settings.
    Direct,
    /// With the agent's own switch for failures.
    Closed,
    /// Through Hookwright.
    Bridge,
}

impl WiringKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            WiringKind::Direct => "direct",
            WiringKind::Closed => "closed",
            WiringKind::Bridge => "bridge",
        }
    }
}
