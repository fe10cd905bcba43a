//! Consent to the loss of guards: before an extension is disabled or removed, the user sees which guards go with it and
//! confirms. `settings/src/guard_record.rs` records which guards sessions expect.

use hookwright_hooks::{Hook, RequiredHook};
use hookwright_settings::{Extension, ProcessEnv};

use super::install::{ConsentSource, obtain_consent};
use crate::commands::hooks::LoadedProject;
use crate::output;

/// Whether the extension may go: it has no guard, or the user agrees. A refusal has been printed.
pub(super) fn confirm_guard_loss(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    consent: ConsentSource,
    verb: &str,
) -> anyhow::Result<bool> {
    let required: Vec<&RequiredHook> = toolbox.loaded.registry.required().collect();
    let requires = |hook: &Hook| required.iter().find(|one| one.name == hook.id());
    let declared = extension.declared_hooks();
    let guards: Vec<&Hook> = declared.hooks.iter().filter(|hook| hook.is_guard() || requires(hook).is_some()).collect();
    for guard in &guards {
        output::warn(format!(
            "guard `{}` on {} belongs to `{}` and goes with it",
            guard.id(),
            guard.event,
            extension.name
        ))?;
        if let Some(required) = requires(guard) {
            let place = &required.location;
            output::warn(format!("`{}` is required by {place}: sessions do not start without it", guard.id()))?;
        }
    }
    if guards.is_empty() {
        return Ok(true);
    }
    confirm_by_person(world, consent, &extension.name, verb)
}

/// Whether a person agrees to lose an extension's guards. A refusal has been printed.
pub(super) fn confirm_by_person(
    world: &ProcessEnv,
    consent: ConsentSource,
    name: &str,
    verb: &str,
) -> anyhow::Result<bool> {
    // A command that an agent runs is not a person's consent.
    let is_agent = world.var("GEMINI_CLI").is_some_and(|value| !value.is_empty());
    let consent = if is_agent { ConsentSource::Prompt } else { consent };
    if obtain_consent(consent, &format!("{verb} `{name}` and its guards?"))? {
        return Ok(true);
    }
    output::error(format!("{verb} `{name}`: not confirmed; nothing was changed"))?;
    match is_agent {
        true => output::hint("an agent can't agree to that; do it in a terminal of your own")?,
        false => output::hint("if you can do without these guards, add --consent")?,
    }
    Ok(false)
}
