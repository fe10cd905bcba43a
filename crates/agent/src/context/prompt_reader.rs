//! Reads files and resources for a prompt, through tools that pass hooks and approval rules like any call.
//!
//! `prompt_mentions.rs` and custom commands decide what is read and how it is put into the prompt.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hookwright_hooks::{Attachment, AttachmentKind, RequestedBy};
use hookwright_tools::{ToolContext, ToolSet, WebSearchSupport};
use serde_json::{Map, Value};

use crate::call::prompt_tools::{self, PromptToolCall, PromptToolError, PromptToolOutput, UserConsent, Visibility};
use crate::scope::TurnScope;
use crate::services::Services;

/// A runner of reading tools.
pub(crate) trait PromptReader: Sync {
    /// Runs a reading tool with these arguments.
    fn read(
        &self,
        tool: &'static str,
        args: Value,
    ) -> impl Future<Output = Result<PromptToolOutput, PromptToolError>> + Send;

    /// Returns the context that the tools run with.
    fn context(&self) -> &ToolContext;
}

/// The tool that reads resources of MCP servers.
pub(crate) const READ_RESOURCE_TOOL: &str = "read_mcp_resource";

/// Reads with hooks and approval rules applied.
pub(crate) struct HookedReader<'a> {
    services: &'a Arc<Services>,
    context: ToolContext,
    /// The built-in tools, created on first use: settings restrict what the
    /// model may call, not what the user may attach.
    tools: OnceLock<Arc<ToolSet>>,
    requested_by: RequestedBy,
    scope: &'a TurnScope,
}

impl<'a> HookedReader<'a> {
    pub(crate) fn new(services: &'a Arc<Services>, requested_by: RequestedBy, scope: &'a TurnScope) -> Self {
        let context = ToolContext { cancel: scope.cancel.clone(), ..services.call_context() };
        HookedReader { services, context, tools: OnceLock::new(), requested_by, scope }
    }
}

impl PromptReader for HookedReader<'_> {
    async fn read(&self, tool: &'static str, args: Value) -> Result<PromptToolOutput, PromptToolError> {
        let tools = || Arc::new(ToolSet::builtin(WebSearchSupport::Unavailable));
        let wanted = PromptToolCall {
            id: format!("read-{}", uuid::Uuid::new_v4()),
            tool,
            args: into_object(args),
            requested_by: self.requested_by,
            consent: UserConsent::Given,
            visibility: Visibility::Hidden(None),
            // MCP tools come from the session's present tools, as servers come and go.
            tools: (tool != READ_RESOURCE_TOOL).then(|| self.tools.get_or_init(tools).clone()),
        };
        prompt_tools::run_prompt_call(self.services, wanted, self.scope).await
    }

    fn context(&self) -> &ToolContext {
        &self.context
    }
}

pub(crate) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns the attachment that hooks are shown before a path is read.
pub(crate) fn attachment_for(path: &Path) -> Attachment {
    let metadata = path.metadata().ok();
    let is_directory = metadata.as_ref().is_some_and(std::fs::Metadata::is_dir);
    Attachment {
        path: path.display().to_string(),
        kind: if is_directory { AttachmentKind::Directory } else { AttachmentKind::File },
        size: metadata.filter(|_| !is_directory).map(|metadata| metadata.len()),
    }
}

/// Reads without hooks, for tests of what is read.
#[cfg(test)]
pub(crate) struct UnhookedReader(pub(crate) ToolContext);

#[cfg(test)]
impl PromptReader for UnhookedReader {
    async fn read(&self, tool: &'static str, args: Value) -> Result<PromptToolOutput, PromptToolError> {
        if self.0.cancel.is_cancelled() {
            return Err(PromptToolError::Cancelled);
        }
        let tools = ToolSet::builtin(WebSearchSupport::Unavailable);
        let result = tools.get(tool).unwrap().run(&args, &self.0).await;
        match result.error {
            Some(failure) => Err(PromptToolError::Failed(failure)),
            None => {
                Ok(PromptToolOutput { result, is_hidden: false, added_context: None, is_from_requested_tool: true })
            }
        }
    }

    fn context(&self) -> &ToolContext {
        &self.0
    }
}
