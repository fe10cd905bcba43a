//! Settings of a project that make a program do more than its words say.

use std::path::Path;

use crate::interpreter::Interpreter;
use crate::programs::spec::Program;
use crate::value::Argument;

const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// Files of settings, in the directory and those above it, and words in them that steer a program.
struct Settings {
    programs: &'static [&'static str],
    files: &'static [&'static str],
    /// None stands for any text.
    words: &'static [&'static str],
}

const SETTINGS: [Settings; 9] = [
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
    Settings {
        programs: &["cargo", "rustc", "rustup"],
        files: &["rust-toolchain.toml", "rust-toolchain"],
        words: &["path"],
    },
    Settings {
        programs: &["npm", "pnpm", "yarn", "yarnpkg", "bun"],
        files: &[".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", ".pnpmfile.cjs"],
        words: &[
            "registry",
            "proxy",
            "script-shell",
            "shell",
            "node-options",
            "git",
            "prefix",
            "cache",
            "editor",
            "viewer",
            "browser",
            "yarn-path",
            "yarnPath",
            "plugins",
            "pnpmfile",
            "preload",
            "run",
        ],
    },
    Settings {
        programs: &["codespell"],
        files: &[".codespellrc", "setup.cfg", "pyproject.toml"],
        words: &["write-changes", "interactive"],
    },
    Settings { programs: &["mvn"], files: &[".mvn"], words: &[] },
    Settings { programs: &["mlr", "miller"], files: &[".mlrc"], words: &[] },
    Settings { programs: &["jj"], files: &[".jj/repo/config.toml"], words: &[] },
];

/// Why the settings of the project may make a program do something else, if they may.
pub(crate) fn steering(
    interpreter: &Interpreter<'_>,
    program: &str,
    args: &[Argument],
    cwd: Option<&Path>,
) -> Option<String> {
    let is_path = |word: &Argument| word.beginning().starts_with('+') && word.beginning().contains('/');
    if matches!(program, "cargo" | "rustc") && args.first().is_some_and(is_path) {
        return Some(format!("{program} runs a toolchain that lies elsewhere"));
    }
    SETTINGS
        .iter()
        .filter(|settings| settings.programs.contains(&program))
        .find_map(|settings| settings.steer(interpreter, program, cwd))
}

/// Why settings in the home directory that the same command changes may make a program do something else.
pub(crate) fn home_steering(interpreter: &Interpreter<'_>, program: &Program, name: &str) -> Option<String> {
    const LOADS_SETTINGS: [&str; 8] = ["man", "gpg", "gpg1", "gpg2", "jq", "less", "screen", "bc"];
    (interpreter.home_settings_changed() && (program.is_client() || LOADS_SETTINGS.contains(&name)))
        .then(|| format!("the same command changes settings that {name} may load"))
}

impl Settings {
    fn steer(&self, interpreter: &Interpreter<'_>, program: &str, cwd: Option<&Path>) -> Option<String> {
        let settings = self;
        let Some(cwd) = cwd else { return Some(format!("where {program} runs is not known")) };
        let name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
        let is_changed = |file: &&str| interpreter.made(&name(file));
        if settings.files.iter().any(is_changed) || interpreter.filled.iter().any(|tree| cwd.starts_with(tree)) {
            return Some(format!("the same command changes the settings of {program}"));
        }
        let disk = interpreter.environment.disk;
        cwd.ancestors().flat_map(|directory| settings.files.iter().map(move |file| directory.join(file))).find_map(
            |file| {
                disk.kind(&file)?;
                let steers = |text: String| {
                    let text = text.replace([' ', '\t', '"', '\''], "");
                    settings.words.is_empty()
                        || text.contains('\\')
                        || settings.words.iter().any(|word| text.contains(word))
                };
                disk.text(&file, MAX_SETTINGS_BYTES)
                    .is_none_or(steers)
                    .then(|| format!("{} may change what {program} does", file.display()))
            },
        )
    }
}
