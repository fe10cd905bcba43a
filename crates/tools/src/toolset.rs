//! An ordered set of tools: finds and lists them and checks arguments. It never runs a tool.

use crate::builtin;
use crate::builtin::WebSearchSupport;
use crate::catalog::canonical_name;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::schema;
use crate::tool::{Declaration, Tool};
use hookwright_hooks::{McpToolName, matches_wildcard};
use serde_json::Value;
use std::sync::Arc;

/// An ordered set of tools.
#[derive(Default, Clone)]
pub struct ToolSet {
    entries: Vec<ToolSetEntry>,
}

#[derive(Clone)]
struct ToolSetEntry {
    tool: Arc<dyn Tool>,
    declaration: Arc<Declaration>,
}

/// Selects tools by name. Aliases count too. A name with a restriction in parentheses, as in `run_shell_command(git)`,
/// allows the tool when it is in `allowed`, and excludes nothing when it is in `exclude`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNameFilter {
    /// The only tools that are allowed, if given.
    pub allowed: Option<Vec<String>>,
    /// The tools that are excluded.
    pub exclude: Vec<String>,
}

impl ToolNameFilter {
    /// Returns whether a tool is selected.
    pub fn includes(&self, tool: &dyn Tool) -> bool {
        let excluded = |mcp: McpToolName<'_>| self.exclude.iter().any(|listed| mcp.may_match(listed.trim()));
        let excluded = tool.mcp_origin().is_some_and(|of| excluded(of.mcp_name(tool.name())));
        !excluded && self.includes_name(tool.name())
    }

    fn includes_name(&self, name: &str) -> bool {
        let means = |listed: &str| is_same_tool(listed, name) || names_tool_by_wildcard(listed, name);
        let allowed = self
            .allowed
            .as_ref()
            .is_none_or(|names| names.iter().any(|listed| means(listed.split('(').next().unwrap_or(listed).trim())));
        // For exclusion the tool names of other agents count too.
        let meant = |listed: &str| hookwright_hooks::tools_named(listed).any(|tool| tool == name);
        allowed && !self.exclude.iter().any(|listed| means(listed.trim()) || meant(listed.trim()))
    }
}

/// The error of registering a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The name is taken.
    #[error("there is already a tool named {name}")]
    Duplicate { name: String },
}

impl ToolSet {
    /// Creates a set of all built-in tools; `google_web_search` only if web search is available.
    pub fn builtin(searching: WebSearchSupport) -> Self {
        let mut registry = Self::default();
        for tool in builtin::builtin_tools(searching) {
            registry.push(tool);
        }
        registry
    }

    /// Adds a tool at the end.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        if self.get(tool.name()).is_some() {
            return Err(RegisterError::Duplicate { name: tool.name().to_owned() });
        }
        self.push(tool);
        Ok(())
    }

    fn push(&mut self, tool: Arc<dyn Tool>) {
        let declaration = Arc::new(tool.declaration());
        self.entries.push(ToolSetEntry { tool, declaration });
    }

    /// Removes all tools for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(&dyn Tool) -> bool) {
        self.entries.retain(|entry| keep(entry.tool.as_ref()));
    }

    /// Removes all tools that are not selected.
    pub fn select(&mut self, selection: &ToolNameFilter) {
        self.retain(|tool| selection.includes(tool));
    }

    /// Returns the tool with this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    fn entry(&self, name: &str) -> Option<&ToolSetEntry> {
        self.entries.iter().find(|entry| is_same_tool(name, entry.tool.name()))
    }

    /// Returns all tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// Returns all canonical names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.tool.name())
    }

    /// Returns the declarations for the model, in order. They are created once and shared.
    pub fn declarations(&self) -> impl Iterator<Item = &Arc<Declaration>> {
        self.entries.iter().map(|entry| &entry.declaration)
    }

    /// Finds the tool and checks the arguments against its schema, before anything else happens with the call.
    pub fn check_call(&self, name: &str, args: &Value) -> Result<&Arc<dyn Tool>, ToolFailure> {
        let entry = self.entry(name).ok_or_else(|| self.unknown_tool(name))?;
        schema::validate(&entry.declaration.parameters, args).map_err(ToolFailure::invalid_params)?;
        Ok(&entry.tool)
    }

    fn unknown_tool(&self, name: &str) -> ToolFailure {
        let failure =
            ToolFailure::new(ToolErrorKind::ToolNotRegistered, format!("Tool \"{name}\" not found in registry."));
        let nearest = self
            .names()
            .map(|known| (strsim::jaro_winkler(known, name), known))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match nearest {
            Some((_, known)) => failure.hint(format!("Did you mean \"{known}\"?")),
            None => failure.hint(format!("The tools are: {}", self.names().collect::<Vec<_>>().join(", "))),
        }
    }
}

/// Returns whether a listed name with `*` matches this tool, for MCP tools in both spellings.
fn names_tool_by_wildcard(listed: &str, name: &str) -> bool {
    let single = || name.strip_prefix("mcp__").map(|rest| format!("mcp_{}", rest.replacen("__", "_", 1)));
    listed.contains('*')
        && (matches_wildcard(name, listed) || single().is_some_and(|single| matches_wildcard(&single, listed)))
}

