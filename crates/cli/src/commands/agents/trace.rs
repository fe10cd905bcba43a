//! `agents trace`: prints the bridge's trace of other agents' events: which hook decided what, when, and what the agent
//! could not enforce. It is a view of the journal.

use std::io::Write;
use std::time::Duration;

use hookwright_journal::{JournalLine, Query, Reader};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::Value;

use crate::args::AgentTraceArgs;
use crate::bridge::record::trace_line;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, WARN, paint};

/// How often the journal is read again.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(wanted: &AgentTraceArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let (kept, mut last) = last_events(&reader, wanted)?;
    if kept.is_empty() && !wanted.json {
        let of = wanted.agent.map_or_else(String::new, |host| format!(" of {}", host.title()));
        let dir = reader.dir().display();
        output::note(format!("no event{of} has come through the bridge yet; events are recorded in {dir}"))?;
        if !wanted.follow {
            output::hint("`hookwright agents install AGENT` makes an agent run your hooks")?;
        }
    }
    for line in &kept {
        print_line(line, wanted.json)?;
    }
    if !wanted.follow {
        return Ok(exit::OK);
    }
    loop {
        std::thread::sleep(FOLLOW_INTERVAL);
        for line in new_lines(&reader, &mut last, wanted)? {
            print_line(&line, wanted.json)?;
        }
        if output::is_stdout_closed() {
            return Ok(exit::BROKEN_PIPE);
        }
    }
}

/// Returns the last events that match the options, oldest first, and the number of the journal's last line.
fn last_events(reader: &Reader, wanted: &AgentTraceArgs) -> anyhow::Result<(Vec<Value>, u64)> {
    let last = reader.last_line()?;
    let mut query = query(wanted)?;
    query.until_line(last);
    let mut lines = std::collections::VecDeque::new();
    reader.for_each(&query, |_, line| {
        lines.extend(matching_event(&line, wanted));
        if lines.len() > wanted.last {
            lines.pop_front();
        }
        true
    })?;
    Ok((lines.into(), last))
}

/// Returns the events that were recorded after a line, and moves on to the last one.
fn new_lines(reader: &Reader, last: &mut u64, wanted: &AgentTraceArgs) -> anyhow::Result<Vec<Value>> {
    let newest = reader.last_line()?;
    if newest == *last {
        return Ok(Vec::new());
    }
    let mut query = query(wanted)?;
    query.after_line(*last);
    let mut lines = Vec::new();
    reader.for_each(&query, |_, line| {
        *last = (*last).max(line.seq);
        lines.extend(matching_event(&line, wanted));
        true
    })?;
    *last = (*last).max(newest);
    Ok(lines)
}

fn query(wanted: &AgentTraceArgs) -> anyhow::Result<Query> {
    let now = jiff::Timestamp::now();
    let mut query = Query::parse(["kind=event", "agent!=hookwright"], now)?;
    if let Some(agent) = wanted.agent {
        query.add(&format!("agent={}", agent.name()), now)?;
    }
    Ok(query)
}

/// Returns an event in the form that is printed, if it matches the options.
fn matching_event(line: &JournalLine, wanted: &AgentTraceArgs) -> Option<Value> {
    let event = trace_line(line)?;
    let is_session = wanted.session.as_deref().is_none_or(|session| event["session_id"] == session);
    let matters = !wanted.refused || event["verdict"] != "pass" || event.get("lost").is_some();
    (is_session && matters).then_some(event)
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
