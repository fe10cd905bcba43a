//! How sent prompts are shown: a long one is abbreviated in the scrollback and in the queue.

use std::collections::VecDeque;

use crate::presentation::humanize::more_lines_text;

/// The number of abbreviated prompts that are remembered.
const MAX_REMEMBERED_PROMPTS: usize = 20;
/// The number of lines shown of a prompt that has no label.
const MAX_PROMPT_LINES: usize = 12;

/// Prompts and their abbreviations.
#[derive(Debug, Default)]
pub(crate) struct SentPrompts(VecDeque<(String, String)>);

impl SentPrompts {
    /// Remembers how a prompt was shown, if it was abbreviated.
    pub(crate) fn remember(&mut self, whole: &str, shown: String) {
        if whole.trim() != shown {
            self.0.truncate(MAX_REMEMBERED_PROMPTS - 1);
            self.0.push_front((whole.trim().to_owned(), shown));
        }
    }

    /// Returns a prompt's abbreviation, or none if it is shown whole.
    pub(crate) fn abbreviated(&self, whole: &str) -> Option<String> {
        let whole = whole.trim();
        if let Some((_, shown)) = self.0.iter().find(|(known, _)| known == whole) {
            return Some(shown.clone());
        }
        let more = whole.lines().count().saturating_sub(MAX_PROMPT_LINES);
        let beginning = || whole.lines().take(MAX_PROMPT_LINES).collect::<Vec<_>>().join("\n");
        (more > 1).then(|| format!("{}\n… {} (ctrl+o shows all)", beginning(), more_lines_text(more)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_prompts_are_shown_in_short() {
        let mut sent = SentPrompts::default();
        let long = "x\n".repeat(3000);
        assert!(sent.abbreviated(&long).is_some_and(|shown| shown.ends_with("\n… 2988 more lines (ctrl+o shows all)")));
        sent.remember(&long, "[pasted 3000 lines]".to_owned());
        assert_eq!(sent.abbreviated(&long).as_deref(), Some("[pasted 3000 lines]"));
        assert_eq!(sent.abbreviated("a\nb"), None);
    }
}
