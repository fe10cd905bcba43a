//! `/hooks panel`: lists every hook with its state and runs, shows the details of one, and has keys to change it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::session::{ArmedState, HookListEntry, HooksAction, NO_HOOKS, SessionCommand, SessionHandle};
use hookwright_hooks::{Action, EventKind, Hook, WorkerHealth};
use hookwright_settings::administration::{GuardLossConsent, HookSelection, HookSwitchRequest};

use super::app::{App, AppEffect};
use super::menu::{Menu, MenuFilter, MenuItem, selection_mark};
use super::overlay::{KeyOutcome, Overlay, OverlayPage};
use crate::presentation::highlight::highlight_line;
use crate::presentation::hook_log::HookLog;
use crate::presentation::humanize::more_lines_text;
use crate::presentation::styled_text::{BAD, BOLD, DIM, NOTE, PLAIN, StyledLine, single_line};

/// The state of the hooks panel.
pub(crate) struct HooksPanel {
    session: SessionHandle,
    /// All hooks.
    entries: Vec<HookListEntry>,
    /// The hooks of the chosen event.
    menu: Menu<HookListEntry>,
    event: Option<EventKind>,
    /// The hook of the last action, and the session's replies about it.
    last_action: Option<(Arc<Hook>, Vec<StyledLine>)>,
}

impl MenuItem for HookListEntry {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.hook.id())
    }

    fn filter_text(&self) -> String {
        let hook = &self.hook;
        let summary = hook.summary().unwrap_or_default();
        format!("{} {} {} {} {summary}", hook.id(), hook.event, hook.source, self.describe())
    }
}

impl HooksPanel {
    pub(crate) fn new(session: SessionHandle) -> Self {
        let menu = Menu::list(MenuFilter::Words, Vec::new());
        let mut panel = HooksPanel { session, entries: Vec::new(), menu, event: None, last_action: None };
        panel.update();
        panel
    }

    /// Reads the session's hooks anew.
    pub(crate) fn update(&mut self) {
        self.entries = self.session.view().hooks();
        self.entries.sort_by_key(|entry| EventKind::all().position(|kind| kind == entry.hook.event));
        let of_event = |entry: &&HookListEntry| self.event.is_none_or(|event| entry.hook.event == event);
        self.menu.set_items(self.entries.iter().filter(of_event).cloned().collect());
    }

    /// Adds a reply of the session, if it mentions the hook of the last action.
    pub(crate) fn push_notice(&mut self, lines: Vec<StyledLine>) {
        if let Some((hook, replies)) = &mut self.last_action
            && lines.iter().any(|line| mentions_hook(&line.plain(), hook.id()))
        {
            replies.extend(lines);
        }
    }

    /// Filters by the next event that has hooks; after the last one, shows all events again.
    fn next_event(&mut self) {
        let mut events: Vec<EventKind> =
            EventKind::all().filter(|kind| self.entries.iter().any(|entry| entry.hook.event == *kind)).collect();
        let at = self.event.and_then(|event| events.iter().position(|one| *one == event)).map_or(0, |at| at + 1);
        self.event = (at < events.len()).then(|| events.swap_remove(at));
        self.update();
        self.menu.end_filtering();
    }

