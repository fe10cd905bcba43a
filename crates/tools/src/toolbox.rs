//! The current tools of a session: built-in ones, and those that sources add and remove while it runs. It never runs a
//! tool.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::tool::Tool;
use crate::toolset::{ToolNameFilter, ToolSet};

/// A source of tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolSource {
    /// The skills that can be activated.
    Skills,
    /// The sub-agents that can be called.
    Agents,
    /// The tools that all MCP servers share, such as reading their resources.
    Servers,
    /// One MCP server, by its name.
    Server(String),
}

impl ToolSource {
    /// Returns whether its tools are part of the program, so that `tools.core` applies to them.
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

/// Tools that may change at any time. A user of the toolbox takes a snapshot with [`current`](Self::current) and keeps
/// it, so that the tool that was checked is the one that runs.
pub struct Toolbox {
    state: RwLock<ToolboxState>,
    /// The toolbox that this one is a subset of, if any.
    parent_share: Option<ToolboxShare>,
}

/// A subset of another toolbox.
struct ToolboxShare {
    parent: Arc<Toolbox>,
    filter: Box<ToolPredicate>,
}

type ToolPredicate = dyn Fn(&dyn Tool) -> bool + Send + Sync;

struct ToolboxState {
    builtin: ToolSet,
    /// The sources in the order in which they were first set: a later source can't take the name of an earlier one's
    /// tool.
    by_source: Vec<(ToolSource, Vec<Arc<dyn Tool>>)>,
    selection: ToolNameFilter,
    current: Arc<ToolSet>,
    /// The parent's tools when the subset was last computed.
    last_parent_set: Option<Arc<ToolSet>>,
    /// Tools that were not registered because their name is taken.
    rejected: Vec<(ToolSource, String)>,
}

impl Toolbox {
    /// Creates a toolbox with these tools; `selection` applies to them and to all later ones.
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

    /// Creates a subset with the tools for which `keep` returns true, now and later.
    ///
    /// Tools that are added to the subset stay in it. Tools that are excluded here can't be added there.
    pub fn subset(self: &Arc<Self>, keep: impl Fn(&dyn Tool) -> bool + Send + Sync + 'static) -> Self {
        let share = ToolboxShare { parent: self.clone(), filter: Box::new(keep) };
        Toolbox { parent_share: Some(share), ..Toolbox::from(ToolSet::default()) }
    }

    /// Returns a snapshot of the current tools.
    pub fn current(&self) -> Arc<ToolSet> {
        if let Some(share) = &self.parent_share {
            self.sync_with_parent(share);
        }
        self.state.read().unwrap_or_else(PoisonError::into_inner).current.clone()
    }

    /// Recomputes the subset if the parent's tools have changed.
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

    /// Replaces all tools of this source, and returns the names that are already taken. The next request to the model
    /// declares the new tools.
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

    /// Removes all tools of this source.
    pub fn remove_source(&self, origin: &ToolSource) {
        self.update(|state| {
            state.by_source.retain(|(known, _)| known != origin);
            state.rebuild();
        });
    }

    /// Replaces the built-in tools.
    pub fn set_builtins(&self, builtin: ToolSet) {
        self.update(|state| {
            state.builtin = builtin;
            state.rebuild();
        });
    }

    /// Replaces the selection.
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
        // Names of excluded tools are taken too, so that another source can't offer a tool under such a name.
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
        // Updating the earlier source does not change that.
        assert!(toolbox.set_source(&server("b"), remote(&["mcp__b__x"])).is_empty());
    }

    #[test]
    fn the_selection_applies_to_later_tools() {
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
