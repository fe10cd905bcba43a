//! The tool `web_fetch`: fetches web pages as text. `http` decides what may be fetched; this file finds the URLs in the
//! arguments and converts the pages.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::encoding;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::http::FetchedPage;
use crate::result::{ResultContent, ResultPart, ToolDisplay, ToolResult, wrap_untrusted};
use crate::tool::{BuiltinTool, run_blocking};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const MAX_URLS: usize = 20;
/// The largest number of characters of all pages together.
const MAX_PAGES_CHARS: usize = 250_000;
/// The line width of HTML that is converted to text.
const HTML_TEXT_COLUMNS: usize = 120;

/// The largest number of requests to one host within [`RATE_WINDOW`].
const MAX_REQUESTS_PER_HOST: usize = 10;
const RATE_WINDOW: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct WebFetch {
    /// The times of the requests to each host within the last window.
    requests: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl WebFetch {
    /// Counts a request to the URL's host, or returns an error if the host's limit is reached.
    fn count_request(&self, url: &str, now: Instant) -> Result<(), String> {
        let host = host_of(url);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < RATE_WINDOW;
        requests.retain(|_, times| {
            times.retain(is_recent);
            !times.is_empty()
        });
        let times = requests.entry(host.clone()).or_default();
        if times.len() >= MAX_REQUESTS_PER_HOST {
            return Err(format!(
                "Rate limit exceeded for host: {host} had {MAX_REQUESTS_PER_HOST} requests within a minute; wait before the next"
            ));
        }
        times.push_back(now);
        Ok(())
    }
}

/// Returns the host of a URL, in a form that suffices to distinguish hosts.
fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = host.rsplit_once(':').filter(is_port).map_or(host, |(host, _)| host);
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[derive(Deserialize)]
pub(crate) struct WebFetchArgs {
    prompt: Option<String>,
    url: Option<String>,
}

impl BuiltinTool for WebFetch {
    type Args = WebFetchArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::WEB_FETCH
    }

    fn description(&self) -> String {
        "Fetches web pages and gives their text. Put up to 20 complete URLs (http:// or https://) into the prompt, with \
         what you want of them; or one into url. HTML becomes plain text; pictures and PDF documents come as media."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "description": "Text with the URLs to fetch, such as \"Summarize https://example.com/article\".",
                },
                "url": { "type": "string", "description": "One URL to fetch, instead of a prompt." },
            },
        })
    }

    fn describe(&self, args: &WebFetchArgs) -> String {
        match args.urls() {
            Ok(urls) => format!("Fetching {}", urls.join(", ")),
            Err(_) => args.prompt.clone().unwrap_or_default(),
        }
    }

    async fn run(&self, args: WebFetchArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        let urls = args.urls()?;
        let mut pages = Vec::new();
        for url in &urls {
            if let Err(error) = self.count_request(url, Instant::now()) {
                pages.push(Err(error));
                continue;
            }
            let fetched = tokio::select! {
                fetched = ctx.http.get(url) => fetched,
                () = ctx.cancel.cancelled() => return Err(ToolFailure::cancelled()),
            };
            pages.push(match fetched {
                Ok(fetched) => page_content(fetched, ctx).await,
                Err(error) => Err(error.to_string()),
            });
        }
        format_pages(&urls, pages)
    }
}

impl WebFetchArgs {
    /// Returns the requested URLs without duplicates.
    fn urls(&self) -> Result<Vec<String>, ToolFailure> {
        let text = match (&self.url, &self.prompt) {
            (Some(url), _) if !url.trim().is_empty() => url,
            (_, Some(prompt)) => prompt,
            _ => return Err(ToolFailure::invalid_params("params must have required property 'prompt'")),
        };
        let mut urls: Vec<String> = Vec::new();
        for word in text.split_whitespace().filter(|word| word.contains("://")) {
            // Prose puts brackets and quotes around URLs, and punctuation after them.
            let word = word.trim_start_matches(['(', '[', '<', '{', '"', '\'', '`']);
            let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '>', '}', '"', '\'', '`']);
            if !(word.starts_with("http://") || word.starts_with("https://")) {
                return Err(ToolFailure::invalid_params(format!(
                    "Unsupported protocol in URL: \"{word}\". Only http and https are supported."
                )));
            }
            let url = raw_github_url(word);
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        match urls.len() {
            0 => Err(ToolFailure::new(
                ToolErrorKind::WebFetchNoUrlInPrompt,
                "The 'prompt' must contain at least one valid URL (starting with http:// or https://).",
            )),
            count if count > MAX_URLS => {
                Err(ToolFailure::invalid_params(format!("at most {MAX_URLS} URLs can be fetched at once, not {count}")))
            }
            _ => Ok(urls),
        }
    }
}