    /// Returns the panel's lines in so many columns and rows.
    fn view(&self, app: &App, columns: usize, rows: usize) -> Vec<StyledLine> {
        let log = &app.log;
        let shown: Vec<&HookListEntry> = self.menu.matching().into_iter().map(|(_, entry)| entry).collect();
        let selected = self.menu.selection().0;
        let filter = self.menu.filter_label();
        let filter = match &self.event {
            Some(event) if filter.is_empty() => format!("only {event}"),
            Some(event) => format!("only {event}, {filter}"),
            None => filter,
        };
        let unarmed = match app.status.unarmed {
            0 => String::new(),
            1 => "1 guard not armed  ".to_owned(),
            several => format!("{several} guards not armed  "),
        };
        let widths = PanelWidths::fit(&shown, columns);
        let mut lines = vec![
            StyledLine::styled(BOLD, format!("Hooks {}/{}  ", shown.len(), self.entries.len()))
                .with_text(BAD, unarmed)
                .with_text(NOTE, filter)
                .clip(columns),
            StyledLine::styled(DIM, heading_row(&widths)).clip(columns),
        ];
        let details = self.details(shown.get(selected).copied(), log, columns);
        let (list, selected_rows) = hook_list_rows(&shown, log, selected, &widths);
        let list_rows = rows.saturating_sub(lines.len() + 2).min(list.len().max(1)).min((rows / 2).max(3));
        let from = selected_rows.end.saturating_sub(list_rows).min(selected_rows.start);
        lines.extend(list.into_iter().skip(from).take(list_rows).map(|line| line.clip(columns)));
        if shown.is_empty() {
            let why = if self.entries.is_empty() { NO_HOOKS } else { "no hook fits" };
            lines.extend(StyledLine::styled(DIM, format!("  {why}")).with_hanging_indent(2).wrap(columns));
        }
        lines.push(StyledLine::styled(DIM, "─".repeat(columns)));
        let room = rows.saturating_sub(lines.len() + 1);
        let hidden = details.len().saturating_sub(room);
        lines.extend(details.into_iter().take(if hidden > 0 { room.saturating_sub(1) } else { room }));
        if hidden > 0 && room > 0 {
            lines.push(
                StyledLine::styled(DIM, format!("… {} (o shows all)", more_lines_text(hidden + 1))).clip(columns),
            );
        }
        lines.resize(rows.saturating_sub(1), StyledLine::new());
        let keys = StyledLine::styled(
            NOTE,
            "e enable  d disable  t trust  c canary  o open  w why  / filter  v event  ↑↓ choose  esc close",
        );
        lines.push(app.question_notice("esc").unwrap_or(keys).clip(columns));
        lines
    }

    fn details(&self, entry: Option<&HookListEntry>, log: &HookLog, columns: usize) -> Vec<StyledLine> {
        let Some(HookListEntry { hook, .. }) = entry else { return Vec::new() };
        let last_action =
            self.last_action.as_ref().filter(|(about, _)| Arc::ptr_eq(about, hook) || is_same_hook(about, hook));
        let mut lines: Vec<StyledLine> = last_action.map(|(_, lines)| lines.clone()).unwrap_or_default();
        let fact = |name: &str, text: String| {
            StyledLine::styled(DIM, format!("{name:<9}")).with_text(PLAIN, text).with_hanging_indent(9)
        };
        lines.push(StyledLine::styled(BOLD, hook.id()).with_text(
            entry.map_or(PLAIN, |entry| crate::output::state_style(&entry.state)),
            format!("  {}", entry.map(HookListEntry::describe).unwrap_or_default()),
        ));
        let matcher = entry.map_or("*", matcher_text);
        lines.push(fact("runs on", format!("{} {matcher}, from {} settings", hook.event, hook.source)));
        lines.extend(hook.description.as_ref().map(|text| fact("what", text.clone())));
        lines.extend(hook.when_text().map(|when| fact("when", when)));
        lines.push(fact("type", hook.type_name().to_owned()));
        lines.extend(hook.command().map(|command| fact("command", command.to_owned())));
        lines.extend(entry.and_then(|entry| entry.worker.as_ref()).map(|health| fact("worker", health_text(health))));
        if let Action::Http(http) = &hook.action {
            lines.push(fact("url", http.url.clone()));
            lines.extend(http.redacted_header_lines().map(|header| fact("header", header)));
        }
        if let Action::Rule(rule) = &hook.action {
            lines.push(fact("rule", format!("{}: {}", rule.decision_word(), rule.reason)));
            lines.extend(rule.only.as_ref().map(|only| fact("only", only.text().to_owned())));
        }
        lines.extend(
            hook.location
                .as_ref()
                .map(|place| fact("declared", format!("{}:{}:{}", place.file.display(), place.line, place.column))),
        );
        lines.push(fact("timeout", format!("{} ms", hook.timeout.as_millis())));
        match log.record(hook.event, hook.id()) {
            None => lines.push(StyledLine::styled(DIM, "has not run in this session")),
            Some(record) => {
                lines.push(fact("last end", record.last_end.clone()));
                lines.extend(text_section("output", record.last_output.trim_end()));
                lines.extend(text_section("input", &record.last_input));
            }
        }
        lines.iter().flat_map(|line| line.wrap(columns)).collect()
    }
}

/// Returns the state of a worker's process, in words.
fn health_text(health: &WorkerHealth) -> String {
    let WorkerHealth { pid, starts, answered, late_answers: late, inert: _ } = health;
    let now = pid.map_or("does not run now".to_owned(), |pid| format!("runs as process {pid}"));
    let times = if *starts == 1 { "once".to_owned() } else { format!("{starts} times") };
    format!("{now}, started {times}, {answered} answered, {late} too late")
}

