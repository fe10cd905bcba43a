//! What `hookwright effects` shows: each command with its own effects.

use std::path::Path;

use hookwright_analysis::disk::MemoryDisk;
use hookwright_analysis::effects::CallPlace;
use hookwright_analysis::interpreter::Environment;
use hookwright_analysis::programs::Programs;
use hookwright_analysis::trace::{Trace, TraceStep, trace_command};

fn trace(text: &str) -> Trace {
    let disk = MemoryDisk::default().with_directory("/p").with_directory("/home");
    let place = CallPlace { cwd: Path::new("/p"), project: Path::new("/p"), home: Some(Path::new("/home")) };
    trace_command(
        text,
        &place,
        Environment { disk: &disk, programs: &Programs::BUILT_IN, home: place.home, variable: None },
    )
}

fn outline(steps: &[TraceStep], depth: usize) -> String {
    let mut text = String::new();
    for step in steps {
        let words = step.command.as_ref().map_or_else(|| "(none)".to_owned(), |command| command.shown.join(" "));
        let lists: Vec<String> =
            step.lists().iter().map(|(aspect, list)| format!("{aspect:?} {}", list.join(","))).collect();
        text += &format!("{}{words} [{}]\n", "  ".repeat(depth), lists.join("; "));
        text += &outline(&step.steps, depth + 1);
    }
    text
}

fn outlined(text: &str) -> String {
    outline(&trace(text).steps, 0)
}

#[test]
fn each_command_has_its_own_effects() {
    assert_eq!(outlined("cat a; rm b"), "cat a [Reads a]\nrm b [Deletes b]\n");
    assert_eq!(outlined("cat a; echo x > f"), "cat a [Reads a]\necho x [Writes f]\n");
    assert_eq!(outlined("echo x > f && cat g < h"), "echo x [Writes f]\ncat g [Reads h,g]\n");
    assert_eq!(outlined("rm -rf b; echo x > f"), "rm -rf b [Deletes b/]\necho x [Writes f]\n");
    assert_eq!(outlined("> f"), "(none) [Writes f]\n");
}

#[test]
fn commands_stand_below_those_that_run_them() {
    assert_eq!(outlined("env nice rm b; ls"), "env nice rm b []\n  nice rm b []\n    rm b [Deletes b]\nls [Reads .]\n");
    assert_eq!(outlined("cat a; echo $(cat b)"), "cat a [Reads a]\ncat b [Reads b]\necho $(…) []\n");
}

#[test]
fn a_loop_tells_each_step_once() {
    let told = outlined("for f in a b; do n=$f; touch x; done");
    assert_eq!(told.matches("touch").count(), 1, "{told}");
}

#[test]
fn the_steps_give_the_same_effects_as_the_whole() {
    let whole = trace("cat a; sudo rm -rf b; nonesuch; curl https://x.example > f");
    let json = whole.to_json();
    assert_eq!(json["certain"], false);
    assert_eq!(json["reasons"].as_array().unwrap().len(), whole.effects.reasons().len());
    assert!(json["steps"].to_string().contains("nonesuch"));
    let told = outline(&whole.steps, 0);
    for list in [&whole.effects.reads, &whole.effects.writes, &whole.effects.deletes] {
        list.iter().for_each(|one| assert!(told.contains(&one.shown), "{} is not in {told}", one.shown));
    }
}
