//! `hooks validate`: everything that is wrong with settings files, with a place and a way out.

use std::io::Write;
use std::path::{Path, PathBuf};

use hookwright_agent::session::unarmed_json;
use hookwright_hooks::{Diagnostic, FileKind, Layer, Severity, Source, declare};
use hookwright_settings::{FileState, World, check_untrusted, read_settings_file};
use serde_json::json;

use super::Toolbox;
use crate::args::Place;
use crate::out::{self, GOOD, paint};
use crate::{exit, report};

pub(crate) fn run(place: &Place, world: &World, files: &[PathBuf], as_json: bool) -> anyhow::Result<u8> {
    let toolbox = if files.is_empty() { Some(Toolbox::open(place, world)?) } else { None };
    let (checked, diagnostics) = match &toolbox {
        Some(toolbox) => check_layers(toolbox),
        None => check_files(files, world),
    };
    let unarmed = toolbox.as_ref().map(Toolbox::unarmed).unwrap_or_default();
    let errors = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let code = if errors { exit::ERROR } else { exit::OK };
    if as_json {
        out::json(&json!({"ok": !errors, "files": checked, "diagnostics": diagnostics,
            "unarmed": unarmed.iter().map(unarmed_json).collect::<Vec<_>>()}))?;
        return Ok(code);
    }
    report::print(&diagnostics)?;
    // No mistake in a file, but nobody should think that these are awake.
    unarmed.iter().try_for_each(out::warn)?;
    let mut stdout = out::stdout();
    let files = if checked.len() == 1 { "1 file".to_owned() } else { format!("{} files", checked.len()) };
    match report::count(&diagnostics) {
        Some(count) => writeln!(stdout, "{files} checked: {count}")?,
        None => writeln!(stdout, "{files} checked: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}

/// The files that count for the project, also those that only trust keeps out.
fn check_layers(toolbox: &Toolbox) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let mut diagnostics = toolbox.loaded.registry.diagnostics().to_vec();
    diagnostics.extend(toolbox.loaded.settings.without_effect.iter().map(|setting| setting.diagnostic.clone()));
    let mut checked = Vec::new();
    for file in &toolbox.loaded.files {
        match file.state {
            FileState::Missing => continue,
            FileState::Untrusted => {
                diagnostics.extend(check_file(&file.path, file.source.clone()));
                if FileKind::of(&file.path) == FileKind::Settings {
                    diagnostics.extend(check_untrusted(&toolbox.loaded, &file.path));
                }
            }
            FileState::Loaded | FileState::Broken => {}
        }
        checked.push(file.path.clone());
    }
    (checked, diagnostics)
}

fn check_files(files: &[PathBuf], world: &World) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let check = |file: &PathBuf| match world.cwd.join(file).exists() {
        true => check_file(file, Source::Project),
        false => vec![Diagnostic::about_file(Severity::Error, file, "there is no such file")],
    };
    (files.to_vec(), files.iter().flat_map(check).collect())
}

fn check_file(file: &Path, source: Source) -> Vec<Diagnostic> {
    match read_settings_file(file) {
        Ok(Some(text)) => declare(&Layer::new(source, file, &text)).diagnostics,
        Ok(None) => Vec::new(),
        Err(error) => vec![Diagnostic::about_file(Severity::Error, file, error.to_string())],
    }
}
