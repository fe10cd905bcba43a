//! The `.env` file that counts for a project, and its variables. Existing variables are never overridden.

use std::path::{Path, PathBuf};

use hookwright_hooks::Diagnostic;

use crate::file::read_text;
use crate::paths::{GEMINI_DIR, Paths};
use crate::world::World;

/// Variables that a project's own `.env` is not meant to set for this program.
const EXCLUDED: [&str; 4] =
    ["DEBUG", "DEBUG_MODE", "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND", "GEMINI_CLI_IDE_SERVER_STDIO_ARGS"];

/// Adds the variables of the first `.env` file found: the project's or one above it, where it is trusted, else the
/// user's own.
pub(crate) fn add_variables(
    world: &mut World,
    project: Option<&Path>,
    paths: &Paths,
    excluded: &[String],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(file) = find(project, paths) else { return };
    let text = match read_text(&file) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return;
        }
    };
    // A file in `.gemini` is meant for this program alone, and may set what it likes.
    let general = file.parent().is_none_or(|parent| !parent.ends_with(GEMINI_DIR));
    let skipped =
        |name: &str| general && (EXCLUDED.contains(&name) || excluded.iter().any(|excluded| excluded == name));
    for (name, value) in parse(&text) {
        if !skipped(&name) && !value.contains('\0') {
            world.add_missing(&name, &value);
        }
    }
}

fn find(project: Option<&Path>, paths: &Paths) -> Option<PathBuf> {
    let upwards = project.into_iter().flat_map(Path::ancestors);
    let directories = upwards.chain([paths.home.as_path()]);
    directories
        .flat_map(|directory| [directory.join(GEMINI_DIR).join(".env"), directory.join(".env")])
        .find(|file| file.is_file())
}

/// `NAME=value` lines: comments, `export`, quotes, and several lines between quotes.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
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
            Some(quote) => match quoted(&value[1..], quote, &mut rest) {
                Some(value) => value,
                None => value.trim_end().to_owned(),
            },
            None => value.split('#').next().unwrap_or_default().trim_end().to_owned(),
        };
        // Of two lines for one name the last counts.
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value));
    }
    variables
}

/// What stands before the closing quote, which may be lines further down.
fn quoted(start: &str, quote: char, rest: &mut &str) -> Option<String> {
    if let Some(end) = closing(start, quote) {
        return Some(unescaped(&start[..end], quote));
    }
    let end = closing(rest, quote)?;
    let value = format!("{}\n{}", start.trim_end_matches('\r'), &rest[..end]);
    let after = &rest[end..];
    *rest = after.split_once('\n').map_or("", |(_, after)| after);
    Some(unescaped(&value, quote))
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, char)| {
        let ends = char == quote && !escaped;
        escaped = char == '\\' && !escaped;
        ends.then_some(at)
    })
}

fn unescaped(text: &str, quote: char) -> String {
    if quote == '"' { text.replace("\\n", "\n").replace("\\r", "\r") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_dotenv_reads_them() {
        let text = "# c\nA=1\nexport B = two words # c\nC='x # y'\nD=\"a\\nb\"\nE=\nF=\"one\ntwo\"\nno line\n1 2=3\nA=last\r\nG=`q`\nH='open";
        let said: Vec<_> = parse(text).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(said, ["B=two words", "C=x # y", "D=a\nb", "E=", "F=one\ntwo", "A=last", "G=q", "H='open"]);
    }
}
