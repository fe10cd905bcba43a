//! Loads the project's and the user's `.env` files. Existing variables are never overridden, and a project may not
//! set variables that `dangerous_env.rs` lists.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source};

use crate::dangerous_env::is_dangerous_variable;
use crate::file::read_text_up_to;
use crate::paths::{ConfigPaths, GEMINI_DIR};
use crate::process_env::ProcessEnv;

/// Largest `.env` file; more variables would not fit beside the arguments of the programs that inherit them.
const MAX_ENV_FILE_BYTES: u64 = 256 << 10;

/// Variables that a `.env` made for other programs must not set for this one.
const EXCLUDED_VARIABLES: [&str; 4] =
    ["DEBUG", "DEBUG_MODE", "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND", "GEMINI_CLI_IDE_SERVER_STDIO_ARGS"];

/// Process environments with the variables of `.env` files.
pub(crate) struct LayerEnvs {
    /// With the user's file only: for hooks of the user and the system.
    pub(crate) user: ProcessEnv,
    /// With the project's file too, whose values win over the user's.
    pub(crate) session: ProcessEnv,
}

impl LayerEnvs {
    /// Returns the environments without any `.env` file.
    pub(crate) fn without_files(world: &ProcessEnv) -> Self {
        LayerEnvs { user: world.clone(), session: world.clone() }
    }

    /// Returns the environment that a layer sees.
    pub(crate) fn for_layer(&self, layer: &Source) -> &ProcessEnv {
        if is_user_or_system(layer) { &self.user } else { &self.session }
    }
}

/// Whether a layer belongs to the user or the system, which a project cannot influence.
pub(crate) fn is_user_or_system(layer: &Source) -> bool {
    matches!(layer, Source::User | Source::System)
}

/// Adds the variables of the user's `.env` and of the project's, if one is given (the caller passes it only when
/// trusted).
pub(crate) fn load_env_files(
    world: &ProcessEnv,
    project: Option<&Path>,
    paths: &ConfigPaths,
    excluded: &[String],
    diagnostics: &mut Vec<Diagnostic>,
) -> LayerEnvs {
    let users = find_env_file(&paths.home).map(|file| (read_env_file(&file, excluded, diagnostics), file));
    let mut own = world.clone();
    let mut session = world.clone();
    // In the home directory, the project's file is the user's file.
    let projects = project.and_then(find_env_file).filter(|file| users.as_ref().is_none_or(|(_, users)| users != file));
    if let Some(file) = projects {
        let (steering, plain): (Vec<_>, Vec<_>) =
            read_env_file(&file, excluded, diagnostics).into_iter().partition(|(name, _)| is_dangerous_variable(name));
        diagnostics.extend(ignored_variables_warning(&file, &steering));
        plain.iter().for_each(|(name, value)| session.add_missing(name, value));
    }
    for (name, value) in users.iter().flat_map(|(variables, _)| variables) {
        own.add_missing(name, value);
        session.add_missing(name, value);
    }
    LayerEnvs { user: own, session }
}

/// Returns the warning about variables that a project may not set.
fn ignored_variables_warning(file: &Path, steering: &[(String, String)]) -> Option<Diagnostic> {
    let names: Vec<&str> = steering.iter().map(|(name, _)| name.as_str()).collect();
    let text = match names.as_slice() {
        [] => return None,
        [name] => format!("a project's `.env` can't set {name}; it is ignored"),
        names => format!("a project's `.env` can't set {}; they are ignored", names.join(", ")),
    };
    let wrong = Diagnostic::about_file(Severity::Warning, file, text);
    Some(wrong.help("such variables change how programs run; set them in your shell or in ~/.gemini/.env"))
}

fn read_env_file(file: &Path, excluded: &[String], diagnostics: &mut Vec<Diagnostic>) -> Vec<(String, String)> {
    let text = match read_text_up_to(file, MAX_ENV_FILE_BYTES) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return Vec::new();
        }
    };
    // A file in `.gemini` is meant for this program only.
    let general = file.parent().is_none_or(|parent| !parent.ends_with(GEMINI_DIR));
    let skipped = |name: &str| {
        general && (EXCLUDED_VARIABLES.contains(&name) || excluded.iter().any(|excluded| excluded == name))
    };
    let mut variables = parse_env_text(&text);
    variables.retain(|(name, value)| !skipped(name) && !value.contains('\0'));
    variables
}

/// Returns the `.env` file of one directory; parent directories are not searched.
fn find_env_file(directory: &Path) -> Option<PathBuf> {
    [directory.join(GEMINI_DIR).join(".env"), directory.join(".env")]
        .into_iter()
        // A directory named `.env` is usually a Python virtual environment. Anything else is read, or reported as no
        // file.
        .find(|file| file.exists() && !file.is_dir())
}

/// Parses `NAME=value` lines, with comments, `export`, quotes and multi-line values in quotes.
pub(crate) fn parse_env_text(text: &str) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
        if name.is_empty() || !name.chars().all(plain) {
            continue;
        }
        let value = value.trim_start();
        let value = match value.chars().next().filter(|char| matches!(char, '"' | '\'' | '`')) {
            Some(quote) => match parse_quoted(&value[1..], quote, &mut rest) {
                Some(value) => value,
                None => value.trim_end().to_owned(),
            },
            None => value.split('#').next().unwrap_or_default().trim_end().to_owned(),
        };
        variables.push((name.to_owned(), value));
    }
    // The last of two lines for one name wins.
    let mut later = HashSet::new();
    variables.reverse();
    variables.retain(|(name, _)| later.insert(name.clone()));
    variables.reverse();
    variables
}

/// Returns the text before the closing quote, which may be on a later line, and advances `rest` past it.
fn parse_quoted(start: &str, quote: char, rest: &mut &str) -> Option<String> {
    if let Some(end) = closing_quote(start, quote) {
        return Some(unescape(&start[..end], quote));
    }
    let end = closing_quote(rest, quote)?;
    let value = format!("{}\n{}", start.trim_end_matches('\r'), &rest[..end]);
    let after = &rest[end..];
    *rest = after.split_once('\n').map_or("", |(_, after)| after);
    Some(unescape(&value, quote))
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, char)| {
        let ends = char == quote && !escaped;
        escaped = char == '\\' && !escaped;
        ends.then_some(at)
    })
}

fn unescape(text: &str, quote: char) -> String {
    if quote == '"' { text.replace("\\n", "\n").replace("\\r", "\r") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_dotenv_reads_them() {
        let text = "# c\nA=1\nexport B = two words # c\nC='x # y'\nD=\"a\\nb\"\nE=\nF=\"one\ntwo\"\nno line\n1 2=3\nA=last\r\nG=`q`\nH='open";
        let said: Vec<_> = parse_env_text(text).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(said, ["B=two words", "C=x # y", "D=a\nb", "E=", "F=one\ntwo", "A=last", "G=q", "H='open"]);
    }
}
