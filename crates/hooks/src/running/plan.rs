//! Selects the hooks that an event runs from the registry: in order, without duplicates, sequential or parallel.
//!
//! The index is built once per configuration, and plans are cached by subject.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::event::chunks::ChunkGranularity;
use crate::event::{EventKind, HookCapability};
use crate::hook::{Hook, Source};
use crate::matching::Matcher;
use crate::matching::mcp_names::McpToolName;
use crate::matching::pattern::ToolNamePattern;
use crate::matching::prefilter::Prefilter;
use crate::matching::tool_names::{alternative_names, ambiguous_names};
use crate::registry::{HookState, Registry};

/// The hooks that one event runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The hooks, in order.
    pub hooks: Vec<Arc<Hook>>,
    /// Whether the hooks run one after another.
    pub sequential: bool,
    /// The granularity of a streamed response that the hooks receive, if one of them sets it.
    pub grain: Option<ChunkGranularity>,
    /// The guards that may not run, by their index, and why: they deny without running.
    pub(crate) blocked_guards: HashMap<usize, Arc<str>>,
}

impl Plan {
    /// The plan without the hooks for which the predicate is false.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&Hook) -> bool) -> Plan {
        let kept: Vec<usize> = (0..self.hooks.len()).filter(|at| keep(&self.hooks[*at])).collect();
        let hooks: Vec<_> = kept.iter().map(|at| self.hooks[*at].clone()).collect();
        let closed = kept.iter().enumerate().filter_map(|(new, at)| Some((new, self.blocked_guards.get(at)?.clone())));
        Plan::from_hooks(hooks, closed.collect())
    }

    fn from_hooks(hooks: Vec<Arc<Hook>>, closed: HashMap<usize, Arc<str>>) -> Plan {
        let counts = |hook: &Hook| !hook.is_background() && !hook.is_shadow();
        let sequential = hooks.iter().any(|hook| hook.sequential && counts(hook));
        let grain =
            ChunkGranularity::coarsest(hooks.iter().filter(|hook| !hook.is_shadow()).filter_map(|hook| hook.chunks));
        Plan { hooks, sequential, grain, blocked_guards: closed }
    }
}

/// A registry that is indexed for planning.
#[derive(Debug)]
pub struct Planner {
    registry: Registry,
    events: [EventIndex; EventKind::COUNT],
}

/// All names that matchers are tested against.
struct SubjectNames<'a> {
    subject: &'a str,
    /// The names of an MCP tool at its server, where they differ from the subject.
    original_names: Vec<String>,
}

impl<'a> SubjectNames<'a> {
    fn new(subject: &'a str, mcp: Option<McpToolName<'_>>) -> Self {
        let known = |name: &String| name == subject || alternative_names(subject).any(|other| other == *name);
        let original = mcp.into_iter().flat_map(|mcp| mcp.spellings()).filter(|name| !known(name));
        SubjectNames { subject, original_names: original.collect() }
    }

    /// The key of the names in the cache of plans.
    fn cache_key(&self) -> Cow<'a, str> {
        match self.original_names.first() {
            None => Cow::Borrowed(self.subject),
            Some(_) => Cow::Owned(format!("{}\0{}", self.subject, self.original_names.join("\0"))),
        }
    }
}

#[derive(Debug, Default)]
struct EventIndex {
    /// The enabled hooks of this event, in plan order.
    hooks: Vec<Arc<Hook>>,
    /// The guards that may not run, by their index, and why.
    blocked_guards: HashMap<usize, Arc<str>>,
    /// The hooks that match everything.
    match_all: Vec<usize>,
    /// The hooks that match a name.
    by_name: HashMap<String, Vec<usize>>,
    /// The patterns, each once, with the hooks that use it.
    patterns: Vec<(Arc<ToolNamePattern>, Vec<usize>)>,
    /// Selects the patterns that are worth trying.
    prefilter: OnceLock<Prefilter>,
    /// The plans made so far, by subject.
    cached_plans: Mutex<HashMap<Box<str>, Arc<Plan>>>,
    /// The plan for events without a subject.
    subjectless_plan: OnceLock<Arc<Plan>>,
}

