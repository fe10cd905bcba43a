//! The object-safe [`Tool`] trait of all tools, and the typed form in which built-in tools are written.

use crate::catalog::BuiltinInfo;
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::mcp::McpToolOrigin;
use crate::result::{ToolDisplay, ToolResult};
/// The declaration of a tool for the model.
pub use hookwright_model::ToolDeclaration as Declaration;
use hookwright_process::ProcessBudget;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// A boxed future, so that [`Tool`] can be used as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The effect of a tool. Approval and parallel execution depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum ToolKind {
    /// It reads files of the workspace.
    Read,
    /// It searches the workspace, or the web through the model's provider.
    Search,
    /// It changes files.
    Edit,
    /// It runs programs.
    Execute,
    /// It accesses the network.
    Fetch,
    /// It changes only the agent's notes about its work.
    Think,
    /// It runs a sub-agent, whose calls are checked one by one.
    Agent,
    /// It may do anything else.
    Other,
}

impl ToolKind {
    /// Returns whether a call changes nothing, and may run without approval and in parallel with others of this sort.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Read | Self::Search | Self::Think | Self::Agent)
    }

    /// Returns the lowercase name used in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Execute => "execute",
            Self::Fetch => "fetch",
            Self::Think => "think",
            Self::Agent => "agent",
            Self::Other => "other",
        }
    }
}

/// A tool that the model can call.
///
/// Arguments are expected to have passed [`crate::validate_arguments`]; with others a tool fails with
/// `invalid_tool_params` and never panics.
pub trait Tool: Send + Sync {
    /// Returns the canonical name.
    fn name(&self) -> &str;

    /// Returns a short name for the user.
    fn display_name(&self) -> &str {
        self.name()
    }

    /// Returns the effect of the tool.
    fn kind(&self) -> ToolKind;

    /// Returns the declaration for the model. Called once, when the tool is registered.
    fn declaration(&self) -> Declaration;

    /// Describes in one line what this call would do: the command, the path.
    fn describe(&self, args: &Value) -> String;

    /// Returns for an MCP tool the server and how it is reached, for hooks. It contains no secrets: neither headers nor
    /// variables.
    fn mcp_context(&self) -> Option<Value> {
        None
    }

    /// Returns for an MCP tool its server and its name there.
    fn mcp_origin(&self) -> Option<&McpToolOrigin> {
        None
    }

    /// Returns the name of the MCP server that a call reads from, for a tool that belongs to no server.
    fn source_server(&self, _args: &Value) -> Option<String> {
        None
    }

    /// Returns what an edit would change, for an approval prompt; `None` if there is nothing to show or the call would
    /// fail.
    fn preview<'a>(&'a self, _args: &'a Value, _ctx: &'a ToolContext) -> BoxFuture<'a, Option<ToolDisplay>> {
        Box::pin(async { None })
    }

    /// Runs the call. A failure is part of the result.
    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult>;
}

/// The form in which built-in tools are written: typed arguments, native `async fn`, `Result`.
pub(crate) trait BuiltinTool: Send + Sync + 'static {
    type Args: DeserializeOwned + Send;

    fn info(&self) -> &'static BuiltinInfo;
    fn description(&self) -> String;
    fn parameters(&self) -> Value;
    fn describe(&self, args: &Self::Args) -> String;

    fn preview(&self, _args: Self::Args, _ctx: &ToolContext) -> impl Future<Output = Option<ToolDisplay>> + Send {
        async { None }
    }

    fn run(&self, args: Self::Args, ctx: &ToolContext) -> impl Future<Output = Result<ToolResult, ToolFailure>> + Send;
}

/// Adapts a [`BuiltinTool`] to [`Tool`].
pub(crate) struct BuiltinAdapter<T>(pub(crate) T);

fn parse<T: DeserializeOwned>(args: &Value) -> Result<T, ToolFailure> {
    T::deserialize(args).map_err(|error| ToolFailure::invalid_params(format!("params: {error}")))
}

impl<T: BuiltinTool> Tool for BuiltinAdapter<T> {
    fn name(&self) -> &str {
        self.0.info().name
    }

    fn display_name(&self) -> &str {
        self.0.info().display_name
    }

    fn kind(&self) -> ToolKind {
        self.0.info().kind
    }

    fn declaration(&self) -> Declaration {
        Declaration { name: self.name().to_owned(), description: self.0.description(), parameters: self.0.parameters() }
    }

    fn describe(&self, args: &Value) -> String {
        match parse::<T::Args>(args) {
            Ok(args) => one_line(&self.0.describe(&args), 200),
            Err(_) => one_line(&args.to_string(), 200),
        }
    }

    fn preview<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Option<ToolDisplay>> {
        Box::pin(async move { self.0.preview(parse(args).ok()?, ctx).await })
    }

    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            if ctx.cancel.is_cancelled() {
                return ToolFailure::cancelled().into();
            }
            match parse(args) {
                Ok(args) => self.0.run(args, ctx).await.unwrap_or_else(ToolResult::from),
                Err(failure) => failure.into(),
            }
        })
    }
}

/// Runs blocking work on a separate thread. Dropping the future does not stop the work, so the closure should check the
/// cancellation token in its loops.
pub(crate) async fn run_blocking<R: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<R, ToolFailure> + Send + 'static,
) -> Result<R, ToolFailure> {
    // The number of threads is limited; the work on them waits only for files.
    let permit = tokio::select! {
        permit = ProcessBudget::global().jobs.acquire() => permit,
        () = ctx.cancel.cancelled() => return Err(ToolFailure::cancelled()),
    };
    let ctx = ctx.clone();
    let work = move || {
        let _permit = permit;
        work(&ctx)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(ToolFailure::new(
            crate::ToolErrorKind::UnhandledException,
            format!("the tool's work ended unexpectedly: {error}"),
        )),
    }
}

/// Returns `text` as one line of at most `limit` characters.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(limit) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Deserialises an optional whole number, also if it is written as `3.0`, as some models do.
pub(crate) fn lenient_u64<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    use serde::Deserialize;
    match Option::<serde_json::Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 && float < 9e15 => Ok(Some(float as u64)),
            _ => Err(serde::de::Error::custom(format!("{number} is not a whole number of 0 or more"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[test]
    fn one_line_joins_and_cuts() {
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
        assert_eq!(one_line("ééééé", 3), "ééé…");
        assert_eq!(one_line("", 3), "");
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        #[derive(Deserialize)]
        struct LenientArgs {
            #[serde(default, deserialize_with = "lenient_u64")]
            n: Option<u64>,
        }
        let n = |text: &str| serde_json::from_str::<LenientArgs>(text).map(|args| args.n);
        assert_eq!(n("{}").unwrap(), None);
        assert_eq!(n(r#"{"n": 3}"#).unwrap(), Some(3));
        assert_eq!(n(r#"{"n": 3.0}"#).unwrap(), Some(3));
        assert_eq!(n(r#"{"n": null}"#).unwrap(), None);
        for bad in [r#"{"n": 3.5}"#, r#"{"n": -1}"#, r#"{"n": 1e300}"#, r#"{"n": "3"}"#] {
            assert!(n(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_kinds_without_changes_are_harmless() {
        assert!(ToolKind::Read.is_harmless() && ToolKind::Search.is_harmless() && ToolKind::Think.is_harmless());
        for kind in [ToolKind::Edit, ToolKind::Execute, ToolKind::Fetch, ToolKind::Other] {
            assert!(!kind.is_harmless(), "{}", kind.as_str());
        }
    }
}
