//! A project in a temporary directory, and helpers to call tools in it.

use hookwright_testkit::fs;
use hookwright_tools::{
    OutputSink, ResultContent, ToolContext, ToolDisplay, ToolErrorKind, ToolResult, ToolSet, WebSearchSupport,
    Workspace,
};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub(crate) struct ToolTestProject {
    _dir: tempfile::TempDir,
    pub(crate) root: PathBuf,
    /// A directory next to the root, outside the workspace.
    pub(crate) outside: PathBuf,
    pub(crate) ctx: ToolContext,
    pub(crate) registry: ToolSet,
    pub(crate) live: Arc<Mutex<String>>,
}

impl ToolTestProject {
    pub(crate) fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, outside) = (base.join("project"), base.join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&outside).unwrap();
        let mut ctx = ToolContext::new(Workspace::new(&root, []).unwrap());
        let path = std::env::var_os("PATH").unwrap_or_default();
        ctx.environment = vec![(OsString::from("PATH"), path), ("GREETING".into(), "hi there".into())].into();
        let live = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&live);
        ctx.output = OutputSink::new(move |text| sink.lock().unwrap().push_str(text));
        Self { _dir: dir, root, outside, ctx, registry: ToolSet::builtin(WebSearchSupport::Unavailable), live }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Checks and runs a call, as an agent does.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        match self.registry.check_call(tool, &args) {
            Ok(tool) => {
                let run = tool.run(&args, &self.ctx);
                tokio::time::timeout(hookwright_testkit::deadline::wait_limit(), run).await.unwrap()
            }
            Err(failure) => failure.into(),
        }
    }

    /// Returns the text for the model; the call must succeed.
    pub(crate) async fn call_text(&self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args).await;
        assert_eq!(result.error, None);
        result_text(&result)
    }

    /// Returns the kind of failure and the text for the model; the call must fail.
    pub(crate) async fn call_failure(&self, tool: &str, args: Value) -> (ToolErrorKind, String) {
        let result = self.call(tool, args).await;
        let kind = result.error.as_ref().map(|failure| failure.kind);
        (kind.unwrap_or_else(|| panic!("{result:?}")), result_text(&result))
    }

    pub(crate) async fn preview(&self, tool: &str, args: Value) -> Option<ToolDisplay> {
        self.registry.get(tool).unwrap().preview(&args, &self.ctx).await
    }
}

pub(crate) fn result_text(result: &ToolResult) -> String {
    match &result.llm_content {
        ResultContent::Text(text) => text.clone(),
        parts @ ResultContent::Parts(_) => parts.to_text(),
    }
}