impl Planner {
    /// Indexes the enabled hooks of a registry.
    pub fn new(registry: Registry) -> Self {
        let mut events: [EventIndex; EventKind::COUNT] = Default::default();
        let mut pattern_places: HashMap<(usize, String), usize> = HashMap::new();
        for (hook, state) in registry.entries() {
            let at = hook.event.index();
            match state {
                HookState::Enabled => {}
                // A guard that is not trusted denies instead of running.
                HookState::Untrusted { why } if hook.is_guard() && hook.event.can(HookCapability::Deny) => {
                    let place = events[at].hooks.len();
                    events[at].blocked_guards.insert(place, why.as_str().into());
                }
                _ => continue,
            }
            events[at].add(hook.clone(), |text| (at, text.to_owned()), &mut pattern_places);
        }
        Planner { registry, events }
    }

    /// The registry that is indexed.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Whether any hook could run on this event. This is a cheap check.
    pub fn has_hooks_for(&self, kind: EventKind) -> bool {
        !self.events[kind.index()].hooks.is_empty()
    }

    /// The plan for an event; `None` if no hook runs.
    pub fn plan(&self, kind: EventKind, subject: Option<&str>) -> Option<Arc<Plan>> {
        self.plan_with_mcp_name(kind, subject, None)
    }

    /// The plan for an event on a tool of an MCP server, which has several names; `None` if no hook runs.
    pub fn plan_with_mcp_name(
        &self,
        kind: EventKind,
        subject: Option<&str>,
        mcp: Option<McpToolName<'_>>,
    ) -> Option<Arc<Plan>> {
        let index = &self.events[kind.index()];
        if index.hooks.is_empty() {
            return None;
        }
        let plan = match subject {
            Some(subject) => index.plan_for(&SubjectNames::new(subject, mcp)),
            None => index.subjectless_plan.get_or_init(|| Arc::new(index.make_plan(0..index.hooks.len()))).clone(),
        };
        (!plan.hooks.is_empty()).then_some(plan)
    }
}

impl EventIndex {
    fn add(
        &mut self,
        hook: Arc<Hook>,
        key: impl Fn(&str) -> (usize, String),
        places: &mut HashMap<(usize, String), usize>,
    ) {
        let at = self.hooks.len();
        match &hook.matcher {
            Matcher::All => self.match_all.push(at),
            Matcher::Any { names, patterns } => {
                for name in names {
                    self.by_name.entry(name.clone()).or_default().push(at);
                }
                for pattern in patterns {
                    let place = *places.entry(key(&pattern.text)).or_insert_with(|| {
                        self.patterns.push((pattern.clone(), Vec::new()));
                        self.patterns.len() - 1
                    });
                    self.patterns[place].1.push(at);
                }
            }
        }
        self.hooks.push(hook);
    }

    fn plan_for(&self, names: &SubjectNames<'_>) -> Arc<Plan> {
        /// The maximum number of cached plans: a model may invent any number of tool names.
        const MAX_CACHED_PLANS: usize = 1024;
        let key = names.cache_key();
        let mut made = self.cached_plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = made.get(key.as_ref()) {
            return plan.clone();
        }
        let plan = Arc::new(self.make_plan(self.matching_hooks(names)));
        if made.len() < MAX_CACHED_PLANS {
            made.insert(key.into(), plan.clone());
        }
        plan
    }

