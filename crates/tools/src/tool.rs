//! What a tool is: the object-safe [`Tool`] trait that agents and runtime-registered tools share, and the typed form
//! the built-in ones are written in. Says nothing about any particular tool.

use crate::catalog::BuiltinInfo;
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::mcp::McpToolOrigin;
use crate::result::{ToolDisplay, ToolResult};
/// What the model is told about a tool.
pub use hookwright_model::ToolDeclaration as Declaration;
use hookwright_process::ProcessBudget;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// A boxed future, so that [`Tool`] can be used as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool does to the world. Approval and parallelism are decided from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Reads what is in the workspace.
    Read,
    /// Looks for something, in the workspace or through the model's provider.
    Search,
    /// Changes files.
    Edit,
    /// Runs programs.
    Execute,
    /// Talks to the network.
    Fetch,
    /// Only changes what the agent knows of its own work.
    Think,
    /// Lets another agent work, each of whose calls is judged by itself.
    Agent,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// True if a call changes nothing and may run unasked, beside others of its sort.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Read | Self::Search | Self::Think | Self::Agent)
    }

    /// The lowercase word used in machine-readable output.
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

/// Something the model can call.
///
/// Arguments are expected to have passed [`crate::validate_arguments`]; a tool given others fails with
/// `invalid_tool_params`, it never panics.
pub trait Tool: Send + Sync {
    /// The canonical name.
    fn name(&self) -> &str;

    /// A short name for cards and prompts.
    fn display_name(&self) -> &str {
        self.name()
    }

    /// What it does to the world.
    fn kind(&self) -> ToolKind;

    /// What the model is told. Called once, when the tool is registered.
    fn declaration(&self) -> Declaration;

    /// One line that says what this call would do: the command, the path.
    fn describe(&self, args: &Value) -> String;

    /// For a tool of an MCP server: which one, and how it is reached, as hooks are told. No secrets: neither headers nor
    /// variables.
    fn mcp_context(&self) -> Option<Value> {
        None
    }

    /// For a tool of an MCP server: which one it is there.
    fn mcp_origin(&self) -> Option<&McpToolOrigin> {
        None
    }

    /// The MCP server that a call which is no tool of it reads from, by its name.
    fn source_server(&self, _args: &Value) -> Option<String> {
        None
    }

    /// What an edit would change, for an approval prompt. `None` where there is nothing to show, also when the call
    /// would fail.
    fn preview<'a>(&'a self, _args: &'a Value, _ctx: &'a ToolContext) -> BoxFuture<'a, Option<ToolDisplay>> {
        Box::pin(async { None })
    }

    /// Does it. Failure is part of the result.
    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult>;
}

/// The form built-in tools are written in: typed arguments, native `async fn`, `Result`.
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

/// Turns a [`BuiltinTool`] into a [`Tool`].
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

/// Runs file work off the async threads. Dropping the future leaves the work to finish unseen, so the closure should
/// look at the cancellation token where it loops.
pub(crate) async fn run_blocking<R: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<R, ToolFailure> + Send + 'static,
) -> Result<R, ToolFailure> {
    // Only so many threads; what they do waits for nothing but files.
    let place = tokio::select! {
        place = ProcessBudget::global().jobs.acquire() => place,
        () = ctx.cancel.cancelled() => return Err(ToolFailure::cancelled()),
    };
    let ctx = ctx.clone();
    let work = move || {
        let _place = place;
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

/// `text` on one line and at most `limit` characters long.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(limit) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Deserializes an optional whole number, also when it is written `3.0` as some models do.
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
    fn only_looking_is_harmless() {
        assert!(ToolKind::Read.is_harmless() && ToolKind::Search.is_harmless() && ToolKind::Think.is_harmless());
        for kind in [ToolKind::Edit, ToolKind::Execute, ToolKind::Fetch, ToolKind::Other] {
            assert!(!kind.is_harmless(), "{}", kind.as_str());
        }
    }
}
