//! Doors for `crates/properties`: layers of settings and custom commands out of texts, without a disk. No part of the
//! interface.

use std::path::Path;

use hookwright_hooks::{Diagnostic, Source, SourceText};
use serde_json::Map;

use crate::commands::{self, Command};
use crate::json::parse_object;
use crate::settings::{Findings, Outer, Settings, lay_over, read_layer};
use crate::world::World;

/// Settings out of these layers, lowest first, and what is wrong with them; a layer that is no JSON does not count.
pub fn merged(layers: &[(Source, &str)]) -> (Settings, Vec<Diagnostic>) {
    let world = World::new(Vec::new(), "/".into());
    let mut raw = Map::new();
    let mut found = Findings::default();
    for (source, text) in layers {
        let text = text.trim_start_matches('\u{feff}');
        let place = SourceText::new(Path::new("settings.json"), text);
        match parse_object(text, &place) {
            Ok(Some(root)) => {
                let outer = Outer { settings: &raw.clone(), root: Path::new("/nowhere") };
                lay_over(&mut raw, read_layer(&root, source, &place, &world, &outer, &mut found));
            }
            Ok(None) => {}
            Err(wrong) => found.diagnostics.push(*wrong),
        }
    }
    let Findings { mut diagnostics, without_effect, .. } = found;
    let settings = Settings { without_effect, ..Settings::new(raw, &world, &mut diagnostics) };
    (settings, diagnostics)
}

/// The custom command that a file with this text would define.
///
/// # Errors
/// If it would define none.
pub fn command(path: &Path, text: &str) -> Result<Command, Box<Diagnostic>> {
    let commands::File { prompt, description } = commands::parse(path, text)?;
    Ok(Command { name: "c".to_owned(), description, prompt, source: Source::User, path: path.to_owned() })
}
