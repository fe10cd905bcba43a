//! Fires one hook alone, on a harmless input, to test whether it responds.

use std::sync::Arc;

use hookwright_hooks::{
    AnyEvent, Hook, HookEngine, Matcher, Registry, RunCondition, sample_input, sample_subject, tools_named,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::reply::Reply;
use crate::services::HookEventForwarder;

impl SessionActor {
    pub(super) fn fire_canary(&mut self, hook: &Arc<Hook>) {
        // A canary obeys the trust check: a hook that an agent changed does not run.
        if let Err(why) = self.services().hooks.check_trust(hook) {
            return self.reply(Reply::warning(format!("canary: {} was not fired: {why}", hook.id())));
        }
        let (alone, event) = match build_canary(hook) {
            Ok(canary) => canary,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let view = self.shared.view();
        let engine = HookEngine::builder(alone)
            .session((*view.services.hooks.session()).clone())
            .exec_envs(view.loaded.hook_exec_envs())
            .confinement_launcher(view.services.confiner.clone())
            .observer(Arc::new(HookEventForwarder(view.services.events.clone())))
            .build();
        let whatever = if hook.when_text().is_some() { ", whatever its `when` says" } else { "" };
        self.reply(Reply::aside(format!(
            "canary: {} runs alone on a sample {}{whatever}; its answer follows and decides nothing",
            hook.id(),
            hook.event
        )));
        tokio::spawn(async move {
            engine.fire_any(&event, &CancellationToken::new()).await;
            engine.shutdown().await;
        });
    }
}

/// Builds a registry with this one hook, which runs unconditionally, and a harmless event for it.
///
/// # Errors
/// If the event cannot be built from the sample input.
pub fn build_canary(hook: &Hook) -> Result<(Registry, AnyEvent), serde_json::Error> {
    let event = AnyEvent::from_fields(hook.event, harmless_input(hook))?;
    let mut alone = Registry::default();
    alone.add(Hook {
        matcher: Matcher::All,
        when: Vec::new(),
        run_condition: RunCondition::default(),
        ..Hook::clone(hook)
    });
    Ok((alone, event))
}

/// Returns a sample input for the hook's event that asks for nothing and names the matcher's tool.
fn harmless_input(hook: &Hook) -> Map<String, Value> {
    let named = hook.matcher_text.as_deref().unwrap_or_default().split('|').next().map(str::trim);
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_');
    // The matcher may use another agent's name for a tool; the input uses ours.
    let named = named.filter(is_name).map(|name| tools_named(name).next().unwrap_or(name));
    let named = named.filter(|name| hook.matcher.matches(name));
    let subject = named.or_else(|| sample_subject(hook.event, std::iter::once(hook)));
    sample_input(hook.event, subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_hooks::{EventKind, MatcherSubject};

    #[test]
    fn every_event_kind_has_a_harmless_input() {
        for kind in EventKind::all() {
            let hook = Hook::from_function(kind, "h", |_| async { Err(String::new()) });
            let event = AnyEvent::from_fields(kind, harmless_input(&hook));
            assert!(event.is_ok(), "{kind}: {:?}", event.err());
        }
    }
    #[test]
    fn harmless_input_names_the_matched_tool_with_valid_arguments() {
        let about = |text: &str| {
            let mut hook = Hook::from_function(EventKind::BeforeTool, "h", |_| async { Err(String::new()) });
            hook.matcher = Matcher::compile(MatcherSubject::ToolName, Some(text)).0;
            hook.matcher_text = Some(text.to_owned());
            harmless_input(&hook)
        };
        assert_eq!(about("write_file|replace")["tool_name"], "write_file");
        assert!(about("write_file")["tool_input"]["content"].is_string());
        assert_eq!(about("ShellTool")["tool_name"], "run_shell_command");
        assert_eq!(about("^read_.*")["tool_name"], "read_file");
        assert_eq!(about("mcp_git_push")["tool_name"], "mcp_git_push");
        assert_eq!(about("Bash")["tool_input"]["command"], "echo hello");
    }
}
