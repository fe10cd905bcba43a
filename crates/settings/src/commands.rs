//! Finds and reads the files that define custom commands. The agent expands their prompts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use serde::Deserialize;

use crate::extensions::Extension;
use crate::file::read_text;
use crate::load::ProjectFolder;
use crate::paths::{ConfigPaths, GEMINI_DIR};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// Name as typed after the slash, such as `git:commit`.
    pub name: String,
    pub description: Option<String>,
    /// Prompt that the command expands to.
    pub prompt: String,
    /// Layer or extension that defines the command.
    pub source: Source,
    pub path: PathBuf,
}

impl CustomCommand {
    /// Returns the description on one line, or one made from the file's name.
    pub fn summary(&self) -> String {
        let file = || self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let given = self.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        given.map_or_else(|| format!("custom command from {}", file()), on_one_line)
    }
}

/// All custom commands, and the problems of files that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomCommands {
    /// The commands, by name.
    pub list: Vec<CustomCommand>,
    /// Problems of files that were left out.
    pub diagnostics: Vec<Diagnostic>,
    /// Names of the commands that were left out, with the problem of each.
    pub rejected: Vec<(String, Diagnostic)>,
    /// Names of the project's commands that wait for trust in its folder.
    pub untrusted: Vec<String>,
}

/// Finds the custom commands of the user, the project and the active extensions; a project's command replaces the
/// user's.
///
/// A command with the name of a built-in one gets its origin as a prefix, and a diagnostic says so.
pub fn discover(
    paths: &ConfigPaths,
    project: &ProjectFolder,
    extensions: &[Extension],
    is_builtin: &dyn Fn(&str) -> bool,
) -> CustomCommands {
    let mut commands = CustomCommands::default();
    if project.root.join(GEMINI_DIR) != paths.user_dir {
        let directory = paths.project_commands(&project.root);
        if project.trust.is_trusted() {
            commands.add_directory(&Source::Project, &directory, is_builtin, |_, _| NameConflict::Drop);
        } else {
            let names = toml_files(&directory).into_iter().map(|path| command_name_in(&directory, &path));
            let named = names.map(|name| if is_builtin(&name) { with_origin(&Source::Project, &name) } else { name });
            commands.untrusted = named.collect();
        }
    }
    commands.add_directory(&Source::User, &paths.user_commands, is_builtin, |_, _| NameConflict::Drop);
    for extension in extensions.iter().filter(|extension| extension.active) {
        let source = Source::Extension(extension.name.clone());
        let before = commands.list.len();
        commands.add_directory(&source, &extension.commands_dir(), is_builtin, |name, taken| {
            NameConflict::Rename(unused_name(with_origin(&source, name), taken))
        });
        for command in &mut commands.list[before..] {
            command.prompt = extension.fill_placeholders(&command.prompt);
        }
    }
    commands.list.sort_by(|one, other| one.name.cmp(&other.name));
    commands
}

/// Lists the paths whose changes may affect the commands: their directories and the files in them.
pub fn watched_paths(paths: &ConfigPaths, project: &ProjectFolder, extensions: &[Extension]) -> Vec<PathBuf> {
    let mut roots = vec![paths.user_commands.clone()];
    if project.trust.is_trusted() {
        roots.push(paths.project_commands(&project.root));
    }
    roots.extend(extensions.iter().filter(|extension| extension.active).map(Extension::commands_dir));
    let mut all = Vec::new();
    for root in roots {
        let files = toml_files(&root);
        let inner = files.iter().flat_map(|file| file.ancestors().skip(1).take_while(|above| *above != root));
        all.extend(inner.map(Path::to_owned));
        all.extend(files);
        all.push(root);
    }
    all.sort();
    all.dedup();
    all
}

/// What happens to a command whose name is taken.
enum NameConflict {
    Drop,
    Rename(String),
}

/// Adds the origin before a name: `/workspace.init`, `/user.init`, `/EXTENSION.init`.
fn with_origin(source: &Source, name: &str) -> String {
    let origin = match source {
        Source::Project => "workspace",
        Source::Extension(extension) => extension.as_str(),
        Source::User | Source::System | Source::Runtime => "user",
    };
    format!("{origin}.{name}")
}

/// Returns the name, or the first of `NAME1`, `NAME2`, … that is not taken.
fn unused_name(name: String, taken: &HashSet<String>) -> String {
    if !taken.contains(&name) {
        return name;
    }
    let mut numbered = (1_usize..).map(|number| format!("{name}{number}"));
    numbered.find(|name| !taken.contains(name)).unwrap_or(name)
}