    /// The indexes of all matching hooks, in order.
    fn matching_hooks(&self, names: &SubjectNames<'_>) -> Vec<usize> {
        let mut found = self.match_all.clone();
        let named = |name: &str| self.by_name.get(name).into_iter().flatten().copied().collect::<Vec<_>>();
        found.extend(named(names.subject));
        for name in alternative_names(names.subject) {
            found.extend(named(&name));
        }
        found.extend(ambiguous_names(names.subject).iter().flat_map(|name| named(name)));
        names.original_names.iter().for_each(|name| found.extend(named(name)));
        found.extend(self.matching_patterns(names).into_iter().flat_map(|at| self.patterns[at].1.iter().copied()));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The indexes of the matching patterns, in order.
    fn matching_patterns(&self, names: &SubjectNames<'_>) -> Vec<usize> {
        let SubjectNames { subject, original_names: original } = names;
        let texts = || self.patterns.iter().map(|(pattern, _)| pattern.text.as_str());
        let prefilter = self.prefilter.get_or_init(|| Prefilter::new(texts()));
        let mut found = Vec::new();
        prefilter.candidates(subject, &mut found);
        alternative_names(subject).for_each(|name| prefilter.candidates(&name, &mut found));
        original.iter().for_each(|name| prefilter.candidates(name, &mut found));
        found.sort_unstable();
        found.dedup();
        found.retain(|at| {
            let pattern = &self.patterns[*at].0;
            pattern.matches(subject) || original.iter().any(|name| pattern.matches_original(name))
        });
        found
    }

    /// Makes a plan of these hooks without duplicates.
    fn make_plan(&self, places: impl IntoIterator<Item = usize>) -> Plan {
        let mut places: Vec<usize> = places.into_iter().collect();
        let mut doubles: HashMap<_, Vec<usize>> = HashMap::with_capacity(places.len());
        for at in &places {
            if let Some(key) = self.hooks[*at].dedup_key() {
                doubles.entry(key).or_default().push(*at);
            }
        }
        let mut dropped = HashSet::new();
        for group in doubles.values().filter(|group| group.len() > 1) {
            dropped.extend(self.duplicates_to_drop(group));
        }
        places.retain(|at| !dropped.contains(at));
        let hooks: Vec<_> = places.iter().map(|at| self.hooks[*at].clone()).collect();
        let closed =
            places.iter().enumerate().filter_map(|(new, at)| Some((new, self.blocked_guards.get(at)?.clone())));
        Plan::from_hooks(hooks, closed.collect())
    }

    /// The hooks of a group with the same name and command that do not run.
    ///
    /// A guard or a locked hook always runs, unless another one runs identically. Of the others one runs, the one with
    /// the most authority, unless the group has a locked hook, or a guard of at least the same authority: repeating a
    /// hook cannot change how it runs. A hook in shadow never takes the place of one that decides.
    fn duplicates_to_drop(&self, group: &[usize]) -> Vec<usize> {
        let hook = |at: &usize| self.hooks[*at].as_ref();
        let (shadow, deciding): (Vec<usize>, Vec<usize>) = group.iter().partition(|at| hook(at).is_shadow());
        if !shadow.is_empty() && !deciding.is_empty() {
            return shadow.into_iter().chain(self.duplicates_to_drop(&deciding)).collect();
        }
        let (protected, others): (Vec<usize>, Vec<usize>) = group.iter().partition(|at| hook(at).is_protected());
        let best = others.iter().copied().min_by_key(|at| (authority_rank(&hook(at).source), *at));
        let outranked = |best: &usize| {
            protected
                .iter()
                .any(|at| hook(at).locked || authority_rank(&hook(at).source) <= authority_rank(&hook(best).source))
        };
        let best = best.filter(|best| !outranked(best));
        let mut dropped: Vec<usize> = others.into_iter().filter(|at| Some(*at) != best).collect();
        let again =
            |(nth, at): (usize, &usize)| protected[..nth].iter().any(|one| runs_identically(hook(one), hook(at)));
        let repeated = protected.iter().enumerate().filter(|one| again(*one)).map(|(_, at)| *at);
        dropped.extend(repeated);
        dropped
    }
}

/// The rank of a source where a hook is declared twice; the lowest rank has the most authority. A project that repeats
/// the user's hooks changes nothing.
fn authority_rank(source: &Source) -> u8 {
    match source {
        Source::Runtime => 0,
        Source::User => 1,
        Source::System => 2,
        Source::Extension(_) => 3,
        Source::Project => 4,
    }
}

/// Whether two hooks with the same name and command run identically.
fn runs_identically(one: &Hook, other: &Hook) -> bool {
    one.env() == other.env()
        && one.timeout == other.timeout
        && one.locked == other.locked
        && one.is_guard() == other.is_guard()
        && one.chunks == other.chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, parse_layer};
    use crate::diagnostic::Severity;
    use std::path::Path;

    fn planner(layers: &[(Source, &str)]) -> Planner {
        let declared = layers.iter().map(|(source, text)| {
            let declared = parse_layer(&Layer::new(source.clone(), Path::new("s.json"), text));
            assert!(declared.diagnostics.iter().all(|found| found.severity == Severity::Warning), "{text}");
            declared
        });
        Planner::new(Registry::new(declared.collect()))
    }

    fn ids(plan: Option<Arc<Plan>>) -> Vec<String> {
        plan.map(|plan| plan.hooks.iter().map(|hook| hook.id().to_owned()).collect()).unwrap_or_default()
    }

