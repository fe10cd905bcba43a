//! Short commands that ask for exponential work or memory: every analysis of them ends soon, and is unsure.

use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_analysis::command_parts;
use serde_json::json;

use crate::dialect::Dialect;
use crate::effects::{CallPlace, PathResolver, call_effects};
use crate::files::{Follower, Whereabouts};
use crate::hook::CommandAction;
use crate::running::invocation::Invocation;

/// The analysis of such a command takes milliseconds on an idle machine; without a budget, hours.
const ANALYSIS_LIMIT: Duration = Duration::from_secs(5);

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// `A=x; A=$A$A; …`
fn doubled(setting: &str, times: usize) -> String {
    format!("A=xxxxxxxxxxxxxxxx; {}", format!("{setting}; ").repeat(times))
}

/// Commands whose analysis has no end without a budget.
fn bombs() -> Vec<(&'static str, String)> {
    let words = |count: usize| (0..count).map(|at| format!(" {at:x}")).collect::<String>();
    vec![
        ("for loops", format!("echo && {}", nested("for a in 1 2 3 4; do ", ":", "; done", 20))),
        ("arithmetic", format!("echo {}", nested("$((", "$(fi)", "))", 22))),
        ("arithmetic that has no end", format!("echo {}", "$((".repeat(20_000))),
        ("doublings", doubled("A=$A$A", 40)),
        ("doublings by eval", doubled("eval 'A=$A$A'", 40)),
        ("doublings by export", doubled("export A=$A$A", 40)),
        ("doublings in a function", format!("f() {{ {}; }}; f", doubled("A=$A$A", 40).trim_end_matches("; "))),
        ("doublings in a here-document", format!("{}cat <<E\n$A$A\nE\n", doubled("A=$A$A", 30))),
        ("doublings by default", doubled("A=${A:-x}${A:-x}", 40)),
        ("doublings by substitution", doubled("A=$(echo \"$A$A\")", 40)),
        ("doublings by set", doubled("sh -c 'A=$1$1; sh -c \"$A\"' x \"$A\"; A=$A$A", 40)),
        ("programs that run programs", format!("find {}", "-exec find ".repeat(60))),
        ("wrappers in wrappers", format!("find {}", "-exec env find ".repeat(60))),
        ("loops over a variable", format!("A='1 2 3 4'; {}", nested("for a in $A; do ", "x", "; done", 20))),
        ("loops in functions", format!("f() {{ {}; }}; f", nested("for a in 1 2 3 4; do ", "f", "; done", 20))),
        ("select in case", nested("case x in y) for a in 1 2 3 4 5 6 7 8; do ", ":", "; done;; esac", 7)),
        ("loops in substitutions", nested("for a in 1 2 3 4 5 6 7 8; do x $(", "y", "); done", 8)),
        ("loops in branches", nested("if x; then for a in 1 2 3 4 5 6 7 8; do ", ":", "; done; fi", 8)),
        ("loops in pipelines", nested("x | for a in 1 2 3 4; do ", ":", "; done", 15)),
        ("loops in subshells", nested("( for a in 1 2 3 4 5 6 7 8; do ", ":", "; done )", 8)),
        ("many variables", (0..4000).map(|at| format!("A{at}=1; ")).collect()),
        ("many files", format!("rm{}", words(12_000))),
        ("files and programs", format!("touch{}; {}", words(8_000), "x;".repeat(1_000))),
        ("a pattern of classes", format!("cat {}*", "*[a-z]".repeat(10_000))),
    ]
}

fn action(command: &str) -> CommandAction {
    CommandAction {
        command: command.to_owned(),
        env: Vec::new(),
        dialect: Dialect::Gemini,
        confinement: None,
        invocation: Invocation::Shell(command.to_owned()),
    }
}

fn timed<T>(what: &str, name: &str, analyse: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = analyse();
    let taken = started.elapsed();
    println!("{what} of {name}: {taken:?}");
    assert!(taken < ANALYSIS_LIMIT, "{what} of {name}: {taken:?}");
    result
}

/// A folder with so many files that every pattern has a lot to match.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..200 {
        std::fs::write(folder.path().join(format!("{}{at}", "a".repeat(100))), "").unwrap();
    }
    folder
}

#[test]
fn effects_of_a_bomb_are_unsure_and_say_why() {
    let folder = folder();
    let place = CallPlace { cwd: folder.path(), project: folder.path(), home: Some(Path::new("/home")) };
    for (name, command) in bombs() {
        let args = json!({ "command": command });
        let effects = timed("effects", name, || {
            call_effects("run_shell_command", args.as_object().unwrap(), &place, &PathResolver::default())
        });
        assert!(!effects.is_certain(), "{name}");
        let touched = effects.writes.len() + effects.reads.len() + effects.deletes.len();
        assert!(effects.commands.len() + touched < 200_000, "{name}");
    }
}

#[test]
fn parts_of_a_bomb_are_few_or_unsure() {
    for (name, command) in bombs() {
        let parts = timed("parts", name, || command_parts::parts(&command));
        assert!(parts.commands.len() < 100_000, "{name}");
    }
    for (name, command) in [
        ("programs that run programs", format!("find {}", "-exec find ".repeat(60))),
        ("arithmetic", format!("echo {}", nested("$((", "$(fi)", "))", 22))),
    ] {
        assert!(!command_parts::parts(&command).certain, "{name}");
    }
}

#[test]
fn files_of_a_bomb_are_unsure() {
    let folder = folder();
    let variable = |_: &str| None;
    let place = Whereabouts { cwd: folder.path(), variable: &variable };
    for (name, command) in bombs() {
        let action = action(&command);
        timed("files", name, || action.files(&place));
        let read = |path: &Path| hookwright_testkit::fs::read(path).ok();
        let follower = Follower::new(vec![folder.path().to_owned()], &read);
        let followed = timed("followed files", name, || action.followed(&place, &follower));
        assert!(followed.files.len() < 100_000, "{name}");
    }
    let exponential = format!("echo && {}", nested("for a in 1 2 3 4; do ", "./x", "; done", 20));
    assert!(!action(&exponential).files(&place).certain);
}

#[test]
fn what_people_write_is_well_within_the_budget() {
    let folder = folder();
    let place = CallPlace { cwd: folder.path(), project: folder.path(), home: None };
    let script =
        "for file in a b c d; do if [ -f \"$file\" ]; then cp \"$file\" \"/tmp/$file\"; fi; done; X=$((1 + 2))\n";
    let list: String = (0..2000).map(|at| format!(" src/folder/file_{at}.rs")).collect();
    for command in
        [script.repeat(20), format!("git add{list}"), format!("cat > notes.md <<'E'\n{}E\n", script.repeat(500))]
    {
        let args = json!({ "command": command });
        let effects = call_effects("run_shell_command", args.as_object().unwrap(), &place, &PathResolver::default());
        assert_eq!(effects.reason(), None, "{} bytes", command.len());
    }
}