impl CustomCommands {
    fn add_directory(
        &mut self,
        source: &Source,
        directory: &Path,
        is_builtin: &dyn Fn(&str) -> bool,
        clash: impl Fn(&str, &HashSet<String>) -> NameConflict,
    ) {
        let mut taken: HashSet<String> = self.list.iter().map(|command| command.name.clone()).collect();
        for path in toml_files(directory) {
            let mut name = command_name_in(directory, &path);
            if is_builtin(&name) {
                let renamed = unused_name(with_origin(source, &name), &taken);
                let text = format!("/{name} is a built-in command, so this one is renamed to /{renamed}");
                self.diagnostics.push(Diagnostic::about_file(Severity::Warning, &path, text));
                name = renamed;
            } else if taken.contains(&name) {
                match clash(&name, &taken) {
                    NameConflict::Drop => continue,
                    NameConflict::Rename(other) => name = other,
                }
            }
            match read_command_file(&path) {
                Ok(CustomCommandFile { prompt, description }) => {
                    taken.insert(name.clone());
                    self.list.push(CustomCommand { name, description, prompt, source: source.clone(), path });
                }
                Err(wrong) => {
                    self.rejected.push((name, (*wrong).clone()));
                    self.diagnostics.push(*wrong);
                }
            }
        }
    }

    /// Returns the problem that keeps the command of this name from being loaded.
    pub fn rejection_of(&self, name: &str) -> Option<&Diagnostic> {
        self.rejected.iter().find(|(left_out, _)| left_out == name).map(|(_, wrong)| wrong)
    }
}

/// The keys of a command file that are read; other keys are ignored.
#[derive(Deserialize)]
pub(crate) struct CustomCommandFile {
    pub(crate) prompt: String,
    pub(crate) description: Option<String>,
}

fn read_command_file(path: &Path) -> Result<CustomCommandFile, Box<Diagnostic>> {
    let text = read_text(path).map_err(|error| Box::new(error.diagnostic()))?.unwrap_or_default();
    parse_command_file(path, &text)
}

pub(crate) fn parse_command_file(path: &Path, text: &str) -> Result<CustomCommandFile, Box<Diagnostic>> {
    let text = text.trim_start_matches('\u{feff}');
    toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', "; ");
        let range = error.span().filter(|span| span.start < text.len()).unwrap_or(0..0);
        let source = SourceText::new(path, text);
        let wrong =
            source.diagnose(Severity::Error, range.start, range.end, format!("this command is left out: {message}"));
        Box::new(wrong.expected("expected prompt = \"…\" and, optionally, description = \"…\""))
    })
}

/// Lists all command files in a directory in a stable order. Links are followed, but no directory is visited twice.
pub(crate) fn toml_files(directory: &Path) -> Vec<PathBuf> {
    const MAX_FOLDER_DEPTH: usize = 16;
    /// Bound for the case that a link leads to a large part of the disk.
    const MAX_COMMAND_FILES: usize = 2000;
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        if depth > MAX_FOLDER_DEPTH
            || seen.len() > MAX_COMMAND_FILES
            || files.len() > MAX_COMMAND_FILES
            || !std::fs::canonicalize(&directory).is_ok_and(|real| seen.insert(real))
        {
            continue;
        }
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                waiting.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn command_name_in(directory: &Path, path: &Path) -> String {
    command_name(path.strip_prefix(directory).unwrap_or(path))
}

/// Converts a path to a command name, `git/commit.toml` to `git:commit`; characters that cannot be typed become `_`.
fn command_name(inner: &Path) -> String {
    let typed = |char: char| if char.is_ascii_alphanumeric() || "_-.".contains(char) { char } else { '_' };
    let parts = inner.with_extension("");
    let parts =
        parts.components().map(|part| part.as_os_str().to_string_lossy().chars().map(typed).collect::<String>());
    parts.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_path() {
        assert_eq!(command_name(Path::new("test.toml")), "test");
        assert_eq!(command_name(Path::new("git/commit.toml")), "git:commit");
        assert_eq!(command_name(Path::new("my dir/v1.2.toml")), "my_dir:v1.2");
    }

    #[test]
    fn command_without_description_is_described_by_its_file() {
        let command = |description: Option<&str>| CustomCommand {
            name: "git:commit".to_owned(),
            description: description.map(str::to_owned),
            prompt: "x".to_owned(),
            source: Source::User,
            path: PathBuf::from("/h/.gemini/commands/git/commit.toml"),
        };
        assert_eq!(command(Some("commits")).summary(), "commits");
        assert_eq!(command(Some("commits\n  all of it\n")).summary(), "commits all of it");
        for none in [None, Some(""), Some("  ")] {
            assert_eq!(command(none).summary(), "custom command from commit.toml");
        }
    }
}
