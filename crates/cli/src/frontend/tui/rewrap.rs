//! What a terminal does with the lines that it shows when it becomes narrower: most wrap them anew, a few cut them off.
//! Only what was drawn is reasoned about here; drawing is `screen.rs`.

use hookwright_settings::ProcessEnv;

/// Who sees to lines that are too long after a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrap {
    /// The terminal wraps what it shows, and what scrolled away too.
    ByTerminal,
    /// It cuts lines off; we write them again.
    ByProgram,
}

impl Rewrap {
    /// What the terminal does, by what it says of itself.
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

/// How many rows a line takes that the terminal wraps.
pub(crate) fn wrapped_rows(width: usize, columns: usize) -> usize {
    width.div_ceil(columns.max(1)).max(1)
}
