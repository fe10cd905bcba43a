//! `hooks why`: the story of one recorded event in plain words.

use std::io::Write;

use anyhow::{Context, bail};
use hookwright_journal::{JournalLine, Query, Reader, Story};
use hookwright_settings::{ConfigPaths, ProcessEnv};

use crate::args::ProjectArgs;
use crate::commands::journal::{line_by_number, own_line, verdict_style};
use crate::exit;
use crate::output::{self, BOLD, DIM, paint};

pub(super) fn run(
    place: &ProjectArgs,
    world: &ProcessEnv,
    line: &str,
    denied: bool,
    as_json: bool,
) -> anyhow::Result<u8> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let line = match line {
        "last" => last_event(&reader, place, world, denied)?,
        _ if denied => bail!("`denied` belongs to `last`: `hookwright hooks why last denied`"),
        number => {
            let parsed = number.parse().ok();
            let number = parsed.with_context(|| {
                format!("`{}` is neither `last` nor the number of a line", output::one_line(number))
            })?;
            line_by_number(&reader, number)?
        }
    };
    let (number, about) = (line.seq, own_line(&line.entry));
    let event = reader.event_of(line)?;
    let story = event.map(|event| tell(&reader, event)).transpose()?.flatten();
    let Some((story, event)) = story else {
        match about.is_empty() {
            true => bail!("line {number} is about no event that hooks were asked about"),
            false => bail!("line {number} is about the journal itself: {about}"),
        }
    };
    if as_json {
        output::print_json(&serde_json::to_value(&story)?)?;
        return Ok(exit::OK);
    }
    let verdict = event.event().map(|event| event.verdict).unwrap_or_default();
    let mut stdout = output::stdout();
    writeln!(
        stdout,
        "{} {}",
        paint(verdict_style(verdict), output::sanitize(&story.title)),
        paint(DIM, format!("(line {})", story.line))
    )?;
    for part in &story.parts {
        writeln!(stdout, "{}{}", paint(BOLD, format!("{:<10}", part.topic.heading())), output::sanitize(&part.text))?;
        for detail in &part.details {
            writeln!(stdout, "{:<12}{}", "", output::sanitize(detail))?;
        }
    }
    stdout.flush()?;
    Ok(exit::OK)
}

/// Tells the story of an event; `None` for a line that is about none.
pub(crate) fn tell(reader: &Reader, mut line: JournalLine) -> anyhow::Result<Option<(Story, JournalLine)>> {
    reader.resolve(&mut line);
    let outcome = reader.call_outcome(&line)?;
    Ok(Story::tell(&line, outcome.as_ref()).map(|story| (story, line)))
}

/// Returns the story of the last event on record that a hook was asked about.
///
/// # Errors
/// If the journal can't be read.
pub(crate) fn last_story_of_hook(world: &ProcessEnv, hook: &str) -> anyhow::Result<Option<Story>> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let now = jiff::Timestamp::now();
    let mut query = Query::default();
    query.add("kind=event", now)?;
    query.add(&format!("hook={hook}"), now)?;
    let Some(line) = reader.select(&query, 1)?.lines.pop() else { return Ok(None) };
    Ok(tell(&reader, line)?.map(|(story, _)| story))
}

/// Returns the story of the last BeforeTool event of a session's call, if one is on record.
///
/// # Errors
/// If the journal can't be read.
pub(crate) fn last_story_of_call(world: &ProcessEnv, session: &str, call_id: &str) -> anyhow::Result<Option<Story>> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let now = jiff::Timestamp::now();
    let mut query = Query::default();
    for term in ["kind=event", "event=BeforeTool", &format!("session={session}")] {
        query.add(term, now)?;
    }
    query.add(&format!("text=\"call\":{}", serde_json::Value::from(call_id)), now)?;
    let Some(line) = reader.select(&query, 1)?.lines.pop() else { return Ok(None) };
    Ok(tell(&reader, line)?.map(|(story, _)| story))
}

/// Returns the last event of this project, or else of any.
fn last_event(reader: &Reader, place: &ProjectArgs, world: &ProcessEnv, denied: bool) -> anyhow::Result<JournalLine> {
    let project = place.directory(world)?;
    let now = jiff::Timestamp::now();
    let mut query = Query::default();
    // What a policy denied is told by the line about the call's end.
    query.add(if denied { "kind=event,call" } else { "kind=event" }, now)?;
    if denied {
        query.add("verdict=deny,stop", now)?;
    }
    let project = project.to_string_lossy();
    let mut here = query.clone();
    let is_plain = !project.contains([',', '*']);
    if is_plain {
        here.add(&format!("project={project}"), now)?;
    }
    for query in [is_plain.then_some(&here), Some(&query)].into_iter().flatten() {
        if let Some(line) = reader.select(query, 1)?.lines.pop() {
            return Ok(line);
        }
    }
    match denied {
        true => bail!("no event on record was denied or stopped"),
        false => bail!("no event is on record yet; `hookwright journal list` shows what is"),
    }
}
