//! The tools of a session as they are by now: built-in ones, and those that others bring and take away while it runs.
//! Holds them; never runs a tool.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::tool::Tool;
use crate::toolset::{ToolNameFilter, ToolSet};

/// Who brings tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolSource {
    /// The skills that can be activated.
    Skills,
    /// The agents that can be delegated to.
    Agents,
    /// What all MCP servers have in common, such as reading their resources.
    Servers,
    /// One MCP server, by its name.
    Server(String),
}

impl ToolSource {
    /// Whether what it brings is part of the program, and so among the tools that `tools.core` speaks of.
    fn is_core(&self) -> bool {
        !matches!(self, ToolSource::Server(_))
    }
}

impl fmt::Display for ToolSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolSource::Skills => out.write_str("skills"),
            ToolSource::Agents => out.write_str("agents"),
            ToolSource::Servers => out.write_str("MCP servers"),
            ToolSource::Server(name) => write!(out, "MCP server {name}"),
        }
    }
}

/// Tools that may change at any time. Whoever works with them takes those of one moment, and stays with them: what was
/// judged is what runs.
pub struct Toolbox {
    state: RwLock<ToolboxState>,
    /// What it is a share of, if it is one.
    parent_share: Option<ToolboxShare>,
}

/// A part of another's tools.
struct ToolboxShare {
    parent: Arc<Toolbox>,
    filter: Box<ToolPredicate>,
}

type ToolPredicate = dyn Fn(&dyn Tool) -> bool + Send + Sync;

struct ToolboxState {
    builtin: ToolSet,
    /// In the order in which they first came: nobody takes a name from those before.
    by_source: Vec<(ToolSource, Vec<Arc<dyn Tool>>)>,
    selection: ToolNameFilter,
    current: Arc<ToolSet>,
    /// The tools that a share was last taken of.
    last_parent_set: Option<Arc<ToolSet>>,
    /// Those that could not be registered, because the name is taken.
    rejected: Vec<(ToolSource, String)>,
}

impl Toolbox {
    /// These tools, as far as they are selected; and so whatever comes later.
    pub fn new(builtin: ToolSet, selection: ToolNameFilter) -> Self {
        let brought = Vec::new();
        let mut state = ToolboxState {
            builtin,
            by_source: brought,
            selection,
            current: Arc::default(),
            last_parent_set: None,
            rejected: Vec::new(),
        };
        state.rebuild();
        Toolbox { state: RwLock::new(state), parent_share: None }
    }

    /// Those of its tools for which `keep` says yes, now and whatever comes later. What is brought to the share is its own;
    /// nothing that is excluded here comes back there.
    pub fn subset(self: &Arc<Self>, keep: impl Fn(&dyn Tool) -> bool + Send + Sync + 'static) -> Self {
        let share = ToolboxShare { parent: self.clone(), filter: Box::new(keep) };
        Toolbox { parent_share: Some(share), ..Toolbox::from(ToolSet::default()) }
    }

    /// The tools of this moment.
    pub fn current(&self) -> Arc<ToolSet> {
        if let Some(share) = &self.parent_share {
            self.sync_with_parent(share);
        }
        self.state.read().unwrap_or_else(PoisonError::into_inner).current.clone()
    }

