//! Completion for `/commands`, `@agents` and `@paths`: what fits what has been written, and what is chosen of it.

use std::ops::Range;
use std::sync::Arc;

use super::composer::Composer;

/// So many suggestions are kept.
const MOST: usize = 50;

/// Everything there is to suggest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Commands without their slash, subcommands with the words before them; and what they are for.
    pub(crate) commands: Vec<(String, String)>,
    /// Sub-agents, and what they are for.
    pub(crate) agents: Vec<(String, String)>,
    /// Files of the project.
    pub(crate) files: Arc<Vec<String>>,
}

/// Suggestions for the text before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What a suggestion replaces.
    range: Range<usize>,
    pub(crate) items: Vec<(String, String)>,
    pub(crate) selected: usize,
}

impl Completion {
    /// What fits; nothing if nothing does, or if what is written is all there is to it.
    pub(crate) fn find(composer: &Composer, names: &Names) -> Option<Completion> {
        let before = &composer.text()[..composer.cursor()];
        let completion = match before.strip_prefix('/') {
            Some(typed) if !before.contains('\n') => {
                Completion { range: 1..before.len(), items: commands(typed, names), selected: 0 }
            }
            _ => {
                let start = mention(before)?;
                let typed = &before[start..];
                let mut items = agents(typed, names);
                items.extend(files(typed, names));
                Completion { range: start..before.len(), items, selected: 0 }
            }
        };
        let typed = &before[completion.range.clone()];
        let useless = matches!(completion.items.as_slice(), [])
            || matches!(completion.items.as_slice(), [(only, _)] if only == typed);
        (!useless).then_some(completion)
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = self.items.len().cast_signed();
        self.selected = (self.selected.cast_signed() + by).rem_euclid(count.max(1)).cast_unsigned();
    }

    /// Whether what is written is one of the suggestions already.
    pub(crate) fn is_exact(&self, composer: &Composer) -> bool {
        let typed = &composer.text()[self.range.clone()];
        self.items.iter().any(|(item, _)| item == typed.trim_end())
    }

    /// Puts the chosen suggestion into the text.
    pub(crate) fn accept(self, composer: &mut Composer) {
        let Some((item, _)) = self.items.get(self.selected) else { return };
        let more = if item.ends_with('/') { "" } else { " " };
        let is_path = composer.text()[..self.range.start].ends_with('@');
        let item = if is_path { item.replace(' ', "\\ ") } else { item.clone() };
        composer.replace(self.range, &format!("{item}{more}"));
    }
}

fn commands(typed: &str, names: &Names) -> Vec<(String, String)> {
    let words = typed.matches(' ').count();
    let fits = |name: &str| {
        name.starts_with(typed) && name.matches(' ').count() <= words.max(usize::from(typed.ends_with(' ')))
    };
    names.commands.iter().filter(|(name, _)| fits(name)).take(MOST).cloned().collect()
}

/// Where the path behind the last `@` begins.
pub(crate) fn mention(before: &str) -> Option<usize> {
    let at = before.rfind('@')?;
    let starts = at == 0 || before[..at].ends_with(char::is_whitespace);
    (starts && !before[at..].contains(char::is_whitespace)).then_some(at + 1)
}

/// Agents whose name begins like that; they go before files, as they do when they are called.
fn agents(typed: &str, names: &Names) -> Vec<(String, String)> {
    let wanted = typed.to_lowercase();
    names.agents.iter().filter(|(name, _)| name.to_lowercase().starts_with(&wanted)).take(MOST).cloned().collect()
}

/// Files whose path begins like that, then those whose name does, then those that hold it anywhere.
fn files(typed: &str, names: &Names) -> Vec<(String, String)> {
    let wanted = typed.to_lowercase();
    let rank = |path: &String| {
        let lower = path.to_lowercase();
        let name = lower.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if lower.starts_with(&wanted) {
            Some(0)
        } else if name.starts_with(&wanted) {
            Some(1)
        } else {
            lower.contains(&wanted).then_some(2)
        }
    };
    let mut found: Vec<(usize, &String)> = names.files.iter().filter_map(|path| Some((rank(path)?, path))).collect();
    found.sort_by_key(|(rank, path)| (*rank, path.len()));
    found.into_iter().take(MOST).map(|(_, path)| (path.clone(), String::new())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let commands = ["help", "hooks", "hooks panel", "hooks enable", "hooks enable guard", "clear"];
        Names {
            commands: commands.map(|name| (name.to_owned(), String::new())).to_vec(),
            agents: vec![("scout".to_owned(), "looks around".to_owned())],
            files: Arc::new(["src/", "src/main.rs", "docs/src.md"].map(str::to_owned).to_vec()),
        }
    }

    fn found(text: &str) -> Vec<String> {
        let mut composer = Composer::default();
        composer.insert(text);
        Completion::find(&composer, &names())
            .map_or_else(Vec::new, |one| one.items.into_iter().map(|(item, _)| item).collect())
    }

    #[test]
    fn commands_and_their_words() {
        assert_eq!(found("/h"), ["help", "hooks"]);
        assert_eq!(found("/hooks "), ["hooks panel", "hooks enable"]);
        assert_eq!(found("/hooks enable g"), ["hooks enable guard"]);
        assert!(found("/clear").is_empty() && found("say /h").is_empty());
    }

    #[test]
    fn paths_after_an_at() {
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
