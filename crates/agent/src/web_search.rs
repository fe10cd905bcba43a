//! Web search for a tool call: a request to the model's provider, which passes the model gateway like any other.

use std::fmt;
use std::sync::Arc;

use hookwright_hooks::Purpose;
use hookwright_model::{Cancel, SearchAnswer, parse_search, search_request};
use hookwright_tools::{BoxFuture, ToolErrorKind, WebSearch, WebSearchError};

use crate::model_gateway::{self, AnswerDelivery, ModelAnswer};
use crate::scope::TurnScope;
use crate::services::Services;

/// Searches the web for one call.
pub(crate) struct ModelWebSearch {
    pub(crate) services: Arc<Services>,
    pub(crate) scope: TurnScope,
}

impl fmt::Debug for ModelWebSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Search")
    }
}

impl WebSearch for ModelWebSearch {
    fn search<'a>(&'a self, query: &'a str, cancel: &'a Cancel) -> BoxFuture<'a, Result<SearchAnswer, WebSearchError>> {
        let scope = TurnScope { cancel: cancel.clone(), ..self.scope.clone() };
        Box::pin(async move {
            let request = search_request(&self.services.model.name(), query);
            let (kind, message) = match model_gateway::ask_model(
                &self.services,
                request,
                AnswerDelivery::Silent(Purpose::Search),
                &mut None,
                &scope,
            )
            .await
            {
                ModelAnswer::Complete(answer, _) => return Ok(parse_search(&answer)),
                ModelAnswer::Denied(reason) => (ToolErrorKind::PolicyViolation, format!("a hook refused it: {reason}")),
                ModelAnswer::Stopped(reason, _) => (ToolErrorKind::StopExecution, reason),
                ModelAnswer::Cancelled(_) => (ToolErrorKind::Cancelled, "Cancelled".to_owned()),
                ModelAnswer::Loop(reason, _) => (ToolErrorKind::WebSearchFailed, reason),
                ModelAnswer::Failed(error, _) => (ToolErrorKind::WebSearchFailed, error.to_string()),
            };
            Err(WebSearchError { kind, message })
        })
    }
}