    /// Takes over what has changed in the tools that this is a share of.
    fn sync_with_parent(&self, share: &ToolboxShare) {
        let theirs = share.parent.current();
        let is_seen =
            |state: &ToolboxState| state.last_parent_set.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &theirs));
        if is_seen(&self.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let exclude = share.parent.state.read().unwrap_or_else(PoisonError::into_inner).selection.exclude.clone();
        self.update(|state| {
            let mut kept = ToolSet::clone(&theirs);
            kept.retain(|tool| (share.filter)(tool));
            (state.builtin, state.last_parent_set) = (kept, Some(theirs.clone()));
            state.selection = ToolNameFilter { allowed: None, exclude };
            state.rebuild();
        });
    }

    /// Puts these in the place of all that this origin brought so far, and says which of their names are taken. The next
    /// request to the model offers what is there then.
    pub fn set_source(&self, origin: &ToolSource, tools: Vec<Arc<dyn Tool>>) -> Vec<String> {
        self.update(|state| {
            match state.by_source.iter_mut().find(|(known, _)| known == origin) {
                Some((_, known)) => *known = tools,
                None => state.by_source.push((origin.clone(), tools)),
            }
            state.rebuild();
            let refused = state.rejected.iter().filter(|(of, _)| of == origin);
            refused.map(|(_, name)| name.clone()).collect()
        })
    }

    /// Takes away all that this origin brought.
    pub fn remove_source(&self, origin: &ToolSource) {
        self.update(|state| {
            state.by_source.retain(|(known, _)| known != origin);
            state.rebuild();
        });
    }

    /// Other built-in tools from now on.
    pub fn set_builtins(&self, builtin: ToolSet) {
        self.update(|state| {
            state.builtin = builtin;
            state.rebuild();
        });
    }

    /// Another selection from now on.
    pub fn select(&self, selection: ToolNameFilter) {
        self.update(|state| {
            state.selection = selection;
            state.rebuild();
        });
    }

    fn update<T>(&self, change: impl FnOnce(&mut ToolboxState) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl From<ToolSet> for Toolbox {
    fn from(builtin: ToolSet) -> Self {
        Toolbox::new(builtin, ToolNameFilter::default())
    }
}

impl ToolboxState {
    fn rebuild(&mut self) {
        self.rejected.clear();
        // Also names that the selection leaves out are taken: an excluded tool does not come back as somebody else's.
        let mut all = self.builtin.clone();
        let mut foreign = HashSet::new();
        for (origin, tools) in &self.by_source {
            for tool in tools {
                if all.register(tool.clone()).is_err() {
                    self.rejected.push((origin.clone(), tool.name().to_owned()));
                } else if !origin.is_core() {
                    foreign.insert(tool.name().to_owned());
                }
            }
        }
        let ToolNameFilter { allowed, exclude } = &self.selection;
        let excluded = ToolNameFilter { allowed: None, exclude: exclude.clone() };
        let core = ToolNameFilter { allowed: allowed.clone(), exclude: Vec::new() };
        all.select(&excluded);
        all.retain(|tool| foreign.contains(tool.name()) || core.includes(tool));
        self.current = Arc::new(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WebSearchSupport;
    use crate::toolset::tests::FakeRemoteTool;

    fn remote(names: &[&'static str]) -> Vec<Arc<dyn Tool>> {
        names.iter().map(|name| Arc::new(FakeRemoteTool(name)) as Arc<dyn Tool>).collect()
    }

    fn names(toolbox: &Toolbox) -> Vec<String> {
        toolbox.current().names().map(str::to_owned).collect()
    }

    fn server(name: &str) -> ToolSource {
        ToolSource::Server(name.to_owned())
    }

    #[test]
    fn sources_change_while_snapshots_stay() {
        let toolbox = Toolbox::from(ToolSet::default());
        assert!(toolbox.set_source(&server("a"), remote(&["mcp__a__x", "mcp__a__y"])).is_empty());
        let before = toolbox.current();
        assert!(toolbox.set_source(&server("a"), remote(&["mcp__a__z"])).is_empty());
        assert_eq!(names(&toolbox), ["mcp__a__z"]);
        assert!(before.get("mcp__a__x").is_some());
        toolbox.remove_source(&server("a"));
        assert!(names(&toolbox).is_empty());
    }

    #[test]
    fn a_subset_has_no_more_than_its_parent() {
        let toolbox = Arc::new(Toolbox::new(
            ToolSet::builtin(WebSearchSupport::Unavailable),
            ToolNameFilter { allowed: None, exclude: vec!["glob".to_owned(), "mcp__own__b".to_owned()] },
        ));
        let share = toolbox.subset(|tool| ["read_file", "glob", "mcp__a__x"].contains(&tool.name()));
        assert_eq!(names(&share), ["read_file"]);
        assert!(Arc::ptr_eq(&share.current(), &share.current()), "made once for as long as it is the same");
        toolbox.set_source(&server("a"), remote(&["mcp__a__x", "mcp__a__y"]));
        assert_eq!(names(&share), ["read_file", "mcp__a__x"]);
        share.set_source(&server("own"), remote(&["mcp__own__a", "mcp__own__b"]));
        assert_eq!(names(&share), ["read_file", "mcp__a__x", "mcp__own__a"]);
        assert!(toolbox.current().get("mcp__own__a").is_none());
        toolbox.remove_source(&server("a"));
        toolbox.select(ToolNameFilter { allowed: None, exclude: vec!["read_file".to_owned()] });
        assert_eq!(names(&share), ["glob", "mcp__own__a", "mcp__own__b"]);
    }

    #[test]
    fn earlier_sources_keep_their_tool_names() {
        let toolbox = Toolbox::from(ToolSet::builtin(WebSearchSupport::Unavailable));
        let refused = toolbox.set_source(&server("b"), remote(&["read_file", "ReadFileTool", "mcp__b__x"]));
        assert_eq!(refused, ["read_file", "ReadFileTool"]);
        assert_eq!(toolbox.set_source(&server("a"), remote(&["mcp__b__x", "mcp_b_x"])), ["mcp__b__x", "mcp_b_x"]);
        // Also when those before are renewed.
        assert!(toolbox.set_source(&server("b"), remote(&["mcp__b__x"])).is_empty());
    }

    #[test]
    fn what_is_selected_counts_for_those_that_come_later_too() {
        let selection = |allowed: Option<&[&str]>, exclude: &[&str]| ToolNameFilter {
            allowed: allowed.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            exclude: exclude.iter().map(|name| (*name).to_owned()).collect(),
        };
        let toolbox = Toolbox::new(
            ToolSet::builtin(WebSearchSupport::Unavailable),
            selection(Some(&["read_file", "glob"]), &["glob", "mcp_a_x"]),
        );
        toolbox.set_source(&server("a"), remote(&["mcp__a__x", "mcp__a__y", "glob"]));
        toolbox.set_source(&ToolSource::Skills, remote(&["activate_skill"]));
        assert_eq!(names(&toolbox), ["read_file", "mcp__a__y"]);
        toolbox.select(selection(Some(&["activate_skill"]), &[]));
        assert_eq!(names(&toolbox), ["mcp__a__x", "mcp__a__y", "activate_skill"]);
    }
}
