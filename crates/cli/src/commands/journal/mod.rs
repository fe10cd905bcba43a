//! `hookwright journal …`: shows, checks, signs, exports and forgets the record of what hooks decided.

mod export;
pub(crate) mod page;
mod page_command;
mod recorded_input;
mod show;
mod stats;
mod verify;

use std::io::Write;

use anstyle::Style;
use anyhow::Context;
use hookwright_journal::{
    Entry, ForgetSelection, Journal, JournalLine, JournalOptions, Query, Reader, Verdict, forget, parse_time,
};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use jiff::Timestamp;

pub(crate) use recorded_input::recorded_input;

use crate::args::{JournalCommand, JournalForgetArgs, JournalOutput, ProjectCommand};
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, TextTable, WARN, paint};

/// Runs one of the `journal` commands.
pub(crate) fn run(args: &ProjectCommand<JournalCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    match &args.command {
        JournalCommand::List { output } => print_selection(&reader, &Query::default(), output),
        JournalCommand::Query { terms, output } => print_selection(&reader, &parse_query(terms)?, output),
        JournalCommand::Show { line, json } => show::run(&reader, *line, *json),
        JournalCommand::Stats { terms, shadow, json } => {
            let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
            stats::run(&reader, &parse_query(terms)?, &loaded, *shadow, *json)
        }
        JournalCommand::Verify { seal, key, json } => verify::run(&reader, seal.as_deref(), key.as_deref(), *json),
        JournalCommand::Seal { key } => verify::seal(&reader, key.as_deref()),
        JournalCommand::Export { terms, csv, otlp } => {
            let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
            export::run(&reader, &parse_query(terms)?, *csv, otlp.as_deref(), &loaded)
        }
        JournalCommand::Page(page) => {
            let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
            page_command::run(page, &reader, &loaded, world)
        }
        JournalCommand::Forget(selection) => {
            let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
            forget_content(&reader, selection, JournalOptions::from_settings(&loaded.settings.journal))
        }
    }
}

/// Parses the words of a query.
pub(crate) fn parse_query(terms: &[String]) -> anyhow::Result<Query> {
    Ok(Query::parse(terms.iter().map(String::as_str), Timestamp::now())?)
}

/// Returns the line of this number, with its large parts.
pub(crate) fn line_by_number(reader: &Reader, number: u64) -> anyhow::Result<JournalLine> {
    let line = reader.line(number)?;
    let mut line = line.with_context(|| {
        format!("line {number} is not in the journal; `hookwright journal list` shows the latest lines")
    })?;
    reader.resolve(&mut line);
    Ok(line)
}

fn print_selection(reader: &Reader, query: &Query, wanted: &JournalOutput) -> anyhow::Result<u8> {
    let mut found = reader.select(query, wanted.last)?;
    if wanted.json {
        let mut stdout = output::stdout();
        for line in &mut found.lines {
            reader.resolve(line);
            writeln!(stdout, "{}", serde_json::to_string(line)?)?;
        }
        stdout.flush()?;
        return Ok(exit::OK);
    }
    if found.lines.is_empty() {
        output::note("no line of the journal matches")?;
        if reader.count(&Query::default())? == 0 {
            let dir = reader.dir().display();
            output::hint(format!("events with a hook are recorded in {dir}, from the next one on"))?;
        }
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["NUMBER", "TIME", "AGENT", "EVENT", "VERDICT", "BY", "WHAT"]);
    found.lines.iter().for_each(|line| table.add_row(summary_row(line)));
    table.print(&mut output::stdout())?;
    if found.matched > found.lines.len() as u64 {
        output::note(format!("{} of {} lines; -n shows more", found.lines.len(), found.matched))?;
    }
    Ok(exit::OK)
}

/// The style of a verdict. The word is always there too.
pub(crate) fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Deny | Verdict::Stop => BAD,
        Verdict::Ask | Verdict::Confine => WARN,
        Verdict::Pass | Verdict::Allow => GOOD,
    }
}

