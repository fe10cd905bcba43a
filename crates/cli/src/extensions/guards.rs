//! Guards that go with an extension: a person is told which, and says yes, before it is switched off or removed. What follows for
//! sessions is `settings/src/guards.rs`.

use hookwright_hooks::{Hook, Required};
use hookwright_settings::{Extension, World};

use super::install::{Consent, is_agreed};
use crate::hooks::Toolbox;
use crate::out;

/// Whether the extension may go: it has no guard, or somebody agrees. If not, that has been said.
pub(super) fn may_go(
    toolbox: &Toolbox,
    world: &World,
    extension: &Extension,
    consent: Consent,
    verb: &str,
) -> anyhow::Result<bool> {
    let required: Vec<&Required> = toolbox.loaded.registry.required().collect();
    let requires = |hook: &Hook| required.iter().find(|one| one.name == hook.id());
    let declared = extension.declared();
    let guards: Vec<&Hook> = declared.hooks.iter().filter(|hook| hook.is_guard() || requires(hook).is_some()).collect();
    for guard in &guards {
        out::warn(format!("guard `{}` on {} is `{}`'s, and goes with it", guard.id(), guard.event, extension.name))?;
        if let Some(required) = requires(guard) {
            let place = &required.place;
            out::warn(format!("`{}` is required by {place}: sessions do not start without it", guard.id()))?;
        }
    }
    if guards.is_empty() {
        return Ok(true);
    }
    is_persons_word(world, consent, &extension.name, verb)
}

/// Whether a person agrees to be without an extension's guards. If not, that has been said.
pub(super) fn is_persons_word(world: &World, consent: Consent, name: &str, verb: &str) -> anyhow::Result<bool> {
    // What an agent runs is no person's word.
    let is_agent = world.var("GEMINI_CLI").is_some_and(|value| !value.is_empty());
    let consent = if is_agent { Consent::Asked } else { consent };
    if is_agreed(consent, &format!("{verb} `{name}` and its guards?"))? {
        return Ok(true);
    }
    out::error(format!("nobody has agreed to {verb} `{name}`; nothing was changed"))?;
    match is_agent {
        true => out::hint("an agent can't agree to that; do it in a terminal of your own")?,
        false => out::hint("if you can do without these guards, say --consent")?,
    }
    Ok(false)
}
