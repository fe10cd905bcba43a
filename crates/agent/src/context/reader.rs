//! Who reads for a prompt: the tools, past hooks and rules like any call. What is read and how it is put into the prompt
//! is up to `prompt.rs` and to custom commands.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hookwright_hooks::{Attachment, AttachmentKind, RequestedBy};
use hookwright_tools::{ToolContext, ToolSet, WebSearching};
use serde_json::{Map, Value};

use crate::call::wanted::{self, Consent, Given, NotRun, Voice, Wanted};
use crate::scope::Scope;
use crate::services::Services;

/// Something that runs a reading tool.
pub(crate) trait Reader: Sync {
    /// Reads.
    fn read(&self, tool: &'static str, args: Value) -> impl Future<Output = Result<Given, NotRun>> + Send;

    /// What the tools may use.
    fn context(&self) -> &ToolContext;
}

/// Reads what MCP servers hold.
pub(crate) const READ_RESOURCE: &str = "read_mcp_resource";

/// Reads past hooks and rules.
pub(crate) struct Hooked<'a> {
    services: &'a Arc<Services>,
    context: ToolContext,
    /// Settings narrow what the model may call, not what the user may show it. Most prompts have nothing read.
    tools: OnceLock<Arc<ToolSet>>,
    requested_by: RequestedBy,
    scope: &'a Scope,
}

impl<'a> Hooked<'a> {
    pub(crate) fn new(services: &'a Arc<Services>, requested_by: RequestedBy, scope: &'a Scope) -> Self {
        let context = ToolContext { cancel: scope.cancel.clone(), ..services.context() };
        Hooked { services, context, tools: OnceLock::new(), requested_by, scope }
    }
}

impl Reader for Hooked<'_> {
    async fn read(&self, tool: &'static str, args: Value) -> Result<Given, NotRun> {
        let tools = || Arc::new(ToolSet::builtin(WebSearching::Impossible));
        let wanted = Wanted {
            id: format!("read-{}", uuid::Uuid::new_v4()),
            tool,
            args: object(args),
            requested_by: self.requested_by,
            consent: Consent::Given,
            voice: Voice::Quiet(None),
            // Those of servers come and go.
            tools: (tool != READ_RESOURCE).then(|| self.tools.get_or_init(tools).clone()),
        };
        wanted::run(self.services, wanted, self.scope).await
    }

    fn context(&self) -> &ToolContext {
        &self.context
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What hooks are told of something before it is read.
pub(crate) fn attachment(path: &Path) -> Attachment {
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
pub(crate) struct Straight(pub(crate) ToolContext);

#[cfg(test)]
impl Reader for Straight {
    async fn read(&self, tool: &'static str, args: Value) -> Result<Given, NotRun> {
        if self.0.cancel.is_cancelled() {
            return Err(NotRun::Cancelled);
        }
        let tools = ToolSet::builtin(WebSearching::Impossible);
        let result = tools.get(tool).unwrap().run(&args, &self.0).await;
        match result.error {
            Some(failure) => Err(NotRun::Failed(failure)),
            None => Ok(Given { result, is_hidden: false, added: None, is_its_own: true }),
        }
    }

    fn context(&self) -> &ToolContext {
        &self.0
    }
}