fn summary_row(line: &JournalLine) -> Vec<(Style, String)> {
    let time = line.time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
    let mut row = vec![(BOLD, line.seq.to_string()), (DIM, time)];
    let mut cells = |cells: [(Style, String); 5]| row.extend(cells);
    let plain = |text: &str| (PLAIN, text.to_owned());
    match &line.entry {
        Entry::Event(event) => cells([
            plain(&event.agent),
            plain(if event.event.is_empty() { event.host_event.as_deref().unwrap_or("?") } else { &event.event }),
            (verdict_style(event.verdict), event.verdict.as_str().to_owned()),
            plain(&deciders(event)),
            plain(&subject(line)),
        ]),
        Entry::Call(call) => cells([
            plain(&call.agent),
            plain("call"),
            plain(call.result.as_str()),
            plain(call.refused_by.as_deref().unwrap_or_default()),
            plain(&call.tool),
        ]),
        Entry::Request(request) => {
            cells([plain(&request.agent), plain("request"), plain(""), plain(""), plain(&request.model)]);
        }
        Entry::Misprediction { refused, .. } => {
            let command = output::truncate_columns(&output::one_line(mispredicted_command(line)), 80);
            cells([
                plain(""),
                (WARN, "misprediction".to_owned()),
                plain(""),
                plain(&refused.join(", ")),
                plain(&command),
            ]);
        }
        other => cells([plain(""), (DIM, own_line(other)), plain(""), plain(""), plain("")]),
    }
    row
}

fn deciders(event: &hookwright_journal::EventEntry) -> String {
    let shadow = event.hooks.iter().filter(|hook| hook.mode.is_some() && hook.decision.is_some());
    let shadow = shadow.map(|hook| format!("{} (shadow: {})", hook.hook, hook.decision.as_deref().unwrap_or_default()));
    event
        .decided_by
        .iter()
        .cloned()
        .chain(event.refusal.map(|_| "the bridge".to_owned()))
        .chain(shadow)
        .map(|name| output::truncate_columns(&name, 40))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Says in a few words what an event was about.
pub(crate) fn subject(line: &JournalLine) -> String {
    let Some(event) = line.event() else { return String::new() };
    let input = line.content.as_ref().map(|content| &content["input"]);
    let args = input.map(|input| &input["tool_input"]);
    let keys = ["command", "file_path", "path", "absolute_path", "url", "pattern", "query", "prompt"];
    let told = args.and_then(|args| keys.iter().find_map(|key| args[*key].as_str()));
    let told = told.or_else(|| input?.get("prompt")?.as_str());
    let tool = event.tool.as_deref().or(event.host_tool.as_deref()).unwrap_or_default();
    output::truncate_columns(&output::one_line(format!("{tool} {}", told.unwrap_or_default()).trim()), 80)
}

/// The command about which the analysis was wrong.
pub(crate) fn mispredicted_command(line: &JournalLine) -> &str {
    line.content.as_ref().and_then(|content| content["command"].as_str()).unwrap_or_default()
}

/// Says what a line about the journal itself is about.
pub(crate) fn own_line(entry: &Entry) -> String {
    match entry {
        Entry::Start { version } => format!("the journal starts (version {version})"),
        Entry::Seal { segment, lines, .. } => format!("segment {segment} is complete, with {lines} lines"),
        Entry::Gap { problem } => format!("gap: {problem}"),
        Entry::Forgot { what, .. } => format!("content was forgotten: {what}"),
        Entry::Dropped { last_line, .. } => format!("lines up to {last_line} were removed by age or size"),
        Entry::Event(_) | Entry::Call(_) | Entry::Request(_) | Entry::Misprediction { .. } => String::new(),
    }
}

fn forget_content(reader: &Reader, wanted: &JournalForgetArgs, options: JournalOptions) -> anyhow::Result<u8> {
    let selection = match (&wanted.session, &wanted.before) {
        (Some(session), _) => ForgetSelection::Session(session.clone()),
        (None, Some(time)) => ForgetSelection::Before(parse_time(time, Timestamp::now())?),
        (None, None) => anyhow::bail!("name a session, or say --before TIME"),
    };
    if reader.count(&Query::default())? == 0 {
        output::note("the journal is empty")?;
        return Ok(exit::OK);
    }
    let mut journal = Journal::open(reader.dir(), options)?;
    let count = forget(&mut journal, &selection)?;
    let style = if count == 0 { WARN } else { GOOD };
    writeln!(output::stdout(), "{}", paint(style, format!("the content of {count} lines was removed ({selection})")))?;
    Ok(if count == 0 { exit::ERROR } else { exit::OK })
}

/// Removes the content of a session's lines, if there are any.
pub(crate) fn forget_session(world: &ProcessEnv, session: &str) -> anyhow::Result<()> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let mut query = Query::default();
    query.add(&format!("session={session}"), Timestamp::now())?;
    if reader.count(&query)? > 0 {
        let mut journal = Journal::open(reader.dir(), JournalOptions::default())?;
        forget(&mut journal, &ForgetSelection::Session(session.to_owned()))?;
    }
    Ok(())
}