/// Converts the address of a file's page on GitHub to the address of the file itself.
fn raw_github_url(url: &str) -> String {
    url.strip_prefix("https://github.com/")
        .and_then(|path| path.split_once("/blob/"))
        .filter(|(repository, _)| repository.split('/').count() == 2)
        .map_or_else(
            || url.to_owned(),
            |(repository, file)| format!("https://raw.githubusercontent.com/{repository}/{file}"),
        )
}

/// Converts a fetched page to content that the model can read.
async fn page_content(fetched: FetchedPage, ctx: &ToolContext) -> Result<ResultPart, String> {
    let mime_type = fetched.content_type.split(';').next().unwrap_or_default().trim().to_owned();
    if mime_type.starts_with("image/") && mime_type != "image/svg+xml" || mime_type == "application/pdf" {
        let data = base64::engine::general_purpose::STANDARD.encode(&fetched.body);
        return Ok(ResultPart::InlineData { mime_type, data });
    }
    if encoding::is_binary(&fetched.body) {
        return Err(format!("{} is neither text nor a picture ({mime_type})", fetched.url));
    }
    let text = encoding::decode_labelled(&fetched.body, charset(&fetched.content_type));
    let is_html = mime_type.contains("html") || mime_type.is_empty() && text.trim_start().starts_with('<');
    if !is_html {
        return Ok(ResultPart::Text(text));
    }
    run_blocking(ctx, move |_| {
        html2text::config::plain()
            .string_from_read(text.as_bytes(), HTML_TEXT_COLUMNS)
            .map(ResultPart::Text)
            .map_err(|error| ToolFailure::new(ToolErrorKind::WebFetchProcessingError, error.to_string()))
    })
    .await
    .map_err(|failure| format!("the page could not be turned into text: {}", failure.message))
}

/// Returns the encoding that `text/html; charset="…"` names.
fn charset(content_type: &str) -> &str {
    let charset = content_type.split_once("charset=").map_or("", |(_, charset)| charset);
    charset.split(';').next().unwrap_or_default().trim_matches([' ', '"', '\''])
}

fn format_pages(urls: &[String], pages: Vec<Result<ResultPart, String>>) -> Result<ToolResult, ToolFailure> {
    let problems: Vec<String> = urls
        .iter()
        .zip(&pages)
        .filter_map(|(url, page)| page.as_ref().err().map(|error| format!("{url}: {error}")))
        .collect();
    if problems.len() == urls.len() {
        return Err(ToolFailure::new(ToolErrorKind::WebFetchProcessingError, problems.join("\n")));
    }
    let mut parts = Vec::new();
    let mut room = MAX_PAGES_CHARS;
    let mut text = String::new();
    let count = urls.len();
    for (index, (url, page)) in urls.iter().zip(pages).enumerate() {
        text.push_str(&format!("--- {url} ---\n"));
        match page {
            Ok(ResultPart::Text(page)) => {
                let share = room / (count - index);
                let page = truncate_chars(page, share);
                room = room.saturating_sub(page.chars().count());
                text.push_str(page.trim_end());
                text.push_str("\n\n");
            }
            Ok(media) => {
                text.push_str("[see the media]\n\n");
                parts.push(media);
            }
            Err(error) => text.push_str(&format!("Error: {error}\n\n")),
        }
    }
    let text = wrap_untrusted(text.trim_end());
    let content = if parts.is_empty() {
        ResultContent::Text(text)
    } else {
        parts.insert(0, ResultPart::Text(text));
        ResultContent::Parts(parts)
    };
    let mut shown = format!("Fetched {} of {count} URL(s)", count - problems.len());
    for problem in problems {
        shown.push_str(&format!("\n{problem}"));
    }
    Ok(ToolResult::new(content, ToolDisplay::Text(shown)))
}