/// Returns whether `asked` names the tool `name`: by its name, an alias, or an MCP tool's spelling with single
/// underscores.
fn is_same_tool(asked: &str, name: &str) -> bool {
    if asked == name || canonical_name(asked) == name {
        return true;
    }
    let (Some(asked), Some(name)) = (asked.strip_prefix("mcp_"), name.strip_prefix("mcp__")) else { return false };
    name.match_indices("__").any(|(at, _)| {
        asked.len() == name.len() - 1
            && asked.get(..at) == Some(&name[..at])
            && asked.get(at..at + 1) == Some("_")
            && asked.get(at + 1..) == Some(&name[at + 2..])
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::catalog::BUILTINS;
    use crate::context::ToolContext;
    use crate::result::ToolResult;
    use crate::tool::{BoxFuture, ToolKind};
    use serde_json::json;

    pub(crate) struct FakeRemoteTool(pub(crate) &'static str);

    impl Tool for FakeRemoteTool {
        fn name(&self) -> &str {
            self.0
        }
        fn kind(&self) -> ToolKind {
            ToolKind::Other
        }
        fn declaration(&self) -> Declaration {
            Declaration { name: self.0.into(), description: String::new(), parameters: json!({}) }
        }
        fn describe(&self, args: &Value) -> String {
            args.to_string()
        }
        fn run<'a>(&'a self, _: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
            Box::pin(async { ToolResult::text("remote", "") })
        }
    }

    #[test]
    fn the_built_in_tools_are_those_of_the_table() {
        let registry = ToolSet::builtin(WebSearchSupport::Unavailable);
        let expected: Vec<&str> =
            BUILTINS.iter().map(|tool| tool.name).filter(|name| *name != "google_web_search").collect();
        assert_eq!(registry.names().collect::<Vec<_>>(), expected);
        for declaration in registry.declarations() {
            assert!(!declaration.description.is_empty(), "{}", declaration.name);
            assert_eq!(declaration.parameters["type"], "object", "{}", declaration.name);
        }
    }

    #[test]
    fn older_names_find_the_tool() {
        let registry = ToolSet::builtin(WebSearchSupport::Unavailable);
        for (asked, name) in [("grep_search", "search_file_content"), ("EditTool", "replace"), ("glob", "glob")] {
            assert_eq!(registry.get(asked).map(|tool| tool.name()), Some(name));
        }
        assert!(registry.get("no_such_tool").is_none());
    }

    #[test]
    fn tools_can_come_and_go() {
        let mut registry = ToolSet::builtin(WebSearchSupport::Unavailable);
        registry.register(Arc::new(FakeRemoteTool("mcp__git_hub__list__all"))).unwrap();
        let duplicate = registry.register(Arc::new(FakeRemoteTool("read_file"))).unwrap_err();
        assert_eq!(duplicate.to_string(), "there is already a tool named read_file");
        assert!(registry.get("mcp_git_hub_list__all").is_some());
        assert!(registry.get("mcp_git_hub__list_all").is_some());
        assert!(registry.get("mcp_git_hub_list_all").is_none());
        assert!(registry.get("mcp_git_hüb_list__al").is_none());
        registry.retain(|tool| !tool.name().starts_with("mcp__"));
        assert!(registry.get("mcp__git_hub__list__all").is_none());
    }

    #[test]
    fn a_selection_narrows() {
        let names = |selection: ToolNameFilter| {
            let mut registry = ToolSet::builtin(WebSearchSupport::Unavailable);
            registry.select(&selection);
            registry.names().map(str::to_owned).collect::<Vec<_>>()
        };
        let allowed = Some(vec!["ReadFileTool".to_owned(), "run_shell_command(git)".into(), "glob".into()]);
        let exclude = vec!["glob".to_owned(), "run_shell_command(rm)".into()];
        assert_eq!(names(ToolNameFilter { allowed, exclude }), ["read_file", "run_shell_command"]);
        assert!(names(ToolNameFilter { allowed: Some(vec![]), exclude: vec![] }).is_empty());
        assert_eq!(names(ToolNameFilter::default()).len(), BUILTINS.len() - 1);
    }

    #[test]
    fn a_selection_knows_wildcards() {
        let includes = |exclude: &str, name: &str| {
            ToolNameFilter { allowed: None, exclude: vec![exclude.to_owned()] }.includes_name(name)
        };
        for wild in ["mcp__srv__*", "mcp_srv_*", "mcp__*", "mcp_*", "*", "*write", "mcp__s*__w*e"] {
            assert!(!includes(wild, "mcp__srv__write"), "{wild}");
        }
        for other in ["mcp__sr__*", "mcp__srv__*x", "read_*", ""] {
            assert!(includes(other, "mcp__srv__write"), "{other}");
        }
    }

    #[test]
    fn calls_are_checked() {
        let registry = ToolSet::builtin(WebSearchSupport::Unavailable);
        assert!(registry.check_call("read_file", &json!({ "file_path": "a" })).is_ok());
        let fault = registry.check_call("read_file", &json!({})).err().unwrap();
        assert_eq!(fault.kind, ToolErrorKind::InvalidToolParams);
        assert_eq!(fault.message, "params must have required property 'file_path'");
        let unknown = registry.check_call("raed_file", &json!({})).err().unwrap();
        assert_eq!(unknown.kind, ToolErrorKind::ToolNotRegistered);
        assert_eq!(unknown.hint.as_deref(), Some("Did you mean \"read_file\"?"));
    }
}
