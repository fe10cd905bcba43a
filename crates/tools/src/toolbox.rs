//! The tools of a session as they are by now: built-in ones, and those that others bring and take away while it runs.
//! Holds them; never runs a tool.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::tool::Tool;
use crate::toolset::{Selection, ToolSet};

/// Who brings tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The skills that can be activated.
    Skills,
    /// The agents that can be delegated to.
    Agents,
    /// What all MCP servers have in common, such as reading their resources.
    Servers,
    /// One MCP server, by its name.
    Server(String),
}

impl Origin {
    /// Whether what it brings is part of the program, and so among the tools that `tools.core` speaks of.
    fn is_core(&self) -> bool {
        !matches!(self, Origin::Server(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Skills => out.write_str("skills"),
            Origin::Agents => out.write_str("agents"),
            Origin::Servers => out.write_str("MCP servers"),
            Origin::Server(name) => write!(out, "MCP server {name}"),
        }
    }
}

/// Tools that may change at any time. Whoever works with them takes those of one moment, and stays with them: what was
/// judged is what runs.
pub struct Toolbox {
    state: RwLock<State>,
    /// What it is a share of, if it is one.
    share: Option<Share>,
}

/// A part of another's tools.
struct Share {
    of: Arc<Toolbox>,
    keep: Box<Keep>,
}

type Keep = dyn Fn(&dyn Tool) -> bool + Send + Sync;

struct State {
    builtin: ToolSet,
    /// In the order in which they first came: nobody takes a name from those before.
    brought: Vec<(Origin, Vec<Arc<dyn Tool>>)>,
    selection: Selection,
    now: Arc<ToolSet>,
    /// The tools that a share was last taken of.
    seen: Option<Arc<ToolSet>>,
    /// Those that could not be registered, because the name is taken.
    refused: Vec<(Origin, String)>,
}

impl Toolbox {
    /// These tools, as far as they are selected; and so whatever comes later.
    pub fn new(builtin: ToolSet, selection: Selection) -> Self {
        let brought = Vec::new();
        let mut state = State { builtin, brought, selection, now: Arc::default(), seen: None, refused: Vec::new() };
        state.put_together();
        Toolbox { state: RwLock::new(state), share: None }
    }

    /// Those of its tools for which `keep` says yes, now and whatever comes later. What is brought to the share is its own;
    /// nothing that is excluded here comes back there.
    pub fn share(self: &Arc<Self>, keep: impl Fn(&dyn Tool) -> bool + Send + Sync + 'static) -> Self {
        let share = Share { of: self.clone(), keep: Box::new(keep) };
        Toolbox { share: Some(share), ..Toolbox::from(ToolSet::default()) }
    }

    /// The tools of this moment.
    pub fn now(&self) -> Arc<ToolSet> {
        if let Some(share) = &self.share {
            self.catch_up(share);
        }
        self.state.read().unwrap_or_else(PoisonError::into_inner).now.clone()
    }

    /// Takes over what has changed in the tools that this is a share of.
    fn catch_up(&self, share: &Share) {
        let theirs = share.of.now();
        let is_seen = |state: &State| state.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &theirs));
        if is_seen(&self.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let exclude = share.of.state.read().unwrap_or_else(PoisonError::into_inner).selection.exclude.clone();
        self.change(|state| {
            let mut kept = ToolSet::clone(&theirs);
            kept.retain(|tool| (share.keep)(tool));
            (state.builtin, state.seen) = (kept, Some(theirs.clone()));
            state.selection = Selection { allowed: None, exclude };
            state.put_together();
        });
    }

    /// Puts these in the place of all that this origin brought so far, and says which of their names are taken. The next
    /// request to the model offers what is there then.
    pub fn bring(&self, origin: &Origin, tools: Vec<Arc<dyn Tool>>) -> Vec<String> {
        self.change(|state| {
            match state.brought.iter_mut().find(|(known, _)| known == origin) {
                Some((_, known)) => *known = tools,
                None => state.brought.push((origin.clone(), tools)),
            }
            state.put_together();
            let refused = state.refused.iter().filter(|(of, _)| of == origin);
            refused.map(|(_, name)| name.clone()).collect()
        })
    }

    /// Takes away all that this origin brought.
    pub fn take_away(&self, origin: &Origin) {
        self.change(|state| {
            state.brought.retain(|(known, _)| known != origin);
            state.put_together();
        });
    }

    /// Other built-in tools from now on.
    pub fn build_in(&self, builtin: ToolSet) {
        self.change(|state| {
            state.builtin = builtin;
            state.put_together();
        });
    }

