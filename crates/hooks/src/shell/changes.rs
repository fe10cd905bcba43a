//! What a part of a script changes in the shell that runs it, without walking through it.

use super::{Node, commands_in};

/// What a part of a script does to the shell that runs it.
pub(crate) struct Changes {
    /// The variables that it sets.
    pub(crate) names: Vec<String>,
    /// Whether it goes to another directory.
    pub(crate) moves: bool,
}

pub(crate) fn changes(nodes: &[Node]) -> Changes {
    let mut changes = Changes { names: Vec::new(), moves: false };
    for command in commands_in(nodes) {
        let mut words = command.words.iter().map(|word| word.literal().unwrap_or_default());
        match words.next().as_deref() {
            None => changes.names.extend(command.assignments.iter().map(|one| one.name.clone())),
            Some("cd" | "pushd" | "popd") => changes.moves = true,
            Some("export" | "readonly" | "local" | "declare" | "typeset" | "read" | "mapfile" | "readarray") => {
                let name = |word: String| word.split('=').next().unwrap_or_default().to_owned();
                changes.names.extend(words.map(name));
            }
            _ => {}
        }
    }
    changes
}