/// Returns whether two hooks are the same one, also after the settings were reloaded.
fn is_same_hook(one: &Hook, other: &Hook) -> bool {
    one.event == other.event && one.id() == other.id() && one.source == other.source
}

/// Returns whether a text mentions a hook by its whole name, and not as a part of another name.
fn mentions_hook(words: &str, hook: &str) -> bool {
    let apart = |char: Option<char>| char.is_none_or(|char| !char.is_alphanumeric() && !matches!(char, '_' | '-'));
    words
        .match_indices(hook)
        .any(|(at, _)| apart(words[..at].chars().next_back()) && apart(words[at + hook.len()..].chars().next()))
}

/// Returns a text beside its name; JSON is pretty-printed.
fn text_section(name: &str, text: &str) -> Vec<StyledLine> {
    let parsed =
        serde_json::from_str::<serde_json::Value>(text).ok().filter(|value| value.is_object() || value.is_array());
    let (text, language) = parsed.map_or_else(|| (text.to_owned(), "text"), |value| (format!("{value:#}"), "json"));
    let mut lines = Vec::new();
    for (at, part) in text.lines().enumerate() {
        let mut line =
            StyledLine::styled(DIM, format!("{:<9}", if at == 0 { name } else { "" })).with_hanging_indent(9);
        match language {
            "json" => line.spans.extend(highlight_line(language, &single_line(part)).spans),
            _ => line.push(PLAIN, part),
        }
        lines.push(line);
    }
    lines
}

/// The widths of the columns.
///
/// The matcher gets the room that is left, as far as it needs it.
struct PanelWidths {
    name: usize,
    matcher: Option<usize>,
}

impl PanelWidths {
    fn fit(shown: &[&HookListEntry], columns: usize) -> PanelWidths {
        const MAX_NAME_COLUMNS: usize = 22;
        /// The width of all columns except the name and the matcher.
        const OTHER_COLUMNS: usize = 73;
        let Some(room) = columns.checked_sub(OTHER_COLUMNS + MAX_NAME_COLUMNS).filter(|room| *room >= 14) else {
            return PanelWidths { name: columns.saturating_sub(24).clamp(8, 24), matcher: None };
        };
        let longest = |text: fn(&HookListEntry) -> &str| {
            shown.iter().map(|entry| unicode_width::UnicodeWidthStr::width(text(entry)) + 2).max().unwrap_or(0)
        };
        let matcher = longest(matcher_text).clamp(14, room);
        let name = longest(|entry| entry.hook.id()).clamp(MAX_NAME_COLUMNS, MAX_NAME_COLUMNS + room - matcher);
        PanelWidths { name, matcher: Some(matcher) }
    }
}

fn matcher_text(entry: &HookListEntry) -> &str {
    entry.hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*")
}

/// Returns the rows of the list, with each event above its hooks, and the range of the selected hook's rows.
fn hook_list_rows(
    shown: &[&HookListEntry],
    log: &HookLog,
    selected: usize,
    widths: &PanelWidths,
) -> (Vec<StyledLine>, Range<usize>) {
    let (mut lines, mut selected_rows) = (Vec::new(), 0..0);
    let mut event = None;
    for (at, entry) in shown.iter().enumerate() {
        if event.replace(entry.hook.event) != Some(entry.hook.event) {
            lines.push(StyledLine::styled(BOLD, entry.hook.event.name()));
        }
        let from = lines.len();
        lines.push(hook_row(entry, log, at == selected, widths));
        lines.extend(row_note(entry, widths).map(|text| StyledLine::styled(DIM, format!("    {text}"))));
        if at == selected {
            selected_rows = from..lines.len();
        }
    }
    (lines, selected_rows)
}

/// Returns the text that has no column: the description and, on a narrow screen, source and type.
fn row_note(entry: &HookListEntry, widths: &PanelWidths) -> Option<String> {
    let hook = &entry.hook;
    let description = hook.description.as_deref().map(crate::output::one_line);
    let origin = widths.matcher.is_none().then(|| format!("{}, {}", hook.source, hook.type_name()));
    match (origin, description) {
        (Some(origin), Some(description)) => Some(format!("{origin}: {description}")),
        (origin, description) => origin.or(description),
    }
}

