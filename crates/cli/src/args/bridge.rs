//! `hookwright bridge AGENT` as typed: by an agent, from an entry that `agents install` wrote.

use std::time::Duration;

use clap::Args;
use hookwright_bridge::Host;

/// What another agent calls.
#[derive(Clone, Debug, Args)]
pub(crate) struct BridgeArgs {
    /// The agent that calls: claude-code, codex, copilot, cursor, qwen, droid, grok, gemini-cli, antigravity or opencode.
    #[arg(value_name = "AGENT", value_parser = host)]
    pub(crate) agent: Host,
    /// The event that the entry is for, in the agent's own words; a payload that says another is refused.
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Option<String>,
    /// How many seconds the agent waits for the entry [default: what that agent waits where nothing is said].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
}

/// An agent's name.
pub(crate) fn host(name: &str) -> Result<Host, String> {
    Host::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Host::all().map(Host::name).collect();
        format!("no agent is called that; the agents are {}", names.join(", "))
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    if !(0.2..=86_400.0).contains(&seconds) {
        return Err("between 0.2 and 86400 seconds are possible".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}
