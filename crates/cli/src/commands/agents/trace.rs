//! `agents trace`: prints the bridge's trace of other agents' events: which hook decided what, when, and what the agent
//! could not enforce. It reads the trace file and changes nothing.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::Value;

use crate::args::AgentTraceArgs;
use crate::exit;
use crate::log::file::{LogFollower, rotated_files};
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, WARN, paint};

/// How often a followed file is read again.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(wanted: &AgentTraceArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let path = ConfigPaths::new(world).bridge_trace;
    // Opened before the old lines are read, so that no line between the two is missed.
    let mut follower = wanted.follow.then(|| LogFollower::from_end(&path));
    let kept = last_matching_lines(&path, wanted)?;
    if kept.is_empty() && !wanted.json {
        let of = wanted.agent.map_or_else(String::new, |host| format!(" of {}", host.title()));
        output::note(format!(
            "no event{of} has come through the bridge yet; events are recorded in {}",
            path.display()
        ))?;
        if follower.is_none() {
            output::hint("`hookwright agents install AGENT` makes an agent run your hooks")?;
        }
    }
    for line in &kept {
        print_line(line, wanted.json)?;
    }
    while let Some(follower) = &mut follower {
        for line in follower.read_new_lines()?.iter().filter_map(|line| parse_matching_line(line, wanted)) {
            print_line(&line, wanted.json)?;
        }
        if output::is_stdout_closed() {
            return Ok(exit::BROKEN_PIPE);
        }
        std::thread::sleep(FOLLOW_INTERVAL);
    }
    Ok(exit::OK)
}

/// Returns the last lines that match the options, oldest first.
fn last_matching_lines(path: &Path, wanted: &AgentTraceArgs) -> anyhow::Result<Vec<Value>> {
    let mut lines = std::collections::VecDeque::new();
    for file in rotated_files(path) {
        let file = match std::fs::File::open(&file) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("{} can't be read", file.display())),
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.context("the trace can't be read")?;
            if let Some(line) = parse_matching_line(&String::from_utf8_lossy(&line), wanted) {
                lines.push_back(line);
            }
            if lines.len() > wanted.last {
                lines.pop_front();
            }
        }
    }
    Ok(lines.into())
}

/// Parses a line that matches the options. Text that is no trace line, such as one that a full disk
/// cut off, is skipped.
fn parse_matching_line(text: &str, wanted: &AgentTraceArgs) -> Option<Value> {
    let line: Value = serde_json::from_str(text).ok()?;
    let is = |key: &str, word: Option<&str>| word.is_none_or(|word| line[key].as_str() == Some(word));
    let session = wanted.session.as_deref();
    let matters = !wanted.refused || line["verdict"] != "pass" || line.get("lost").is_some();
    (line["host"].is_string()
        && is("host", wanted.agent.map(|host| host.name()))
        && is("session_id", session)
        && matters)
        .then_some(line)
}

fn print_line(line: &Value, as_json: bool) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    if as_json {
        writeln!(stdout, "{line}")?;
        return Ok(stdout.flush()?);
    }
    writeln!(stdout, "{}", headline(line))?;
    for detail in details(line) {
        writeln!(stdout, "    {detail}")?;
    }
    Ok(stdout.flush()?)
}

/// Formats the time, agent, verdict, event and duration of a trace line.
fn headline(line: &Value) -> String {
    let text = |key: &str| output::truncate_columns(&output::one_line(line[key].as_str().unwrap_or_default()), 40);
    let time = text("time");
    let time = time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
    let verdict = text("verdict");
    let style = match verdict.as_str() {
        "deny" | "stop" => BAD,
        "ask" => WARN,
        _ => GOOD,
    };
    let about = [text("event"), text("tool")].join(" ");
    let asked = line["hooks"].as_array().map_or(0, Vec::len);
    let hooks = match asked {
        0 => "no hook".to_owned(),
        1 => "1 hook".to_owned(),
        many => format!("{many} hooks"),
    };
    let took = format!("{hooks}, {} ms", line["ms"].as_f64().unwrap_or_default().round());
    format!(
        "{}  {}  {}  {}  {}",
        paint(DIM, time),
        paint(BOLD, format!("{:<11}", text("host"))),
        paint(style, format!("{verdict:<4}")),
        paint(PLAIN, about.trim_end()),
        paint(DIM, format!("({took})"))
    )
}

/// Formats the decisions and errors of hooks, the reason, and what the agent could not enforce.
fn details(line: &Value) -> Vec<String> {
    let words = |value: &Value| output::truncate_columns(&output::one_line(value.as_str().unwrap_or_default()), 160);
    let mut details = Vec::new();
    for hook in line["hooks"].as_array().into_iter().flatten() {
        let (decision, error) = (words(&hook["decision"]), words(&hook["error"]));
        let result = match (decision.as_str(), error.as_str()) {
            ("" | "allow", "") => continue,
            (decision, "") => decision.to_owned(),
            ("", error) => format!("failed: {error}"),
            (decision, error) => format!("{decision}; failed: {error}"),
        };
        let took = hook["ms"].as_f64().unwrap_or_default().round();
        details.push(format!(
            "{} ({}): {result}, {took} ms",
            paint(BOLD, words(&hook["hook"])),
            words(&hook["source"])
        ));
    }
    if !words(&line["why"]).is_empty() {
        details.push(format!("{} {}", paint(DIM, "because:"), words(&line["why"])));
    }
    if !words(&line["doubt"]).is_empty() {
        details.push(format!("{} {}", paint(WARN, "not understood:"), words(&line["doubt"])));
    }
    for hook in line["left_out"].as_array().into_iter().flatten() {
        details.push(format!("{} {}", paint(WARN, "did not run:"), words(hook)));
    }
    for loss in line["lost"].as_array().into_iter().flatten() {
        let (wanted, became) = (words(&loss["wanted"]), words(&loss["became"]));
        details.push(format!("{} {wanted} became {became}", paint(WARN, "lost:")));
    }
    details
}
