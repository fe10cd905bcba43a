//! `hooks validate`: prints every problem in settings files, with its location and a hint.

use std::io::Write;
use std::path::{Path, PathBuf};

use hookwright_agent::session::unarmed_json;
use hookwright_hooks::{Diagnostic, FileKind, Layer, Severity, Source, parse_layer};
use hookwright_settings::{ProcessEnv, SettingsFileState, check_untrusted_settings, read_settings_file};
use serde_json::json;

use super::LoadedProject;
use crate::args::ProjectArgs;
use crate::output::{self, GOOD, paint};
use crate::{exit, output::diagnostics};

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, files: &[PathBuf], as_json: bool) -> anyhow::Result<u8> {
    let toolbox = if files.is_empty() { Some(LoadedProject::open(place, world)?) } else { None };
    let (checked, diagnostics) = match &toolbox {
        Some(toolbox) => check_layers(toolbox),
        None => check_files(files, world),
    };
    let unarmed = toolbox.as_ref().map(LoadedProject::unarmed_guards).unwrap_or_default();
    let errors = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let code = if errors { exit::ERROR } else { exit::OK };
    if as_json {
        output::print_json(&json!({"ok": !errors, "files": checked, "diagnostics": diagnostics,
            "unarmed": unarmed.iter().map(unarmed_json).collect::<Vec<_>>()}))?;
        return Ok(code);
    }
    diagnostics::print(&diagnostics)?;
    // Not a mistake in a file, but the user must not take these guards for armed.
    unarmed.iter().try_for_each(output::warn)?;
    let mut stdout = output::stdout();
    let files = if checked.len() == 1 { "1 file".to_owned() } else { format!("{} files", checked.len()) };
    let guards = match unarmed.len() {
        0 => String::new(),
        1 => ", 1 guard not armed".to_owned(),
        many => format!(", {many} guards not armed"),
    };
    match diagnostics::count_summary(&diagnostics) {
        Some(count) => writeln!(stdout, "{files} checked: {count}{guards}")?,
        None if !unarmed.is_empty() => writeln!(stdout, "{files} checked: no mistake in them{guards}")?,
        None => writeln!(stdout, "{files} checked: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}

/// Checks the settings files of the project, including those that are not loaded for lack of trust.
fn check_layers(toolbox: &LoadedProject) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let mut diagnostics = toolbox.loaded.registry.diagnostics().to_vec();
    diagnostics.extend(toolbox.loaded.settings.ineffective_settings.iter().map(|setting| setting.diagnostic.clone()));
    let mut checked = Vec::new();
    for file in &toolbox.loaded.files {
        match file.state {
            SettingsFileState::Missing => continue,
            SettingsFileState::Untrusted => {
                diagnostics.extend(check_file(&file.path, file.source.clone()));
                if FileKind::from_path(&file.path) == FileKind::Settings {
                    diagnostics.extend(check_untrusted_settings(&toolbox.loaded, &file.path));
                }
            }
            SettingsFileState::Loaded | SettingsFileState::Broken => {}
        }
        checked.push(file.path.clone());
    }
    (checked, diagnostics)
}

fn check_files(files: &[PathBuf], world: &ProcessEnv) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let check = |file: &PathBuf| match world.cwd.join(file).exists() {
        true => check_file(file, Source::Project),
        false => vec![Diagnostic::about_file(Severity::Error, file, "there is no such file")],
    };
    (files.to_vec(), files.iter().flat_map(check).collect())
}

fn check_file(file: &Path, source: Source) -> Vec<Diagnostic> {
    match read_settings_file(file) {
        Ok(Some(text)) => parse_layer(&Layer::new(source, file, &text)).diagnostics,
        Ok(None) => Vec::new(),
        Err(error) => vec![Diagnostic::about_file(Severity::Error, file, error.to_string())],
    }
}