fn truncate_chars(mut text: String, limit: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(limit) {
        text.truncate(at);
        text.push_str("\n\n[the rest of the page is left out]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(prompt: &str) -> Result<Vec<String>, ToolErrorKind> {
        WebFetchArgs { prompt: Some(prompt.to_owned()), url: None }.urls().map_err(|failure| failure.kind)
    }

    #[test]
    fn urls_are_found_in_prose() {
        assert_eq!(
            urls("Compare https://a.com/x and (http://b.com/y?z=1).").unwrap(),
            ["https://a.com/x", "http://b.com/y?z=1"]
        );
        assert_eq!(urls("https://a.com https://a.com").unwrap(), ["https://a.com"]);
        assert_eq!(
            urls("https://github.com/o/r/blob/main/src/a.rs").unwrap(),
            ["https://raw.githubusercontent.com/o/r/main/src/a.rs"]
        );
        assert_eq!(urls("https://github.com/o/r/issues/1").unwrap(), ["https://github.com/o/r/issues/1"]);
    }

    #[test]
    fn prompts_that_cannot_be_fetched() {
        assert_eq!(urls("no address here"), Err(ToolErrorKind::WebFetchNoUrlInPrompt));
        assert_eq!(urls("ftp://a.com"), Err(ToolErrorKind::InvalidToolParams));
        let many: String = (0..21).map(|n| format!("https://a.com/{n} ")).collect();
        assert_eq!(urls(&many), Err(ToolErrorKind::InvalidToolParams));
        assert!(WebFetchArgs { prompt: None, url: None }.urls().is_err());
        let one = WebFetchArgs { prompt: None, url: Some("https://a.com".into()) };
        assert_eq!(one.urls().unwrap(), ["https://a.com"]);
    }

    #[test]
    fn requests_per_host_are_limited() {
        let (fetch, now) = (WebFetch::default(), Instant::now());
        let spellings = ["https://a.com/1", "http://A.com:8080/2", "https://user@a.com./3?x", "https://a.com#4"];
        for url in spellings.iter().cycle().take(MAX_REQUESTS_PER_HOST) {
            assert_eq!(fetch.count_request(url, now), Ok(()), "{url}");
        }
        for url in spellings {
            assert!(
                fetch.count_request(url, now).unwrap_err().contains("Rate limit exceeded for host: a.com"),
                "{url}"
            );
        }
        assert_eq!(fetch.count_request("https://b.com/", now), Ok(()));
        assert_eq!(fetch.count_request("https://a.com/", now + RATE_WINDOW), Ok(()));
    }

    #[test]
    fn older_encodings_are_read() {
        let decode = |body: &[u8], content_type| encoding::decode_labelled(body, charset(content_type));
        assert_eq!(decode(b"caf\xE9", "text/html; charset=iso-8859-1"), "café");
        assert_eq!(decode("café".as_bytes(), "text/html; charset=utf-8"), "café");
        assert_eq!(decode(b"caf\xE9", "text/html"), "caf\u{FFFD}");
        assert_eq!(decode(b"\xFF\xFEa\0", "text/html; charset=windows-1252"), "a");
    }

    #[test]
    fn pages_share_the_character_limit() {
        let long = "x".repeat(MAX_PAGES_CHARS);
        let pages = vec![Ok(ResultPart::Text("short".into())), Ok(ResultPart::Text(long)), Err("gone".to_owned())];
        let urls: Vec<String> = ["u1", "u2", "u3"].map(str::to_owned).to_vec();
        let result = format_pages(&urls, pages).unwrap();
        let text = result.llm_content.to_text();
        assert!(text.len() < MAX_PAGES_CHARS && text.contains("short") && text.contains("Error: gone"));
        assert!(text.contains("[the rest of the page is left out]"));
        assert_eq!(result.return_display.to_json(), json!("Fetched 2 of 3 URL(s)\nu3: gone"));
    }
}
