//! The report of `agents coverage`, for people and as JSON.

use std::io::{self, Write};

use hookwright_bridge::coverage::{AgentCoverage, CallFinding, CoverageReport, MAX_LISTED_FINDINGS, UncoveredReason};
use hookwright_bridge::transcripts::{TranscriptCall, TranscriptProblem};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::CoverageRun;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, TextTable, WARN, paint};

/// The number of calls that are shown of one session.
const MAX_SHOWN_CALLS: usize = 10;
/// The number of problems that are shown.
const MAX_SHOWN_PROBLEMS: usize = 20;

pub(super) fn print_report(run: &CoverageRun) -> anyhow::Result<()> {
    let report = &run.report;
    for host in &run.unsupported {
        output::warn(format!("transcripts of {} can't be read, so its calls are not compared", host.title()))?;
    }
    if report.agents.is_empty() {
        return print_nothing_found(run);
    }
    print_table(report)?;
    let mut stdout = output::stdout();
    print_overruled(&mut stdout, report)?;
    print_uncovered(&mut stdout, report)?;
    stdout.flush()?;
    print_problems(report)?;
    print_notes(run)
}

fn print_nothing_found(run: &CoverageRun) -> anyhow::Result<()> {
    if run.locations.is_empty() {
        return Ok(());
    }
    output::note(format!("no transcript has a call since {}", format_time(run.since)))?;
    for location in &run.locations {
        let directories = location.directories.iter().chain(&location.database);
        let directories: Vec<String> = directories.map(|directory| directory.display().to_string()).collect();
        output::note(format!("{} was looked for in {}", location.agent.title(), directories.join(", ")))?;
    }
    Ok(())
}

fn print_table(report: &CoverageReport) -> io::Result<()> {
    let mut table = TextTable::new(&[
        "AGENT",
        "SESSIONS",
        "CALLS",
        "ASKED",
        "NOT ASKED",
        "OVERRULED",
        "REFUSED BY AGENT",
        "UNREAD",
    ]);
    for counts in &report.agents {
        let bad = |count: usize| (if count == 0 { PLAIN } else { BAD }, count.to_string());
        let plain = |count: usize| (PLAIN, count.to_string());
        let asked = if counts.covered == counts.seen { GOOD } else { PLAIN };
        table.add_row(vec![
            (BOLD, counts.agent.title().to_owned()),
            plain(counts.sessions),
            plain(counts.seen),
            (asked, counts.covered.to_string()),
            bad(counts.uncovered),
            bad(counts.overruled),
            plain(counts.refused),
            (if counts.problems == 0 { PLAIN } else { WARN }, counts.problems.to_string()),
        ]);
    }
    table.print(&mut output::stdout())
}

fn print_overruled(out: &mut impl Write, report: &CoverageReport) -> io::Result<()> {
    if report.overruled.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{}",
        paint(BAD, "overruled: Hookwright refused these calls, and the transcript says that they ran")
    )?;
    for call in &report.overruled {
        writeln!(out, "  {}", call_headline(call))?;
        writeln!(out, "      {}", paint(DIM, format!("session {}, {}", call.session, position(call))))?;
    }
    Ok(())
}

/// Prints the calls that were not asked about, together where session and reason are the same.
fn print_uncovered(out: &mut impl Write, report: &CoverageReport) -> io::Result<()> {
    if report.uncovered.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(BAD, "not asked: no hook saw these calls"))?;
    for group in group_findings(&report.uncovered) {
        let first = &group[0];
        let version = first.call.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        let title = format!("{}{version}, session {}", first.call.agent.title(), first.call.session);
        writeln!(out, "  {}", paint(BOLD, output::one_line(&title)))?;
        writeln!(out, "    {} {}", paint(DIM, "because:"), output::one_line(&first.reason.to_string()))?;
        for finding in group.iter().take(MAX_SHOWN_CALLS) {
            writeln!(out, "    {}", call_headline(&finding.call))?;
        }
        let rest = group.len().saturating_sub(MAX_SHOWN_CALLS);
        let more = if rest > 0 { format!("and {rest} more, from ") } else { String::new() };
        writeln!(out, "    {}", paint(DIM, format!("{more}{}", position(&first.call))))?;
        let spots = first.call.agent.blind_spots().iter().filter(|_| first.reason == UncoveredReason::NoHookForTool);
        for spot in spots.filter(|spot| spot.summary.contains(&format!("`{}`", first.call.tool))) {
            writeln!(out, "    {} {}", paint(DIM, "hint:"), spot.remedy)?;
        }
    }
    Ok(())
}

