//! What a terminal does with long lines when it becomes narrower: most wrap them anew, a few cut them off.
//!
//! `screen.rs` does the drawing.

use hookwright_settings::ProcessEnv;

/// Who wraps long lines after a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrap {
    /// The terminal rewraps its screen and its scrollback.
    ByTerminal,
    /// The terminal cuts lines off, so the program writes them again.
    ByProgram,
}

impl Rewrap {
    /// Returns what the terminal does, as far as its environment variables tell.
    pub(crate) fn detect(world: &ProcessEnv) -> Rewrap {
        let set = |name: &str| world.var(name).is_some_and(|value| !value.is_empty());
        let term = world.var("TERM").unwrap_or_default();
        let cuts =
            set("XTERM_VERSION") || set("STY") || matches!(term, "linux" | "vt100" | "vt220") || is_st_terminal(term);
        if cuts && !set("TMUX") { Rewrap::ByProgram } else { Rewrap::ByTerminal }
    }
}

fn is_st_terminal(term: &str) -> bool {
    term == "st" || term.starts_with("st-")
}

/// Returns the number of rows that a line takes when the terminal wraps it.
pub(crate) fn wrapped_rows(width: usize, columns: usize) -> usize {
    width.div_ceil(columns.max(1)).max(1)
}
