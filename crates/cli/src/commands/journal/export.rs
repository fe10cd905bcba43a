//! `journal export`: lines as JSON, as a table, or as OpenTelemetry log records.

use std::io::{self, Write};

use anyhow::Context;
use hookwright_agent::session::proxy_from_env;
use hookwright_disk::{ExistingFileMode, open_append};
use hookwright_journal::{Entry, JournalLine, Query, Reader};
use hookwright_settings::LoadedConfig;

use crate::telemetry::{CollectorOptions, logs_body, send_logs, verdict_log};
use crate::{exit, output};

/// The number of records that are sent at once.
const MAX_BATCH_RECORDS: usize = 500;

const CSV_HEADINGS: &str = "number,time,agent,project,session,turn,call,event,tool,verdict,decided_by,hooks,lost,ms\n";

pub(super) fn run(
    reader: &Reader,
    query: &Query,
    csv: bool,
    otlp: Option<&str>,
    loaded: &LoadedConfig,
) -> anyhow::Result<u8> {
    if let Some(target) = otlp {
        return export_otlp(reader, query, target, loaded);
    }
    let mut stdout = io::BufWriter::new(output::stdout());
    if csv {
        stdout.write_all(CSV_HEADINGS.as_bytes())?;
    }
    let mut failure = None;
    reader.for_each(query, |text, line| {
        let written = match csv {
            true => csv_row(&line).map_or(Ok(()), |row| stdout.write_all(row.as_bytes())),
            false => writeln!(stdout, "{text}"),
        };
        failure = written.err();
        failure.is_none()
    })?;
    match failure {
        Some(error) if output::is_reader_gone(&error) => return Ok(exit::BROKEN_PIPE),
        Some(error) => return Err(error).context("can't print the journal"),
        None => stdout.flush()?,
    }
    Ok(exit::OK)
}

/// Writes verdicts as OpenTelemetry log records, to a file or to a collector.
fn export_otlp(reader: &Reader, query: &Query, target: &str, loaded: &LoadedConfig) -> anyhow::Result<u8> {
    let env = &loaded.process_env;
    let options = CollectorOptions::new(env, proxy_from_env(env));
    let is_address = target.starts_with("http://") || target.starts_with("https://");
    let mut file = match is_address {
        true => None,
        false => {
            let path = env.cwd.join(target);
            let file = open_append(&path, ExistingFileMode::Keep);
            Some(file.with_context(|| format!("{} can't be written", path.display()))?)
        }
    };
    let (mut batch, mut count, mut failure) = (Vec::new(), 0, None);
    let mut send = |batch: &mut Vec<String>| -> anyhow::Result<()> {
        let items = std::mem::take(batch);
        match &mut file {
            _ if items.is_empty() => Ok(()),
            Some(file) => Ok(writeln!(file, "{}", logs_body(&options.resource, &items))?),
            None => send_logs(target, loaded.settings.telemetry.otlp_protocol, &options, &items)
                .map_err(|error| anyhow::anyhow!("{target}: {error}")),
        }
    };
    reader.for_each(query, |_, line| {
        if let Some(record) = verdict_log(&line) {
            batch.push(record);
            count += 1;
        }
        failure = if batch.len() >= MAX_BATCH_RECORDS { send(&mut batch).err() } else { None };
        failure.is_none()
    })?;
    match failure {
        Some(error) => return Err(error),
        None => send(&mut batch)?,
    }
    output::note(format!("{count} verdicts were written to {target}"))?;
    Ok(exit::OK)
}

/// Returns the row of an event; other lines have none.
fn csv_row(line: &JournalLine) -> Option<String> {
    let Entry::Event(event) = &line.entry else { return None };
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let cells = [
        line.seq.to_string(),
        line.time.clone(),
        event.agent.clone(),
        event.project.clone(),
        event.session.clone(),
        optional(&event.turn),
        optional(&event.call),
        event.event.clone(),
        event.tool.clone().or_else(|| event.host_tool.clone()).unwrap_or_default(),
        event.verdict.as_str().to_owned(),
        event.decided_by.join(" "),
        event.hooks.iter().map(|hook| hook.hook.as_str()).collect::<Vec<_>>().join(" "),
        event.lost.iter().map(|loss| format!("{} became {}", loss.wanted, loss.became)).collect::<Vec<_>>().join("; "),
        event.ms.to_string(),
    ];
    Some(cells.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n")
}

/// Quotes a cell. A spreadsheet would run a cell that starts like a formula, so such a cell gets an apostrophe.
fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) || is_formula {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::csv_cell;

    #[test]
    fn cells_are_quoted_and_run_nothing() {
        assert_eq!(csv_cell("a"), "a");
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_cell("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
    }
}
