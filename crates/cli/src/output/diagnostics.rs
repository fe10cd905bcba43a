//! Renders diagnostics for people: file and line, the source line, a caret, what was expected, and a help text.

use std::io::{self, Write};

use anstyle::Style;
use hookwright_hooks::{Diagnostic, Severity, SourceSpan};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::{self, BAD, BOLD, NOTE, WARN, paint};

/// Prints diagnostics to stderr.
pub(crate) fn print<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> io::Result<()> {
    let mut stderr = output::stderr();
    diagnostics.into_iter().try_for_each(|diagnostic| writeln!(stderr, "{}", render(diagnostic)))
}

/// Renders one diagnostic with its source line at full length.
pub(crate) fn render(diagnostic: &Diagnostic) -> String {
    render_in(diagnostic, usize::MAX)
}

/// Renders one diagnostic in so many columns.
///
/// A long source line is cut around the marked column, so that the caret still stands below it.
pub(crate) fn render_in(diagnostic: &Diagnostic, columns: usize) -> String {
    let (style, word) = match diagnostic.severity {
        Severity::Error => (BAD, "error"),
        Severity::Warning => (WARN, "warning"),
    };
    let mut text = format!("{}{} {}\n", paint(style, word), paint(BOLD, ":"), paint(BOLD, &diagnostic.message));
    let file = diagnostic.file.display();
    match &diagnostic.span {
        Some(span) => render_span(&mut text, (&file.to_string(), columns), span, diagnostic.expected.as_deref(), style),
        None => text.push_str(&format!("  {} {file}\n", paint(NOTE, "-->"))),
    }
    if let Some(help) = &diagnostic.help {
        let gutter = " ".repeat(gutter_width(diagnostic));
        text.push_str(&format!("{gutter} {} {help}\n", paint(NOTE, "= help:")));
    }
    text
}

fn gutter_width(diagnostic: &Diagnostic) -> usize {
    diagnostic.span.as_ref().map_or(1, |span| span.line.to_string().len())
}

fn render_span(
    text: &mut String,
    (file, columns): (&str, usize),
    span: &SourceSpan,
    expected: Option<&str>,
    style: Style,
) {
    let number = span.line.to_string();
    let gutter = " ".repeat(number.len());
    let bar = paint(NOTE, "|");
    let before: String = span.text.chars().take(span.column - 1 - span.skipped).collect();
    let marked: String = span.text.chars().skip(span.column - 1 - span.skipped).take(span.length).collect();
    let (line, indent) = excerpt(span, visible_text(&before).width(), columns.saturating_sub(number.len() + 3));
    let carets = "^".repeat(visible_text(&marked).width().min(line.width().saturating_sub(indent)).max(1));
    let label = expected.map(|expected| format!(" {expected}")).unwrap_or_default();
    text.push_str(&format!("{gutter}{} {file}:{}:{}\n", paint(NOTE, "-->"), span.line, span.column));
    text.push_str(&format!("{gutter} {bar}\n"));
    text.push_str(&format!("{} {bar} {line}\n", paint(NOTE, number)));
    text.push_str(&format!("{gutter} {bar} {}{}\n", " ".repeat(indent), paint(style, format!("{carets}{label}"))));
}

/// Returns as much of the source line as fits in `room` columns around `column`, and the column's position in it.
fn excerpt(span: &SourceSpan, column: usize, room: usize) -> (String, usize) {
    let all = visible_text(&span.text);
    let cut = if span.skipped > 0 { "…" } else { "" };
    let all = format!("{cut}{}", all.trim_end());
    let column = column + cut.width();
    if all.width() <= room {
        return (all, column);
    }
    // A third of the room shows what comes before the marked column, the rest what follows.
    let skipped = column.saturating_sub(room / 3);
    let mut left_out = 0;
    let rest = match skipped {
        0 => all.as_str(),
        _ => all.trim_start_matches(|char: char| {
            let is_out = left_out < skipped + 1;
            left_out += if is_out { char.width().unwrap_or(0) } else { 0 };
            is_out
        }),
    };
    let head = if skipped == 0 { "" } else { "…" };
    (output::truncate_columns(&format!("{head}{rest}"), room), (column + head.width()).saturating_sub(left_out))
}

/// Returns the text as it is printed: tabs as four spaces, other control characters as one.
fn visible_text(text: &str) -> String {
    output::one_line(&text.replace('\t', "    "))
}

/// Returns a count such as `2 errors, 1 warning`, or none without diagnostics.
pub(crate) fn count_summary(diagnostics: &[Diagnostic]) -> Option<String> {
    let of = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let named = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        many => Some(format!("{many} {word}s")),
    };
    let parts: Vec<String> =
        [named(of(Severity::Error), "error"), named(of(Severity::Warning), "warning")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_hooks::{Layer, Source, parse_layer};

    fn rendered(text: &str) -> String {
        let declared = parse_layer(&Layer::new(Source::Project, "settings.json".as_ref(), text));
        let drawn: Vec<_> = declared.diagnostics.iter().map(render).collect();
        crate::output::strip_styles(&drawn.join("\n")).into_owned()
    }

    #[test]
    fn a_mistake_is_shown_at_its_line_and_column() {
        insta::assert_snapshot!(rendered("{\n\t\"hooks\": { \"PreToolUse\": [] }\n}"), @r#"
        error: unknown hook event `PreToolUse`; its hooks never run
         --> settings.json:2:13
          |
        2 |     "hooks": { "PreToolUse": [] }
          |                ^^^^^^^^^^^^
          = help: this event is called `BeforeTool` here; `hookwright hooks migrate --from-claude` converts whole files, and `hooksConfig.readClaude` reads them as they are
        "#);
    }

    #[test]
    fn in_a_narrow_window_the_caret_stays_below_the_mistake() {
        let text = "{ \"日本語日本語日本語日本語\": 1, \"more\": [1, 2, 3, 4, 5, 6, 7], \"hooks\": 7, \"and\": [1, 2, 3, 4, 5, 6, 7, 8, 9] }";
        let declared = parse_layer(&Layer::new(Source::Project, "settings.json".as_ref(), text));
        let diagnostic = declared.diagnostics.iter().find(|one| one.message.contains("should be an object")).unwrap();
        for columns in [0, 1, 5, 12, 20, 30, 40, 41, 60, 80, 200] {
            let drawn = render_in(diagnostic, columns);
            let drawn = crate::output::strip_styles(&drawn);
            let lines: Vec<&str> = drawn.lines().skip(3).take(2).collect();
            assert!(lines[0].width() <= columns.max(6), "{columns}: {drawn}");
            if columns >= 12 {
                let caret = lines[1].find('^').unwrap();
                let mut at = 0;
                let above = lines[0].chars().find(|char| {
                    let here = at == caret;
                    at += char.width().unwrap_or(0);
                    here
                });
                assert_eq!(above, Some('7'), "{columns}: {drawn}");
            }
        }
    }

    #[test]
    fn wide_characters_do_not_move_the_caret() {
        insta::assert_snapshot!(rendered("{ \"日本\": 1, \"hooks\": 7 }"), @r#"
        error: `hooks` should be an object, not a number
         --> settings.json:1:21
          |
        1 | { "日本": 1, "hooks": 7 }
          |                       ^ expected { … }
        "#);
    }
}
