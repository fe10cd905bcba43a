//! The `effects` property: any text as a command and as a patch. Its effects are known or uncertain, and every reported
//! path is absolute.

use std::path::{Component, Path};

use hookwright_analysis::budget::Budget;
use hookwright_analysis::syntax::{Dialect, Script};
use hookwright_hooks::{Aspect, CallPlace, PathResolver, call_effects, patch};
use serde_json::{Map, Value};

/// Checks the effects of a command and of a patch with this text.
pub fn effects(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let project = Path::new("/nowhere/project");
    let place = CallPlace { cwd: project, project, home: Some(Path::new("/nowhere/home")) };
    let of = |tool: &str, argument: &str| {
        let args = Map::from_iter([(argument.to_owned(), Value::from(text))]);
        let effects = call_effects(tool, &args, &place, &PathResolver::default());
        let all = || effects.reads.iter().chain(&effects.writes).chain(&effects.deletes);
        assert!(
            all().all(|one| one.path.is_absolute() && !one.path.components().any(|part| part == Component::ParentDir))
        );
        assert_eq!(effects.is_certain(), effects.unsure().next().is_none());
        serde_json::to_string(&effects).expect("effects are JSON");
        effects
    };
    let command = of("run_shell_command", "command");
    let script = Script::parse(text, Dialect::Bash, &Budget::default());
    assert!(script.problems.is_empty() || !command.is_certain(), "all is known of a text that is not understood");
    let patched = of("apply_patch", "input");
    match patch::parse(text) {
        Ok(changes) => assert!(patched.writes.len() + patched.deletes.len() > 0 || changes.is_empty()),
        Err(_) => assert!(patched.may_hold_more(Aspect::Writes), "a patch that is not understood changes nothing"),
    }
}
