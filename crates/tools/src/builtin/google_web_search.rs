//! `google_web_search`: asks the model's provider to search the web. The searching is done by whoever implements
//! [`WebSearch`]; this file has the tool around it and the form of the answer.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::ToolResult;
use crate::tool::{BoxFuture, Builtin};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Something that can search the web.
pub trait WebSearch: Send + Sync {
    /// Searches.
    fn search<'a>(
        &'a self,
        query: &'a str,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SearchAnswer, SearchError>>;
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    /// The answer, in words.
    pub text: String,
    /// Where it comes from.
    pub sources: Vec<Source>,
    /// Which part of the text comes from which source.
    pub citations: Vec<Citation>,
}

/// A page that an answer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its title.
    pub title: Option<String>,
    /// Its address.
    pub uri: Option<String>,
}

/// Says that the text before a place comes from some sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The place: a byte offset in the text.
    pub end: usize,
    /// Indexes of sources, counted from 0.
    pub sources: Vec<usize>,
}

/// A search that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SearchError {
    /// Why.
    pub message: String,
}

pub(crate) struct GoogleWebSearch(pub(crate) Arc<dyn WebSearch>);

#[derive(Deserialize)]
pub(crate) struct Args {
    query: String,
}

impl Builtin for GoogleWebSearch {
    type Args = Args;

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

    fn describe(&self, args: &Args) -> String {
        format!("Searching the web for: \"{}\"", args.query)
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        let query = args.query.trim();
        if query.is_empty() {
            return Err(ToolFailure::invalid("The 'query' parameter cannot be empty."));
        }
        let answer = tokio::select! {
            answer = self.0.search(query, &ctx.cancel) => answer,
            () = ctx.cancel.cancelled() => return Err(ToolFailure::cancelled()),
        };
        let answer = answer.map_err(|error| {
            ToolFailure::new(
                ToolErrorKind::WebSearchFailed,
                format!("Error during web search for query \"{query}\": {error}"),
            )
        })?;
        if answer.text.trim().is_empty() {
            return Ok(ToolResult::text(
                format!("No search results or information found for query: \"{query}\""),
                "No information found.",
            ));
        }
        Ok(ToolResult::text(
            format!("Web search results for \"{query}\":\n\n{}", answer.to_text()),
            format!("Search results for \"{query}\" returned."),
        ))
    }
}

impl SearchAnswer {
    /// The text with marks like `[1]` where sources are cited, and the list of sources below.
    fn to_text(&self) -> String {
        let mut text = self.text.clone();
        let mut citations: Vec<&Citation> = self.citations.iter().collect();
        citations.sort_by_key(|citation| std::cmp::Reverse(citation.end));
        for citation in citations {
            let marks: String = citation.sources.iter().map(|index| format!("[{}]", index + 1)).collect();
            // From the last to the first, so that earlier places stay where they are.
            text.insert_str(self.text.floor_char_boundary(citation.end), &marks);
        }
        if !self.sources.is_empty() {
            text.push_str("\n\nSources:");
            for (index, source) in self.sources.iter().enumerate() {
                let title = source.title.as_deref().unwrap_or("Untitled");
                let uri = source.uri.as_deref().unwrap_or("no address");
                text.push_str(&format!("\n[{}] {title} ({uri})", index + 1));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_go_where_they_belong() {
        let answer = SearchAnswer {
            text: "Héllo. World.".into(),
            sources: vec![Source { title: Some("T".into()), uri: Some("u".into()) }, Source { title: None, uri: None }],
            citations: vec![
                Citation { end: 7, sources: vec![0] },
                Citation { end: 999, sources: vec![0, 1] },
                Citation { end: 2, sources: vec![1] },
            ],
        };
        assert_eq!(answer.to_text(), "H[2]éllo.[1] World.[1][2]\n\nSources:\n[1] T (u)\n[2] Untitled (no address)");
    }
}
