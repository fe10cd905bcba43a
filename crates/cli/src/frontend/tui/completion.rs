//! Completion for `/commands`, `@agents` and `@paths`: finds suggestions and inserts the selected one.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::app::App;
use super::composer::Composer;
use super::fuzzy;
use super::menu::{Menu, MenuItem, MenuKeys, MenuReaction};
use super::overlay::{KeyOutcome, Overlay, OverlayLayer};
use crate::presentation::styled_text::{DIM, StyledLine};

/// The number of suggestions that are kept.
const MAX_SUGGESTIONS: usize = 50;
/// The number of suggestions that are shown at once.
const MAX_SHOWN_SUGGESTIONS: usize = 8;
/// The number of commands suggested that match the typed letters only fuzzily.
const MAX_FUZZY_COMMANDS: usize = 8;

/// Everything that can be suggested.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompletionNames {
    /// Commands without their slash, subcommands with the words before them, each with its description.
    pub(crate) commands: Vec<(String, String)>,
    /// Sub-agents with their descriptions.
    pub(crate) agents: Vec<(String, String)>,
    /// The files of the project.
    pub(crate) files: Arc<Vec<String>>,
    /// The result of a background search among very many files: the typed text, and the files that match it.
    pub(crate) file_matches: Option<(String, Vec<String>)>,
}

/// The number of files up to which they are searched synchronously.
pub(crate) const MAX_SYNC_SEARCH_FILES: usize = 2_000;

impl CompletionNames {
    /// Returns the text that needs a background search, if there is one.
    pub(crate) fn pending_search(&self, before: &str) -> Option<String> {
        let typed = &before[mention_start(before)?..];
        let known = self.file_matches.as_ref().is_some_and(|(known, _)| known == typed);
        (self.files.len() > MAX_SYNC_SEARCH_FILES && !known).then(|| typed.to_owned())
    }
}

/// Returns the files that match, the best first.
pub(crate) fn search_files(files: &[String], typed: &str) -> Vec<String> {
    fuzzy::best_matches(files.iter().map(String::as_str), typed, MAX_SUGGESTIONS)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// A suggestion with its description.
impl MenuItem for (String, String) {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn description(&self) -> &str {
        &self.1
    }
}

/// Suggestions for the text before the cursor.
pub(crate) struct Completion {
    /// The range of the text that a suggestion replaces.
    range: Range<usize>,
    menu: Menu<(String, String)>,
}

impl Completion {
    /// Returns the suggestions, or none if nothing matches or the text is complete already.
    pub(crate) fn find(composer: &Composer, names: &CompletionNames) -> Option<Completion> {
        let before = &composer.text()[..composer.cursor()];
        let (range, items) = match before.strip_prefix('/') {
            Some(typed) if !before.contains('\n') => (1..before.len(), matching_commands(typed, names)),
            _ => {
                let start = mention_start(before)?;
                let typed = &before[start..];
                let mut items = matching_agents(typed, names);
                items.extend(matching_files(typed, names));
                (start..before.len(), items)
            }
        };
        let useless = match items.as_slice() {
            [] => true,
            [(only, _)] => *only == before[range.clone()],
            _ => false,
        };
        (!useless).then(|| Completion { range, menu: Menu::new(MenuKeys::Arrows, items) })
    }

    /// Returns whether the typed text is already one of the suggestions, or none if the text has changed since.
    fn is_exact(&self, composer: &Composer) -> Option<bool> {
        let typed = composer.text().get(self.range.clone()).filter(|_| composer.cursor() == self.range.end)?;
        Some(self.menu.items().iter().any(|(item, _)| item == typed.trim_end()))
    }

    /// Inserts the selected suggestion into the text.
    fn accept(&self, composer: &mut Composer) {
        let Some((item, _)) = self.menu.current() else { return };
        let more = if item.ends_with('/') { "" } else { " " };
        let is_path = composer.text()[..self.range.start].ends_with('@');
        let item = if is_path { item.replace(' ', "\\ ") } else { item.clone() };
        composer.replace(self.range.clone(), &format!("{item}{more}"));
    }

    /// Returns the lines below the prompt.
    pub(crate) fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let mut lines = self.menu.rows(columns, MAX_SHOWN_SUGGESTIONS);
        let below = self.menu.hidden_below(MAX_SHOWN_SUGGESTIONS);
        if below > 0 {
            lines.push(StyledLine::styled(DIM, format!("  … {below} more: ↓, or type on")).clip(columns));
        }
        lines
    }
}

impl Overlay for Completion {
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, app: &mut App) -> KeyOutcome {
        // An editor or an event may have replaced the text.
        let Some(is_exact) = self.is_exact(&app.composer) else { return KeyOutcome::ClosedAndPassed };
        match key.code {
            KeyCode::Esc => KeyOutcome::CLOSED,
            KeyCode::Enter if !key.modifiers.is_empty() => KeyOutcome::Passed,
            // Enter submits text that is complete already.
            KeyCode::Enter if self.menu.selection().0 == 0 && is_exact => KeyOutcome::Passed,
            KeyCode::Tab | KeyCode::Enter => {
                self.accept(&mut app.composer);
                app.update_completion();
                KeyOutcome::CLOSED
            }
            _ => match self.menu.handle_key(key) {
                MenuReaction::Passed => KeyOutcome::Passed,
                MenuReaction::Open | MenuReaction::Chosen(_) => KeyOutcome::TAKEN,
            },
        }
    }
}