    fn hook(name: &str) -> String {
        format!(r#"{{"type": "command", "name": "{name}", "command": "run-{name}"}}"#)
    }

    fn before_tool(definitions: &[(&str, &str, bool)]) -> String {
        let list: Vec<_> = definitions
            .iter()
            .map(|(matcher, name, sequential)| {
                format!(r#"{{"matcher": "{matcher}", "sequential": {sequential}, "hooks": [{}]}}"#, hook(name))
            })
            .collect();
        format!(r#"{{"hooks": {{"BeforeTool": [{}]}}}}"#, list.join(","))
    }

    /// The author of a matcher knows the names of a server and its tool, not the short name that models use.
    #[test]
    fn matchers_see_original_mcp_names() {
        let called = |name, server, tool| McpToolName { name, server, tool };
        let plain = called("mcp__my_server__do_it", "my.server", "do.it");
        let shortened = called("mcp__a_long_1a2b3c4d_name__x", "a_long_and_very_long_servers_name", "x");
        let doubled = called("mcp__a_b__x", "a__b", "x");
        let odd = called("mcp__srv_1__x", "srv(1)", "x");
        for (matcher, mcp, runs) in [
            ("mcp__my.server__do.it", plain, true),
            ("mcp_my.server_do.it", plain, true),
            ("^mcp__my\\\\.server__", plain, true),
            ("mcp__my_server__do_it", plain, true),
            ("mcp__my.server__do", plain, true),
            ("mcp__my.servers__.*", plain, false),
            ("mcp__a_long_and_very_long_servers_name__x", shortened, true),
            ("mcp_a_long_and_very_long_servers_name_x", shortened, true),
            ("mcp__a_long_and_very_long_servers_name", shortened, true),
            ("mcp__a_long_and_very_long_servers_name__.*", shortened, true),
            ("mcp__a_long_and_very_long_servers_name__y", shortened, false),
            ("mcp__a__b__x", doubled, true),
            ("mcp_a__b_x", doubled, true),
            ("mcp__srv(1)__x", odd, true),
            ("^(?!mcp__my_server__).*$", plain, false),
        ] {
            let text = before_tool(&[(matcher, "guard", false)]);
            let planned =
                planner(&[(Source::User, &text)]).plan_with_mcp_name(EventKind::BeforeTool, Some(mcp.name), Some(mcp));
            assert_eq!(planned.is_some(), runs, "{matcher} {mcp:?}");
        }
    }

    #[test]
    fn layers_run_in_order_and_duplicates_run_once() {
        let user = before_tool(&[("*", "b", false), ("*", "a", false)]);
        let project = before_tool(&[("*", "a", false)]);
        let planner = planner(&[(Source::User, &user), (Source::Project, &project)]);
        let plan = planner.plan(EventKind::BeforeTool, Some("glob"));
        assert!(!plan.as_ref().unwrap().sequential);
        assert!(plan.as_ref().unwrap().hooks.iter().all(|hook| hook.source == Source::User));
        assert_eq!(ids(plan), ["b", "a"]);
    }

    #[test]
    fn one_sequential_definition_makes_the_plan_sequential_only_where_it_matches() {
        let text = before_tool(&[("*", "a", false), ("glob", "b", true)]);
        let planner = planner(&[(Source::User, &text)]);
        assert!(planner.plan(EventKind::BeforeTool, Some("glob")).unwrap().sequential);
        assert!(!planner.plan(EventKind::BeforeTool, Some("replace")).unwrap().sequential);
        assert!(planner.plan(EventKind::AfterTool, Some("glob")).is_none());
        assert!(!planner.has_hooks_for(EventKind::AfterTool));
    }

    #[test]
    fn a_locked_hook_is_not_shadowed() {
        let mut system = before_tool(&[("*", "guard", false)]);
        system = system.replace(r#""type""#, r#""locked": true, "type""#);
        let project = before_tool(&[("*", "guard", false)]);
        let planner = planner(&[(Source::Project, &project), (Source::System, &system)]);
        let plan = planner.plan(EventKind::BeforeTool, Some("glob")).unwrap();
        assert_eq!(plan.hooks.len(), 1);
        assert_eq!(plan.hooks[0].source, Source::System);
    }

    #[test]
    fn duplicates_keep_the_hook_with_most_authority() {
        let hook = |more: &str| {
            format!(
                r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{{"type": "command", "name": "x", "command": "x"{more}}}]}}]}}}}"#
            )
        };
        let (plain, other, guard) = (hook(""), hook(r#", "env": {"A": "1"}"#), hook(r#", "guard": true"#));
        let other_guard = hook(r#", "guard": true, "timeout": 1000"#);
        let extension = Source::Extension("e".to_owned());
        for (layers, expected) in [
            // A project's repetition changes nothing, in either order.
            (vec![(Source::User, &plain), (Source::Project, &other)], vec![Source::User]),
            (vec![(Source::System, &plain), (Source::Project, &other)], vec![Source::System]),
            (vec![(Source::User, &plain), (Source::System, &other)], vec![Source::User]),
            (vec![(Source::Project, &plain), (extension.clone(), &other)], vec![extension.clone()]),
            // A guard is not shadowed, and shadows only hooks with less authority.
            (vec![(Source::User, &other), (Source::Project, &guard)], vec![Source::Project, Source::User]),
            (vec![(Source::User, &guard), (Source::Project, &other)], vec![Source::User]),
            (vec![(extension.clone(), &guard), (Source::Project, &other)], vec![extension.clone()]),
            (vec![(Source::User, &guard), (Source::Project, &other_guard)], vec![Source::Project, Source::User]),
            (vec![(Source::User, &guard), (Source::Project, &guard)], vec![Source::Project]),
        ] {
            let texts: Vec<_> = layers.iter().map(|(source, text)| (source.clone(), text.as_str())).collect();
            let plan = planner(&texts).plan(EventKind::BeforeTool, Some("glob")).unwrap();
            let sources: Vec<_> = plan.hooks.iter().map(|hook| hook.source.clone()).collect();
            assert_eq!(sources, expected, "{texts:?}");
        }
    }

    #[test]
    fn a_plan_uses_the_coarsest_chunks_of_its_hooks() {
        let hooks = |keys: &str| {
            format!(
                r#"{{"hooks": {{"AfterModel": [{{"hooks": [{{"type": "command", "name": "x", "command": "x"{keys}}}]}}]}}}}"#
            )
        };
        let (plain, line) = (hooks(""), hooks(r#", "chunks": "line""#));
        let (guard, line_guard) = (hooks(r#", "guard": true"#), hooks(r#", "guard": true, "chunks": "line""#));
        let grain = |layers: &[(Source, &str)]| planner(layers).plan(EventKind::AfterModel, None).unwrap().grain;
        let lines = ChunkGranularity::coarsest([crate::event::chunks::ChunkUnit::Line]);
        assert_eq!(grain(&[(Source::User, &plain)]), None);
        assert_eq!(grain(&[(Source::User, &line)]), lines);
        // Of duplicates that are not guards the user's counts, whatever the project declares.
        assert_eq!(grain(&[(Source::Project, &plain), (Source::User, &line)]), lines);
        assert_eq!(grain(&[(Source::Project, &line), (Source::User, &plain)]), None);
        assert_eq!(grain(&[(Source::Project, &guard), (Source::User, &line_guard)]), lines);
    }

    #[test]
    fn a_set_of_patterns_finds_what_each_pattern_finds() {
        let tools = ["read_file", "run_shell_command", "replace", "mcp__x__y", "search_file_content"];
        let texts = ["read_.*", "^re", "e$", "file|shell", ".", "^Edit", "x__y$", "mcp_x_y|zzz.", "[a-m]e", "(?!r)e"];
        let definitions: Vec<_> =
            (0..60).map(|at| (format!("{}|q{at}+", texts[at % texts.len()]), format!("h{at}"))).collect();
        let borrowed: Vec<_> = definitions.iter().map(|(text, name)| (text.as_str(), name.as_str(), false)).collect();
        let planner = planner(&[(Source::User, &before_tool(&borrowed))]);
        for tool in tools {
            let expected: Vec<_> = planner
                .registry()
                .hooks()
                .iter()
                .filter(|hook| hook.matcher.matches(tool))
                .map(|hook| hook.id().to_owned())
                .collect();
            assert_eq!(ids(planner.plan(EventKind::BeforeTool, Some(tool))), expected, "{tool}");
        }
    }
}
