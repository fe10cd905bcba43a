//! Recognises shell commands that show nothing but files of the project, by their effects.

use std::path::Path;

use hookwright_analysis::disk::RealDisk;
use hookwright_analysis::interpreter::Environment;
use hookwright_analysis::programs::Programs;
use hookwright_analysis::trace::{TraceStep, trace_command};
use hookwright_hooks::{CallPlace, Effects, PathResolver, Touched, call_effects};
use serde_json::{Map, Value};

use crate::approval::shell_command_arg;

/// Programs that show only their arguments or what is piped to them. Effects do not tell them from programs that show
/// the environment, the clipboard or a token, which name no file either.
const FILTER_PROGRAMS: &[&str] = &[
    "basename", "cat", "cd", "column", "cut", "dirname", "echo", "false", "fold", "grep", "head", "nl", "paste",
    "printf", "pwd", "rev", "sed", "sort", "tac", "tail", "test", "tr", "true", "uniq", "wc",
];

/// Sub-commands of git that show more than the repository: settings of the user, and addresses that may hold a token.
const GIT_SETTINGS_COMMANDS: &[&str] = &["bugreport", "config", "credential", "diagnose", "remote", "var"];

/// Returns whether a call of the shell certainly does nothing but read files of the project.
///
/// The effects list no file that a program reads by itself, so each command must name something in the project, or be
/// known to show nothing else.
pub(super) fn only_reads_project(
    tool: &str,
    args: &Map<String, Value>,
    place: &CallPlace<'_>,
    resolver: &PathResolver,
) -> bool {
    let Some(command) = shell_command_arg(tool, args) else { return false };
    if !is_reading_within_project(&call_effects(tool, args, place, resolver)) {
        return false;
    }
    let directory = args.get("dir_path").and_then(Value::as_str).map(|directory| place.cwd.join(directory));
    let place = CallPlace { cwd: directory.as_deref().unwrap_or(place.cwd), ..*place };
    let environment = Environment { disk: &RealDisk, programs: &Programs::BUILT_IN, home: place.home, variable: None };
    trace_command(command, &place, environment).steps.iter().all(shows_only_project)
}

fn is_reading_within_project(effects: &Effects) -> bool {
    let Effects { reads, writes, deletes, network, repository, services, processes, privileged, flows, .. } = effects;
    let changes_nothing = writes.is_empty() && deletes.is_empty() && repository.is_empty() && processes.is_empty();
    let contacts_nothing = network.is_empty() && services.is_empty() && flows.is_empty() && privileged.is_empty();
    // A path outside of the project is shown whole.
    let in_project = |touched: &Touched| Path::new(&touched.shown).is_relative() && !touched.shown.starts_with("..");
    effects.is_certain() && changes_nothing && contacts_nothing && reads.iter().all(in_project)
}

fn shows_only_project(step: &TraceStep) -> bool {
    let is_known = step.command.as_ref().is_none_or(|command| {
        let words: Option<Vec<&str>> = command.words.iter().map(Option::as_deref).collect();
        // A word that only the running shell knows may be the value of any variable.
        words.as_deref().and_then(<[&str]>::split_first).is_some_and(|(program, rest)| match *program {
            "git" => !rest.iter().any(|word| GIT_SETTINGS_COMMANDS.contains(word)),
            program => !step.effects.reads.is_empty() || FILTER_PROGRAMS.contains(&program),
        })
    });
    is_known && step.steps.iter().all(shows_only_project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_shows_more_than_the_project_is_not_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("src/a.rs"), "a").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", project.join("link")).unwrap();
        let home = folder.path().join("home");
        let is_recognised = |command: &str| {
            let place = CallPlace { cwd: &project, project: &project, home: Some(&home) };
            let args = json!({ "command": command }).as_object().cloned().unwrap();
            only_reads_project("run_shell_command", &args, &place, &PathResolver::default())
        };
        for command in
            ["ls", "ls -la src", "cat src/a.rs | head -n 3", "git status", "git log -3", "cd src && ls", "grep -rn x ."]
        {
            assert!(is_recognised(command), "{command}");
        }
        for command in [
            "ls ..",
            "ls /etc",
            "cat link",
            "cat ~/.netrc",
            "ls > list",
            "rm src/a.rs",
            "make",
            "./x.sh",
            "env",
            "printenv",
            "cat src/a.rs; env",
            "gh auth token",
            "pbpaste",
            "xclip -o",
            "echo $GITHUB_TOKEN",
            "git config -l",
            "git remote -v",
            "git push",
            "git commit -am x",
            "curl example.com",
            "sudo ls",
            "ls $X",
            "docker ps",
            "ps aux",
        ] {
            assert!(!is_recognised(command), "{command}");
        }
    }
}
