//! `hookwright bridge AGENT` as typed: by an agent, from an entry that `agents install` wrote.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hookwright_bridge::Host;

/// What another agent calls.
#[derive(Clone, Debug, Args)]
pub(crate) struct BridgeArgs {
    /// The agent that calls: claude-code, codex, copilot, cursor, qwen, droid, grok, gemini-cli, antigravity or opencode.
    #[arg(value_name = "AGENT", value_parser = parse_host)]
    pub(crate) agent: Host,
    /// The event that the entry is for, as the agent names it; a payload with another event is refused.
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Option<String>,
    /// How many seconds the agent waits for the entry [default: the agent's own default].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) deadline: Option<Duration>,
    /// Record each decision as this file says, and refuse every tool call: for `agents doctor --live`.
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) trial: Option<PathBuf>,
}

impl BridgeArgs {
    /// Parses the arguments if they are in the form that `agents install` writes; `None` leaves them to clap.
    ///
    /// clap has help and messages for errors, but building its tables takes longer than the rest of an answer.
    pub(crate) fn parse_fast(words: impl Iterator<Item = OsString>) -> Option<BridgeArgs> {
        let mut words = words.map(|word| word.into_string().unwrap_or_default());
        words.next().filter(|word| word == "bridge")?;
        let mut args = BridgeArgs { agent: parse_host(&words.next()?).ok()?, event: None, deadline: None, trial: None };
        loop {
            match words.next() {
                None => return Some(args),
                Some(option) if option == "--event" && args.event.is_none() => {
                    args.event = Some(non_option_value(words.next()?)?)
                }
                Some(option) if option == "--deadline" && args.deadline.is_none() => {
                    args.deadline = Some(parse_seconds(&words.next()?).ok()?);
                }
                _ => return None,
            }
        }
    }
}

/// Returns the value unless it is empty or looks like an option.
fn non_option_value(value: String) -> Option<String> {
    (!value.is_empty() && !value.starts_with('-')).then_some(value)
}

/// Parses the name of an agent.
pub(crate) fn parse_host(name: &str) -> Result<Host, String> {
    Host::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Host::all().map(Host::name).collect();
        format!("there is no agent of that name; the agents are {}", names.join(", "))
    })
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it must be a number of seconds".to_owned())?;
    if !(0.2..=86_400.0).contains(&seconds) {
        return Err("it must be between 0.2 and 86400 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct BridgeTestCli {
        #[command(flatten)]
        bridge: BridgeArgs,
    }

    /// The fast parser agrees with clap, or leaves the arguments to it.
    #[test]
    fn fast_parsing_agrees_with_clap() {
        for line in [
            "bridge codex",
            "bridge claude --event PreToolUse",
            "bridge cursor --deadline 4.5 --event preToolUse",
            "bridge nobody",
            "bridge",
            "bridge codex --event",
            "bridge codex --deadline never",
            "bridge codex --deadline 0",
            "bridge codex extra",
            "bridge codex --event a --event b",
            "bridge codex --help",
            "bridge codex --event --deadline",
            "hooks list",
        ] {
            let words = || line.split(' ').map(OsString::from);
            let Some(quick) = BridgeArgs::parse_fast(words()) else { continue };
            let whole = BridgeTestCli::try_parse_from(words()).unwrap_or_else(|error| panic!("{line}: {error}")).bridge;
            assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{line}");
        }
        assert!(BridgeArgs::parse_fast(["bridge", "codex"].into_iter().map(OsString::from)).is_some());
    }
}