/// Returns the findings in groups of the same session and reason, in the order of their first call.
fn group_findings(findings: &[CallFinding]) -> Vec<Vec<&CallFinding>> {
    let mut groups: Vec<Vec<&CallFinding>> = Vec::new();
    let key = |finding: &CallFinding| (finding.call.agent, finding.call.session.clone(), finding.reason.as_str());
    let mut places = std::collections::HashMap::new();
    for finding in findings {
        let at = *places.entry(key(finding)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(finding);
    }
    groups
}

fn call_headline(call: &TranscriptCall) -> String {
    let time = call.time.map_or_else(|| "at an unknown time".to_owned(), format_time);
    let tool = output::truncate_columns(&call.tool, 40);
    let arguments = output::truncate_columns(&call.summary, 100);
    let unsure = if call.result.as_str() == "unknown" { " (the transcript does not say whether it ran)" } else { "" };
    format!("{}  {}  {arguments}{unsure}", paint(DIM, time), paint(BOLD, tool))
}

/// Returns the file and line of a call.
fn position(call: &TranscriptCall) -> String {
    output::one_line(&format!("{}:{}", call.file.display(), call.line))
}

fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn print_problems(report: &CoverageReport) -> io::Result<()> {
    for problem in report.problems.iter().take(MAX_SHOWN_PROBLEMS) {
        output::warn(format!("not read: {problem}"))?;
    }
    let rest = report.problems.len().saturating_sub(MAX_SHOWN_PROBLEMS);
    if rest > 0 {
        output::warn(format!("not read: {rest} more files or lines; `--json` lists them"))?;
    }
    Ok(())
}

fn print_notes(run: &CoverageRun) -> anyhow::Result<()> {
    let report = &run.report;
    let sum = |count: fn(&AgentCoverage) -> usize| report.agents.iter().map(count).sum::<usize>();
    if report.is_journal_empty && sum(|agent| agent.seen) > 0 {
        output::error(
            "nothing is recorded of other agents' calls in this period, so that no call can be shown to have been asked about",
        )?;
        output::hint("`hookwright agents doctor` says which agents call Hookwright")?;
    }
    if let (early @ 1.., Some(from)) = (sum(|agent| agent.before_journal), report.records_from) {
        output::note(format!(
            "{early} calls are older than the first record, of {}, and are not compared",
            format_time(from)
        ))?;
    }
    let pending = sum(|agent| agent.pending);
    if pending > 0 {
        output::note(format!("{pending} calls have no result yet and are not compared"))?;
    }
    if sum(|agent| agent.uncovered) > report.uncovered.len() || sum(|agent| agent.overruled) > report.overruled.len() {
        output::note(format!(
            "only the first {MAX_LISTED_FINDINGS} calls are listed; `--since` or an agent's name narrows them"
        ))?;
    }
    if run.is_clean() {
        output::note(format!("all calls since {} were asked about", format_time(run.since)))?;
    }
    Ok(())
}

/// Returns the report as JSON.
pub(super) fn report_json(run: &CoverageRun) -> Value {
    let report = &run.report;
    json!({
        "ok": run.is_clean(),
        "since": format!("{:.3}", run.since),
        "records_from": report.records_from.map(|time| format!("{time:.3}")),
        "agents": report.agents.iter().map(agent_json).collect::<Vec<_>>(),
        "overruled": report.overruled.iter().map(call_json).collect::<Vec<_>>(),
        "not_asked": report.uncovered.iter().map(finding_json).collect::<Vec<_>>(),
        "unread": report.problems.iter().map(problem_json).collect::<Vec<_>>(),
        "unsupported": run.unsupported.iter().map(|host| host.name()).collect::<Vec<_>>(),
    })
}

fn agent_json(counts: &AgentCoverage) -> Value {
    json!({
        "agent": counts.agent.name(),
        "sessions": counts.sessions,
        "calls": counts.seen,
        "asked": counts.covered,
        "not_asked": counts.uncovered,
        "overruled": counts.overruled,
        "refused_by_agent": counts.refused,
        "pending": counts.pending,
        "before_first_record": counts.before_journal,
        "harmless": counts.harmless,
        "unread": counts.problems,
    })
}

fn call_json(call: &TranscriptCall) -> Value {
    json!({
        "agent": call.agent.name(),
        "version": call.version,
        "session": call.session,
        "call": call.call_id,
        "tool": call.tool,
        "arguments": call.summary,
        "time": call.time.map(|time| format!("{time:.3}")),
        "result": call.result.as_str(),
        "file": call.file.to_string_lossy(),
        "line": call.line,
    })
}

fn finding_json(finding: &CallFinding) -> Value {
    let mut value = call_json(&finding.call);
    value["reason"] = finding.reason.as_str().into();
    value["explanation"] = finding.reason.to_string().into();
    value
}

fn problem_json(problem: &TranscriptProblem) -> Value {
    json!({
        "agent": problem.agent.name(),
        "file": problem.file.to_string_lossy(),
        "line": problem.line,
        "problem": problem.problem,
    })
}