fn heading_row(widths: &PanelWidths) -> String {
    let name = widths.name;
    let more = |matcher: usize| format!("{:<10}{:<matcher$}{:<20}", "TYPE", "MATCHER", "SOURCE");
    let more = widths.matcher.map(more).unwrap_or_default();
    format!("  {:<name$} {more}{:<10}{:>5}{:>5}{:>10}{:>10}", "HOOK", "STATE", "RUNS", "BAD", "LAST", "MEDIAN")
}

fn hook_row(entry: &HookListEntry, log: &HookLog, selected: bool, widths: &PanelWidths) -> StyledLine {
    let hook = &entry.hook;
    let pad = |text: &str, width: usize| {
        let text = crate::output::truncate_columns(text, width.saturating_sub(1));
        let gap = width.saturating_sub(unicode_width::UnicodeWidthStr::width(text.as_str()));
        format!("{text}{}", " ".repeat(gap))
    };
    let record = log.record(hook.event, hook.id()).cloned().unwrap_or_default();
    let time = |time: Option<std::time::Duration>| {
        time.map_or_else(|| "–".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
    };
    let (mark, style) = selection_mark(selected);
    let mut line = StyledLine::styled(style, mark).with_text(style, pad(hook.id(), widths.name + 1));
    if let Some(width) = widths.matcher {
        line.push(PLAIN, &format!("{}{}", pad(hook.type_name(), 10), pad(matcher_text(entry), width)));
        line.push(DIM, &pad(&hook.source.to_string(), 20));
    }
    let state =
        if hook.is_guard() && matches!(entry.state, ArmedState::Armed) { "on guard" } else { entry.state.as_str() };
    line.push(crate::output::state_style(&entry.state), &pad(state, 10));
    line.push(PLAIN, &format!("{:>5}", record.runs));
    line.push(if record.failures > 0 { BAD } else { PLAIN }, &format!("{:>5}", record.failures));
    line.push(DIM, &format!("{:>10}{:>10}", time(record.last_duration()), time(record.median())));
    line
}

impl HooksPanel {
    /// Opens everything that is known about the selected hook in the pager.
    fn open_hook(&self, app: &mut App) {
        let Some(entry) = self.menu.current() else { return };
        let lines = self.details(Some(entry), &app.log, usize::MAX);
        let text = lines.iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n");
        app.open_text(format!("hook {}", entry.hook.id()), text);
    }

    /// Runs the action of a key on the selected hook.
    ///
    /// The session's reply is shown in the panel, and stays in the scrollback behind it.
    fn run_action(&mut self, key: char) {
        let Some(hook) = self.menu.current().map(|entry| entry.hook.clone()) else { return };
        let name = hook.id().to_owned();
        self.last_action = Some((hook.clone(), Vec::new()));
        let action = match key {
            'e' => HooksAction::Switch(HookSwitchRequest::enable(HookSelection::Named(name))),
            'd' => {
                let hooks = HookSelection::Named(name);
                HooksAction::Switch(HookSwitchRequest::disable(hooks, GuardLossConsent::Missing))
            }
            't' => HooksAction::Trust(HookSelection::Named(name)),
            _ => return self.session.fire_canary(hook),
        };
        self.session.send(SessionCommand::Hooks(action));
    }
}

impl Overlay for HooksPanel {
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, app: &mut App) -> KeyOutcome {
        let is_filtering = self.menu.is_filtering();
        match key.code {
            // Nothing is chosen here: both keys leave the filter as it is.
            KeyCode::Esc | KeyCode::Enter if is_filtering => self.menu.end_filtering(),
            KeyCode::Esc | KeyCode::Char('q') if !is_filtering => return KeyOutcome::CLOSED,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return KeyOutcome::CLOSED,
            KeyCode::Char('v') if !is_filtering => self.next_event(),
            KeyCode::Char('o') if !is_filtering => self.open_hook(app),
            KeyCode::Char('w') if !is_filtering => {
                let hook = self.menu.current().map(|entry| entry.hook.id().to_owned());
                return KeyOutcome::Taken(hook.map(AppEffect::WhyHook).into_iter().collect());
            }
            KeyCode::Char(key @ ('e' | 'd' | 't' | 'c')) if !is_filtering => self.run_action(key),
            _ => {
                self.menu.handle_key(key);
            }
        }
        KeyOutcome::TAKEN
    }

    fn page(&mut self, app: &App, columns: usize, rows: usize) -> Option<OverlayPage> {
        Some(self.view(app, columns, rows).into())
    }
}