    /// Another selection from now on.
    pub fn select(&self, selection: Selection) {
        self.change(|state| {
            state.selection = selection;
            state.put_together();
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl From<ToolSet> for Toolbox {
    fn from(builtin: ToolSet) -> Self {
        Toolbox::new(builtin, Selection::default())
    }
}

impl State {
    fn put_together(&mut self) {
        self.refused.clear();
        // Also names that the selection leaves out are taken: an excluded tool does not come back as somebody else's.
        let mut all = self.builtin.clone();
        let mut foreign = HashSet::new();
        for (origin, tools) in &self.brought {
            for tool in tools {
                if all.register(tool.clone()).is_err() {
                    self.refused.push((origin.clone(), tool.name().to_owned()));
                } else if !origin.is_core() {
                    foreign.insert(tool.name().to_owned());
                }
            }
        }
        let Selection { allowed, exclude } = &self.selection;
        let excluded = Selection { allowed: None, exclude: exclude.clone() };
        let core = Selection { allowed: allowed.clone(), exclude: Vec::new() };
        all.select(&excluded);
        all.retain(|tool| foreign.contains(tool.name()) || core.includes(tool));
        self.now = Arc::new(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WebSearching;
    use crate::toolset::tests::Remote;

    fn remote(names: &[&'static str]) -> Vec<Arc<dyn Tool>> {
        names.iter().map(|name| Arc::new(Remote(name)) as Arc<dyn Tool>).collect()
    }

    fn names(toolbox: &Toolbox) -> Vec<String> {
        toolbox.now().names().map(str::to_owned).collect()
    }

    fn server(name: &str) -> Origin {
        Origin::Server(name.to_owned())
    }

    #[test]
    fn tools_come_and_go_and_who_works_with_them_keeps_his() {
        let toolbox = Toolbox::from(ToolSet::default());
        assert!(toolbox.bring(&server("a"), remote(&["mcp__a__x", "mcp__a__y"])).is_empty());
        let before = toolbox.now();
        assert!(toolbox.bring(&server("a"), remote(&["mcp__a__z"])).is_empty());
        assert_eq!(names(&toolbox), ["mcp__a__z"]);
        assert!(before.get("mcp__a__x").is_some());
        toolbox.take_away(&server("a"));
        assert!(names(&toolbox).is_empty());
    }

    #[test]
    fn a_share_has_no_more_than_what_it_is_of() {
        let toolbox = Arc::new(Toolbox::new(
            ToolSet::builtin(WebSearching::Impossible),
            Selection { allowed: None, exclude: vec!["glob".to_owned(), "mcp__own__b".to_owned()] },
        ));
        let share = toolbox.share(|tool| ["read_file", "glob", "mcp__a__x"].contains(&tool.name()));
        assert_eq!(names(&share), ["read_file"]);
        assert!(Arc::ptr_eq(&share.now(), &share.now()), "made once for as long as it is the same");
        toolbox.bring(&server("a"), remote(&["mcp__a__x", "mcp__a__y"]));
        assert_eq!(names(&share), ["read_file", "mcp__a__x"]);
        share.bring(&server("own"), remote(&["mcp__own__a", "mcp__own__b"]));
        assert_eq!(names(&share), ["read_file", "mcp__a__x", "mcp__own__a"]);
        assert!(toolbox.now().get("mcp__own__a").is_none());
        toolbox.take_away(&server("a"));
        toolbox.select(Selection { allowed: None, exclude: vec!["read_file".to_owned()] });
        assert_eq!(names(&share), ["glob", "mcp__own__a", "mcp__own__b"]);
    }

    #[test]
    fn nobody_takes_a_name_from_those_before() {
        let toolbox = Toolbox::from(ToolSet::builtin(WebSearching::Impossible));
        let refused = toolbox.bring(&server("b"), remote(&["read_file", "ReadFileTool", "mcp__b__x"]));
        assert_eq!(refused, ["read_file", "ReadFileTool"]);
        assert_eq!(toolbox.bring(&server("a"), remote(&["mcp__b__x", "mcp_b_x"])), ["mcp__b__x", "mcp_b_x"]);
        // Also when those before are renewed.
        assert!(toolbox.bring(&server("b"), remote(&["mcp__b__x"])).is_empty());
    }

    #[test]
    fn what_is_selected_counts_for_those_that_come_later_too() {
        let selection = |allowed: Option<&[&str]>, exclude: &[&str]| Selection {
            allowed: allowed.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            exclude: exclude.iter().map(|name| (*name).to_owned()).collect(),
        };
        let toolbox = Toolbox::new(
            ToolSet::builtin(WebSearching::Impossible),
            selection(Some(&["read_file", "glob"]), &["glob", "mcp_a_x"]),
        );
        toolbox.bring(&server("a"), remote(&["mcp__a__x", "mcp__a__y", "glob"]));
        toolbox.bring(&Origin::Skills, remote(&["activate_skill"]));
        assert_eq!(names(&toolbox), ["read_file", "mcp__a__y"]);
        toolbox.select(selection(Some(&["activate_skill"]), &[]));
        assert_eq!(names(&toolbox), ["mcp__a__x", "mcp__a__y", "activate_skill"]);
    }
}
