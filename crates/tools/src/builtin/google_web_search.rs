//! The tool `google_web_search`: asks the model's provider to search the web, through the [`WebSearch`] of the call's
//! context.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::ToolResult;
use crate::tool::{BoxFuture, BuiltinTool};
use hookwright_model::SearchAnswer;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A provider of web search.
pub trait WebSearch: std::fmt::Debug + Send + Sync {
    /// Searches the web for `query`.
    fn search<'a>(
        &'a self,
        query: &'a str,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SearchAnswer, WebSearchError>>;
}

/// A search that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WebSearchError {
    pub kind: ToolErrorKind,
    pub message: String,
}

pub(crate) struct GoogleWebSearch;

#[derive(Deserialize)]
pub(crate) struct GoogleWebSearchArgs {
    query: String,
}

impl BuiltinTool for GoogleWebSearch {
    type Args = GoogleWebSearchArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::GOOGLE_WEB_SEARCH
    }

    fn description(&self) -> String {
        "Searches the web with Google and gives an answer with its sources. Use it for what is newer or more particular \
         than you can know."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "query": { "type": "string", "description": "What to search for." } },
            "required": ["query"],
        })
    }

    fn describe(&self, args: &GoogleWebSearchArgs) -> String {
        format!("Searching the web for: \"{}\"", args.query)
    }

    async fn run(&self, args: GoogleWebSearchArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        let query = args.query.trim();
        if query.is_empty() {
            return Err(ToolFailure::invalid_params("The 'query' parameter cannot be empty."));
        }
        let Some(search) = &ctx.search else {
            return Err(ToolFailure::new(ToolErrorKind::WebSearchFailed, "there is nothing to search the web with"));
        };
        let answer = tokio::select! {
            answer = search.search(query, &ctx.cancel) => answer,
            () = ctx.cancel.cancelled() => return Err(ToolFailure::cancelled()),
        };
        let answer = answer.map_err(|error| {
            ToolFailure::new(error.kind, format!("Error during web search for query \"{query}\": {error}"))
        })?;
        if answer.text.trim().is_empty() {
            return Ok(ToolResult::text(
                format!("No search results or information found for query: \"{query}\""),
                "No information found.",
            ));
        }
        Ok(ToolResult::text(
            format!("Web search results for \"{query}\":\n\n{}", format_answer(&answer)),
            format!("Search results for \"{query}\" returned."),
        ))
    }
}

/// Formats the answer with the list of its sources below it.
fn format_answer(answer: &SearchAnswer) -> String {
    let mut text = answer.text.clone();
    if !answer.sources.is_empty() {
        text.push_str("\n\nSources:");
    }
    for (index, source) in answer.sources.iter().enumerate() {
        let uri = if source.uri.is_empty() { "no address" } else { &source.uri };
        text.push_str(&format!("\n[{}] {} ({uri})", index + 1, source.title));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_model::SearchSource;

    #[test]
    fn sources_are_listed_below_the_answer() {
        let source = |title: &str, uri: &str| SearchSource { title: title.into(), uri: uri.into() };
        let text = "Héllo.[1] World.[1][2]".to_owned();
        let answer = SearchAnswer { text, sources: vec![source("T", "u"), source("Untitled", "")], queries: vec![] };
        assert_eq!(format_answer(&answer), "Héllo.[1] World.[1][2]\n\nSources:\n[1] T (u)\n[2] Untitled (no address)");
    }
}
