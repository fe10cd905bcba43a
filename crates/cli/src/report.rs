//! Draws diagnostics for people: the place, the source line, a caret, what was expected, what to do.

use std::io::{self, Write};

use anstyle::Style;
use hookwright_hooks::{Diagnostic, Severity, Span};
use unicode_width::UnicodeWidthStr;

use crate::out::{self, BAD, BOLD, NOTE, WARN, paint};

/// Draws all of them on stderr.
pub(crate) fn print<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> io::Result<()> {
    let mut stderr = out::stderr();
    diagnostics.into_iter().try_for_each(|diagnostic| writeln!(stderr, "{}", draw(diagnostic)))
}

/// One diagnostic, as text.
pub(crate) fn draw(diagnostic: &Diagnostic) -> String {
    let (style, word) = match diagnostic.severity {
        Severity::Error => (BAD, "error"),
        Severity::Warning => (WARN, "warning"),
    };
    let mut text = format!("{}{} {}\n", paint(style, word), paint(BOLD, ":"), paint(BOLD, &diagnostic.message));
    let file = diagnostic.file.display();
    match &diagnostic.span {
        Some(span) => draw_span(&mut text, &file.to_string(), span, diagnostic.expected.as_deref(), style),
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

fn draw_span(text: &mut String, file: &str, span: &Span, expected: Option<&str>, style: Style) {
    let number = span.line.to_string();
    let gutter = " ".repeat(number.len());
    let bar = paint(NOTE, "|");
    let cut = if span.skipped > 0 { "…" } else { "" };
    let before: String = span.text.chars().take(span.column - 1 - span.skipped).collect();
    let marked: String = span.text.chars().skip(span.column - 1 - span.skipped).take(span.length).collect();
    let indent = " ".repeat(shown(&before).width() + cut.width());
    let carets = "^".repeat(shown(&marked).width().max(1));
    let label = expected.map(|expected| format!(" {expected}")).unwrap_or_default();
    text.push_str(&format!("{gutter}{} {file}:{}:{}\n", paint(NOTE, "-->"), span.line, span.column));
    text.push_str(&format!("{gutter} {bar}\n"));
    text.push_str(&format!("{} {bar} {cut}{}\n", paint(NOTE, number), shown(&span.text).trim_end()));
    text.push_str(&format!("{gutter} {bar} {indent}{}\n", paint(style, format!("{carets}{label}"))));
}

/// The text as it is printed, tabs and control characters included.
fn shown(text: &str) -> String {
    out::one_line(&text.replace('\t', "    "))
}

/// `2 errors, 1 warning`, or nothing.
pub(crate) fn count(diagnostics: &[Diagnostic]) -> Option<String> {
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
    use hookwright_hooks::{Layer, Source, declare};

    fn drawn(text: &str) -> String {
        let declared = declare(&Layer::new(Source::Project, "settings.json".as_ref(), text));
        let drawn: Vec<_> = declared.diagnostics.iter().map(draw).collect();
        crate::out::unpainted(&drawn.join("\n")).into_owned()
    }

    #[test]
    fn a_mistake_is_shown_where_it_stands() {
        insta::assert_snapshot!(drawn("{\n\t\"hooks\": { \"PreToolUse\": [] }\n}"), @r#"
        error: unknown hook event `PreToolUse`; its hooks never run
         --> settings.json:2:13
          |
        2 |     "hooks": { "PreToolUse": [] }
          |                ^^^^^^^^^^^^
          = help: this event is called `BeforeTool` here; `hookwright hooks migrate --from-claude` converts whole files, and `hooksConfig.readClaude` reads them as they are
        "#);
    }

    #[test]
    fn wide_characters_do_not_move_the_caret() {
        insta::assert_snapshot!(drawn("{ \"日本\": 1, \"hooks\": 7 }"), @r#"
        error: `hooks` should be an object, not a number
         --> settings.json:1:21
          |
        1 | { "日本": 1, "hooks": 7 }
          |                       ^ expected { … }
        "#);
    }
}
