//! Settings of a project that make a program do more than its words say.

use std::path::Path;

use crate::interpreter::Interpreter;

const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// Files of settings, in the directory and those above it, and words in them that steer a program.
struct Settings {
    programs: &'static [&'static str],
    files: &'static [&'static str],
    /// None stands for any text.
    words: &'static [&'static str],
}

const SETTINGS: [Settings; 6] = [
    Settings {
        programs: &["ruff"],
        files: &["ruff.toml", ".ruff.toml", "pyproject.toml"],
        words: &["fix", "extend", "output-file", "cache-dir"],
    },
    Settings {
        programs: &["cargo", "rustc", "rustup"],
        files: &[".cargo/config.toml", ".cargo/config"],
        words: &[
            "rustc",
            "rustdoc",
            "runner",
            "linker",
            "wrapper",
            "credential",
            "include",
            "[env",
            "alias",
            "command",
        ],
    },
    Settings {
        programs: &["hg", "chg"],
        files: &[".hg/hgrc"],
        words: &["hooks", "extensions", "alias", "!", "/", "include"],
    },
    Settings { programs: &["mvn"], files: &[".mvn"], words: &[] },
    Settings { programs: &["mlr", "miller"], files: &[".mlrc"], words: &[] },
    Settings { programs: &["jj"], files: &[".jj/repo/config.toml"], words: &[] },
];

/// Why the settings of the project may make a program do something else, if they may.
pub(crate) fn steering(interpreter: &Interpreter<'_>, program: &str, cwd: Option<&Path>) -> Option<String> {
    let settings = SETTINGS.iter().find(|settings| settings.programs.contains(&program))?;
    let Some(cwd) = cwd else { return Some(format!("where {program} runs is not known")) };
    let name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
    let is_changed = |file: &&str| interpreter.made(&name(file));
    if settings.files.iter().any(is_changed) || interpreter.filled.iter().any(|tree| cwd.starts_with(tree)) {
        return Some(format!("the same command changes the settings of {program}"));
    }
    let disk = interpreter.environment.disk;
    cwd.ancestors().flat_map(|directory| settings.files.iter().map(move |file| directory.join(file))).find_map(|file| {
        disk.kind(&file)?;
        let steers = |text: String| {
            let text = text.replace([' ', '\t', '"', '\''], "");
            settings.words.is_empty() || text.contains('\\') || settings.words.iter().any(|word| text.contains(word))
        };
        disk.text(&file, MAX_SETTINGS_BYTES)
            .is_none_or(steers)
            .then(|| format!("{} may change what {program} does", file.display()))
    })
}
