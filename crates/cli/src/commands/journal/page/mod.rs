//! The journal page: one HTML file that shows the journal and loads nothing.
//!
//! The lines lie in it as JSON, in blocks that the browser does not run. A policy in the page allows its own script and
//! style sheet by their digests, and nothing else: no other script, no request, no HTML made from strings.

pub(crate) mod live;

use std::borrow::Cow;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The script's files share one scope, in this order.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("script/dom.js"),
    include_str!("script/store.js"),
    include_str!("script/filter.js"),
    include_str!("script/diff.js"),
    include_str!("script/story.js"),
    include_str!("script/rows.js"),
    include_str!("script/timeline.js"),
    include_str!("script/detail.js"),
    include_str!("script/overview.js"),
    include_str!("script/live.js"),
    include_str!("script/main.js"),
    "})();\n",
);

/// The size at which a block of lines ends. A browser keeps a block in two bytes per character if one character of it
/// needs them, so blocks are not large.
const MAX_BLOCK_BYTES: usize = 1 << 20;

/// What the page knows beside the journal's lines.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct PageMeta {
    pub(crate) title: String,
    /// The hooks that are configured now, for the list of those that never fire.
    #[serde(default)]
    pub(crate) hooks: Vec<ConfiguredHook>,
}

/// A hook that is configured now.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct ConfiguredHook {
    pub(crate) hook: String,
    pub(crate) event: String,
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) guard: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
}

/// Where the page's lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageMode {
    /// All lines are in the file.
    Saved,
    /// The page asks its server for lines, see [`live`].
    Live,
}

/// Writes the page with these lines of the journal, each of which is a JSON object.
pub(crate) fn write_page(
    out: &mut dyn Write,
    meta: &PageMeta,
    lines: impl Iterator<Item = String>,
    mode: PageMode,
) -> io::Result<()> {
    let mut lines = Some(lines);
    for (index, part) in TEMPLATE.split("{{").enumerate() {
        let (name, text) = if index == 0 { ("", part) } else { part.split_once("}}").unwrap_or(("", part)) };
        match name {
            "policy" => out.write_all(content_security_policy(mode).as_bytes())?,
            "title" => out.write_all(escape_html(&meta.title).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "meta" => write_meta(out, meta, mode)?,
            "lines" => write_lines(out, lines.take().into_iter().flatten())?,
            _ => {}
        }
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}

/// Returns what the browser may load for the page: its own script and style sheet, and in live mode lines from the
/// address that the page came from.
fn content_security_policy(mode: PageMode) -> String {
    let connect = match mode {
        PageMode::Saved => "",
        PageMode::Live => "connect-src 'self'; ",
    };
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; {connect}base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        source_digest(SCRIPT),
        source_digest(STYLE)
    )
}

fn source_digest(source: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(source.as_bytes())))
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn write_meta(out: &mut dyn Write, meta: &PageMeta, mode: PageMode) -> io::Result<()> {
    let mut value = serde_json::to_value(meta)?;
    value["live"] = (mode == PageMode::Live).into();
    write_json(out, &value.to_string())
}

/// Writes the lines as blocks, each of which is a JSON array with one line of the journal per line of text.
fn write_lines(out: &mut dyn Write, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let mut block_bytes = 0;
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let start = if block_bytes == 0 { "<script type=\"application/json\" class=\"lines\">[\n" } else { ",\n" };
        out.write_all(start.as_bytes())?;
        write_json(out, line.trim())?;
        block_bytes += line.len();
        if block_bytes >= MAX_BLOCK_BYTES {
            out.write_all(b"\n]</script>\n")?;
            block_bytes = 0;
        }
    }
    if block_bytes > 0 {
        out.write_all(b"\n]</script>\n")?;
    }
    Ok(())
}

/// Writes JSON so that it stays on one line and cannot end the block it stands in.
///
/// `</script>` and `<!--` need a `<`, which JSON has only inside strings. Line breaks and NUL are not in strings.
fn write_json(out: &mut dyn Write, json: &str) -> io::Result<()> {
    let mut line = Cow::Borrowed(json);
    for (found, written) in [('\n', " "), ('\r', " "), ('\0', " "), ('<', "\\u003c")] {
        if line.contains(found) {
            line = Cow::Owned(line.replace(found, written));
        }
    }
    out.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, lines: &[&str], mode: PageMode) -> String {
        let meta = PageMeta { title: title.to_owned(), ..PageMeta::default() };
        let mut out = Vec::new();
        write_page(&mut out, &meta, lines.iter().map(|&line| line.to_owned()), mode).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn blocks(page: &str) -> Vec<serde_json::Value> {
        let starts = page.split("class=\"lines\">").skip(1);
        starts.map(|rest| serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()).collect()
    }

    #[test]
    fn lines_are_json_arrays() {
        let page = page("Journal", &["{\"seq\":1}", "", "{\"seq\":2}\n"], PageMode::Saved);
        assert_eq!(blocks(&page), [serde_json::json!([{ "seq": 1 }, { "seq": 2 }])]);
    }

    #[test]
    fn no_lines_make_no_block() {
        assert!(blocks(&page("Journal", &[], PageMode::Saved)).is_empty());
    }

    #[test]
    fn large_lines_get_blocks_of_their_own() {
        let large = format!("\"{}\"", "x".repeat(MAX_BLOCK_BYTES));
        let page = page("Journal", &[&large, &large, "1"], PageMode::Saved);
        assert_eq!(blocks(&page).iter().map(|block| block.as_array().unwrap().len()).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn hostile_text_ends_no_block() {
        let hostile = [
            "</script><script>alert(1)</script>",
            "<!-- <script>",
            "</SCRIPT >",
            "--><img src=x onerror=alert(1)>",
            "]]>",
            "{{script}}",
            "\u{2028}</style>",
        ];
        for text in hostile {
            let line = serde_json::json!({ "reason": text, text: 1 }).to_string();
            let page = page(text, &[&line], PageMode::Saved);
            let plain = self::page("", &["{}"], PageMode::Saved);
            for tag in ["<script", "</script", "<!--", "<img", "</style", "<title", "</title"] {
                let count = |page: &str| page.to_lowercase().matches(tag).count();
                assert_eq!(count(&page), count(&plain), "{text}: {tag}");
            }
            assert_eq!(blocks(&page)[0][0]["reason"], text);
        }
    }

    #[test]
    fn a_line_that_is_no_json_stays_one_line() {
        let mut out = Vec::new();
        write_json(&mut out, "{\"a\":\n<b>\r\0}").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\"a\": \\u003cb>  }");
    }

    #[test]
    fn the_policy_names_the_digests_of_what_is_in_the_page() {
        let page = page("Journal", &[], PageMode::Saved);
        let between = |start: &str, end: &str| page.split_once(start).unwrap().1.split_once(end).unwrap().0.to_owned();
        assert!(page.contains(&source_digest(&between("<style>", "</style>"))));
        assert!(page.contains(&source_digest(&between("<script>", "</script>"))));
        assert!(!page.contains("connect-src"));
        assert!(self::page("Journal", &[], PageMode::Live).contains("connect-src 'self'"));
    }

    #[test]
    fn sources_cannot_end_their_own_elements() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--") && !STYLE.contains("</style"));
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("insertAdjacentHTML") && !SCRIPT.contains("eval("));
    }

    #[test]
    fn the_template_is_filled() {
        let page = page("A <b> & \"c\"", &[], PageMode::Saved);
        assert!(page.contains("<title>A &lt;b&gt; &amp; &quot;c&quot;</title>"));
        assert!(!page.contains("{{"));
    }
}
