//! Tools whose behaviour a test defines.

use std::sync::{Arc, Mutex};

use hookwright_tools::{BoxFuture, Declaration, Tool, ToolContext, ToolKind, ToolResult};
use serde_json::{Value, json};

type TestToolFn = dyn Fn(Value, ToolContext) -> BoxFuture<'static, String> + Send + Sync;

/// A tool with one optional argument, `text`.
pub(crate) struct TestTool {
    name: &'static str,
    kind: ToolKind,
    run: Box<TestToolFn>,
}

impl TestTool {
    /// Creates a tool that answers with the function's result.
    pub(crate) fn new_tool<F, Fut>(name: &'static str, kind: ToolKind, run: F) -> Arc<dyn Tool>
    where
        F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = String> + Send + 'static,
    {
        Arc::new(TestTool { name, kind, run: Box::new(move |args, context| Box::pin(run(args, context))) })
    }

    /// Creates a tool that returns its argument.
    pub(crate) fn echo(name: &'static str, kind: ToolKind) -> Arc<dyn Tool> {
        TestTool::new_tool(
            name,
            kind,
            |args, _| async move { format!("heard {}", args["text"].as_str().unwrap_or("")) },
        )
    }
}

impl Tool for TestTool {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self) -> ToolKind {
        self.kind
    }

    fn declaration(&self) -> Declaration {
        let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        Declaration { name: self.name.to_owned(), description: "for tests".to_owned(), parameters }
    }

    fn describe(&self, args: &Value) -> String {
        args.to_string()
    }

    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let run = (self.run)(args.clone(), ctx.clone());
        Box::pin(async move {
            let text = run.await;
            ToolResult::text(text.clone(), text)
        })
    }
}

/// Returns a shared log and a function that appends to it.
pub(crate) fn shared_log() -> (Arc<Mutex<Vec<String>>>, impl Fn(&str) + Clone + Send + Sync + 'static) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let noted = log.clone();
    (log, move |what: &str| noted.lock().unwrap().push(what.to_owned()))
}