impl App {
    /// Finds the suggestions for the text before the cursor anew.
    pub(crate) fn update_completion(&mut self) {
        match Completion::find(&self.composer, &self.names) {
            Some(completion) => self.overlays.open(OverlayLayer::Completion, completion),
            None => self.overlays.close::<Completion>(),
        }
    }
}

fn matching_commands(typed: &str, names: &CompletionNames) -> Vec<(String, String)> {
    let words = typed.matches(' ').count();
    let fits = |name: &str| {
        name.starts_with(typed) && name.matches(' ').count() <= words.max(usize::from(typed.ends_with(' ')))
    };
    let begin: Vec<(String, String)> =
        names.commands.iter().filter(|(name, _)| fits(name)).take(MAX_SUGGESTIONS).cloned().collect();
    if !begin.is_empty() {
        return begin;
    }
    // The arguments of a command are not completed.
    if typed.contains(' ') {
        return Vec::new();
    }
    // If no command begins like that, the letters may match any command or subcommand.
    let all = names.commands.iter().map(|(name, _)| name.as_str());
    let found = fuzzy::best_matches(all, typed, MAX_FUZZY_COMMANDS);
    let named = |name: &str| names.commands.iter().find(|(known, _)| known == name).cloned();
    found.into_iter().filter_map(named).collect()
}

/// Returns where the path after the last `@` begins.
pub(crate) fn mention_start(before: &str) -> Option<usize> {
    let at = before.rfind('@')?;
    let starts = at == 0 || before[..at].ends_with(char::is_whitespace);
    (starts && !before[at..].contains(char::is_whitespace)).then_some(at + 1)
}

/// Returns the agents whose names begin with the typed text.
///
/// They come before files, as they do when a mention is resolved.
fn matching_agents(typed: &str, names: &CompletionNames) -> Vec<(String, String)> {
    let wanted = typed.to_lowercase();
    names
        .agents
        .iter()
        .filter(|(name, _)| name.to_lowercase().starts_with(&wanted))
        .take(MAX_SUGGESTIONS)
        .cloned()
        .collect()
}

/// Returns the files that match.
///
/// While a background search is running, the files from the previous one that still match are returned.
fn matching_files(typed: &str, names: &CompletionNames) -> Vec<(String, String)> {
    let found = match &names.file_matches {
        _ if names.files.len() <= MAX_SYNC_SEARCH_FILES => search_files(&names.files, typed),
        Some((_, found)) => search_files(found, typed),
        None => Vec::new(),
    };
    found.into_iter().map(|path| (path, String::new())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> CompletionNames {
        let commands = ["help", "hooks", "hooks panel", "hooks enable", "hooks enable guard", "clear"];
        CompletionNames {
            commands: commands.map(|name| (name.to_owned(), String::new())).to_vec(),
            agents: vec![("scout".to_owned(), "looks around".to_owned())],
            files: Arc::new(["src/", "src/main.rs", "docs/src.md"].map(str::to_owned).to_vec()),
            file_matches: None,
        }
    }

    fn found(text: &str) -> Vec<String> {
        let mut composer = Composer::default();
        composer.insert(text);
        Completion::find(&composer, &names())
            .map_or_else(Vec::new, |one| one.menu.items().iter().map(|(item, _)| item.clone()).collect())
    }

    #[test]
    fn commands_and_subcommands_are_completed() {
        assert_eq!(found("/h"), ["help", "hooks"]);
        assert_eq!(found("/hooks "), ["hooks panel", "hooks enable"]);
        assert_eq!(found("/hooks enable g"), ["hooks enable guard"]);
        assert!(found("/clear").is_empty() && found("say /h").is_empty());
    }

    #[test]
    fn letters_match_fuzzily_if_no_command_begins_with_them() {
        assert_eq!(found("/hkpan"), ["hooks panel"]);
        assert_eq!(found("/clr"), ["clear"]);
        assert_eq!(found("@smain"), ["src/main.rs"]);
        assert!(found("/zz").is_empty() && found("/h x").is_empty());
    }

    #[test]
    fn among_very_many_files_known_matches_are_shown_until_the_search_ends() {
        let many = (0..=MAX_SYNC_SEARCH_FILES).map(|number| format!("src/file_{number}.rs")).collect();
        let mut names = CompletionNames { files: Arc::new(many), ..CompletionNames::default() };
        assert_eq!(names.pending_search("look at @fi"), Some("fi".to_owned()));
        assert_eq!((names.pending_search("no mention"), names.pending_search("@a b")), (None, None));
        names.file_matches = Some(("fi".to_owned(), search_files(&names.files, "fi")));
        assert_eq!(names.pending_search("@fi"), None);
        let mut composer = Composer::default();
        composer.insert("@file_1.");
        let items = Completion::find(&composer, &names).map(|one| one.menu.items().to_vec()).unwrap_or_default();
        assert_eq!(items.first().map(|(item, _)| item.as_str()), Some("src/file_1.rs"));
        assert_eq!(names.pending_search("@file_1."), Some("file_1.".to_owned()));
    }

    #[test]
    fn paths_after_an_at_sign_are_completed() {
        assert_eq!(found("look at @src"), ["src/", "src/main.rs", "docs/src.md"]);
        assert_eq!(found("@MAIN"), ["src/main.rs"]);
        assert_eq!(found("@s"), ["scout", "src/", "src/main.rs", "docs/src.md"]);
        assert!(found("me@src").is_empty() && found("@src and").is_empty());
    }

    #[test]
    fn accepting_replaces_what_was_typed() {
        let mut composer = Composer::default();
        composer.insert("see @mai");
        Completion::find(&composer, &names()).unwrap().accept(&mut composer);
        assert_eq!(composer.text(), "see @src/main.rs ");
    }
}
