//! Web search through a model whose provider can search: the request, and the parser of its answer.
//! It is an ordinary request, so recordings contain it and replays answer it. The caller sends it.

use std::sync::Arc;

use serde::Deserialize;

use crate::conversation::Content;
use crate::request::{Grounding, ModelRequest};
use crate::response::Chunk;

/// The answer of a web search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchAnswer {
    /// The answer, with `[1]` after text that is based on the first source.
    pub text: String,
    /// The pages that the answer is based on.
    pub sources: Vec<SearchSource>,
    /// The queries that the provider searched for.
    pub queries: Vec<String>,
}

/// A web page that the answer is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchSource {
    /// The title of the page.
    pub title: String,
    /// The address of the page.
    pub uri: String,
}

/// Creates a request that searches the web. Providers that cannot search refuse it.
pub fn search_request(model: &str, query: &str) -> ModelRequest {
    let mut request = ModelRequest::new(model, vec![Arc::new(Content::user_text(query))]);
    request.grounding = Grounding::GoogleSearch;
    request
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GroundingMetadata {
    grounding_chunks: Vec<GroundingPage>,
    grounding_supports: Vec<GroundingSupport>,
    web_search_queries: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GroundingPage {
    web: Option<GroundingWeb>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GroundingWeb {
    title: Option<String>,
    uri: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GroundingSupport {
    segment: GroundingSegment,
    grounding_chunk_indices: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GroundingSegment {
    /// A byte offset in the text.
    end_index: usize,
}

/// Parses the answer to a [`search_request`].
pub fn parse_search(answer: &Chunk) -> SearchAnswer {
    // The answer is useful even if its sources cannot be parsed.
    let metadata: GroundingMetadata =
        answer.grounding.as_ref().and_then(|value| GroundingMetadata::deserialize(value).ok()).unwrap_or_default();
    let sources = metadata.grounding_chunks.into_iter().map(|page| {
        let web = page.web.unwrap_or_default();
        SearchSource { title: web.title.unwrap_or_else(|| "Untitled".to_owned()), uri: web.uri.unwrap_or_default() }
    });
    SearchAnswer {
        text: insert_citations(answer.text(), metadata.grounding_supports),
        sources: sources.collect(),
        queries: metadata.web_search_queries,
    }
}

/// Inserts the citation marks from the end, so that earlier offsets stay valid.
fn insert_citations(mut text: String, mut supports: Vec<GroundingSupport>) -> String {
    supports.sort_by_key(|support| std::cmp::Reverse(support.segment.end_index));
    for support in supports {
        let at = text.floor_char_boundary(support.segment.end_index);
        let marks = support.grounding_chunk_indices.iter().map(|index| format!("[{}]", index + 1));
        text.insert_str(at, &marks.collect::<String>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_inserted_at_byte_offsets() {
        let answer: Chunk = serde_json::from_str(
            r#"{"candidates":[{"content":{"parts":[{"text":"Grün. Rot."}]},"groundingMetadata":{
                "webSearchQueries":["farben"],
                "groundingChunks":[{"web":{"title":"A","uri":"https://a.test"}},{"web":{"uri":"https://b.test"}}],
                "groundingSupports":[
                    {"segment":{"startIndex":0,"endIndex":6},"groundingChunkIndices":[0]},
                    {"segment":{"endIndex":99},"groundingChunkIndices":[0,1]}]}}]}"#,
        )
        .unwrap();
        let found = parse_search(&answer);
        assert_eq!(found.text, "Grün.[1] Rot.[1][2]");
        assert_eq!(found.sources[0], SearchSource { title: "A".into(), uri: "https://a.test".into() });
        assert_eq!(found.sources[1].title, "Untitled");
        assert_eq!(found.queries, ["farben"]);
    }

    #[test]
    fn an_answer_without_sources_is_kept() {
        assert_eq!(parse_search(&Chunk::from_text("x")).text, "x");
    }
}
