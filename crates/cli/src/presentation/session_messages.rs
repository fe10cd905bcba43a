//! Messages at a session's start and end, and at its prompt: tips, the notice that no model is connected, and the exit
//! summary.

use std::time::Duration;

use hookwright_agent::session::{SessionStatistics, SessionView};
use hookwright_model::Provider;

use super::humanize::{format_elapsed, format_tokens};

/// The tips that are shown at the start.
pub(crate) const STARTUP_TIPS: &str = "/help for help, /hooks panel for the hooks, Ctrl+D to leave";
/// The notice that only the offline model answers.
pub(crate) const NO_MODEL_NOTICE: &str = "no model is connected";
/// How to connect a model.
pub(crate) const NO_MODEL_HINT: &str = "/auth connects one. Until then the offline model answers, which only does what it is \
                                       told (say TEXT, call TOOL {json}).";
/// The farewell, which scripts made for Gemini CLI look for.
pub(crate) const FAREWELL_MESSAGE: &str = "Agent powering down. Goodbye!";
/// The text in place of an empty prompt.
pub(crate) const PLACEHOLDER: &str = "Type your message or @path/to/file";
/// What is said after the first Ctrl-C.
pub(crate) const EXIT_CONFIRM_TEXT: &str = "Press Ctrl+C again to exit";

/// Returns whether only the offline model answers.
pub(crate) fn is_model_offline(view: &SessionView) -> bool {
    view.services.model.provider() == Provider::Offline
}

/// The facts about a session that its exit summary needs.
pub(crate) struct ExitSummary {
    id: String,
    /// Whether the transcript is saved.
    is_saved: bool,
}

impl ExitSummary {
    pub(crate) fn for_session(view: &SessionView) -> Self {
        let session = view.services.hooks.session();
        ExitSummary { id: session.id.clone(), is_saved: session.transcript_path.is_file() }
    }

    /// Returns the session's totals and how to resume it, or nothing if it had no prompt.
    pub(crate) fn lines(&self, stats: &SessionStatistics, elapsed: Duration) -> Vec<String> {
        if stats.prompts == 0 {
            return Vec::new();
        }
        let several = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let counted = |count: u64, what: &str| if count > 0 { format!(" ({count} {what})") } else { String::new() };
        let (tools, hooks) = (stats.all_tools(), &stats.hooks);
        let mut parts = vec![several(stats.models.values().map(|model| model.requests).sum(), "request")];
        parts.push(format!("{} tokens", format_tokens(stats.total_tokens().total)));
        parts.extend(stats.cost.map(|cost| format!("cost {cost:.4}")));
        parts.push(format!("{}{}", several(tools.calls, "tool call"), counted(tools.failures, "failed")));
        parts.push(format!("{}{}", several(hooks.runs, "hook run"), counted(hooks.denials, "blocked")));
        parts.push(format_elapsed(elapsed));
        let mut lines = vec![parts.join(" · ")];
        if self.is_saved {
            lines.push(format!("come back: hookwright --resume {}", resume_argument(&self.id)));
        }
        lines
    }
}

/// Returns the argument of `--resume` that names a session.
///
/// A generated id is cut to eight characters; an id that the user chose is kept whole, in quotes if a shell needs them.
fn resume_argument(id: &str) -> String {
    let is_made = id.len() == 36 && id.chars().all(|char| char.is_ascii_hexdigit() || char == '-');
    let is_plain = id.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    match id.get(..8) {
        Some(start) if is_made => start.to_owned(),
        _ if is_plain => id.to_owned(),
        _ => format!("'{}'", id.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resume_argument_is_quoted_for_a_shell() {
        assert_eq!(resume_argument("3f2504e0-4f89-41d3-9a0c-0305e82c3301"), "3f2504e0");
        assert_eq!(resume_argument("my-session"), "my-session");
        assert_eq!(resume_argument("it's; rm x"), "'it'\\''s; rm x'");
    }
}
