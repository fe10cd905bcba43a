//! Entry points for the tests in `crates/properties`: they read layers of settings and custom commands from texts,
//! without a disk. Not part of the public API.

use std::path::Path;

use hookwright_hooks::{Diagnostic, Source, SourceText};
use serde_json::Map;

use crate::commands::{self, CustomCommand};
use crate::json::parse_object;
use crate::process_env::ProcessEnv;
use crate::settings::{LayerFindings, OuterSettings, Settings, overlay, read_layer};

/// Merges these layers, lowest first, and returns the settings with the diagnostics; a layer that is no JSON is
/// skipped.
pub fn merge_layers(layers: &[(Source, &str)]) -> (Settings, Vec<Diagnostic>) {
    let world = ProcessEnv::new(Vec::new(), "/".into());
    let mut raw = Map::new();
    let mut found = LayerFindings::default();
    for (source, text) in layers {
        let text = text.trim_start_matches('\u{feff}');
        let place = SourceText::new(Path::new("settings.json"), text);
        match parse_object(text, &place) {
            Ok(Some(root)) => {
                let outer = OuterSettings { settings: &raw.clone(), root: Path::new("/nowhere") };
                overlay(&mut raw, read_layer(&root, source, &place, &world, &outer, &mut found));
            }
            Ok(None) => {}
            Err(wrong) => found.diagnostics.push(*wrong),
        }
    }
    let LayerFindings { mut diagnostics, ineffective_settings: without_effect, .. } = found;
    let settings = Settings { ineffective_settings: without_effect, ..Settings::new(raw, &world, &mut diagnostics) };
    (settings, diagnostics)
}

/// Returns the custom command that a file with this text would define.
///
/// # Errors
/// If the text is no valid command file.
pub fn parse_command(path: &Path, text: &str) -> Result<CustomCommand, Box<Diagnostic>> {
    let commands::CustomCommandFile { prompt, description } = commands::parse_command_file(path, text)?;
    Ok(CustomCommand { name: "c".to_owned(), description, prompt, source: Source::User, path: path.to_owned() })
}
