//! With any small stack or memory, the program works or says why not.

use super::*;
use hookwright_testkit::finish;

/// A project in which every form of the program has something to do, and the command lines of these forms.
fn command_lines() -> (Sandbox, Vec<Vec<String>>) {
    let sandbox = project(&[("BeforeTool", "*", "cat > /dev/null"), ("SessionEnd", "*", "cat > /dev/null")]);
    let case =
        "[[case]]\nname = \"passes\"\nevent = \"BeforeTool\"\ntool = \"glob\"\n[case.expect]\ndecision = \"allow\"\n";
    sandbox.write(
        ".gemini/a.hooktest.toml",
        format!("settings = \"settings.json\"\n[setup]\ncopy = {{ \".gemini/hooks\" = \"hooks\" }}\n{case}"),
    );
    let file =
        sandbox.replay(&ReplayBuilder::new().calls("run_shell_command", json!({"command": "true"})).says("done"));
    let session = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let others = ["hooks list", "hooks fire BeforeTool --tool glob", "hooks test", "policy list"];
    let words = |line: &&str| line.split(' ').map(str::to_owned).collect();
    let forms = std::iter::once(session.map(str::to_owned).to_vec()).chain(others.iter().map(words)).collect();
    (sandbox, forms)
}

fn run_limited(sandbox: &Sandbox, limits: &str, args: &[String]) -> ProgramRun {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    finish(sandbox.limited_command(limits, &args).spawn().unwrap())
}

#[test]
fn a_small_stack_is_enough() {
    let (sandbox, forms) = command_lines();
    for stack in ["64", "128", "256", "1024", "unlimited"] {
        for form in &forms {
            // Where the limit cannot be raised, there is nothing to test.
            let run = run_limited(&sandbox, &format!("{{ ulimit -s {stack} 2> /dev/null || true; }}"), form);
            assert_eq!(run.code, Some(0), "{stack} {form:?} {run:#?}");
        }
    }
}

/// Returns the least memory, in kilobytes, with which the system can start the program at all.
#[cfg(target_os = "linux")]
fn least_startup_kilobytes(sandbox: &Sandbox) -> u32 {
    let starts = |kilobytes: &u32| {
        let run = run_limited(sandbox, &format!("ulimit -v {kilobytes}"), &["--version".to_owned()]);
        matches!(run.code, Some(0 | 71))
    };
    (2..).map(|step| step * 4_000).find(starts).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn with_little_memory_the_program_works_or_says_why_not() {
    let (sandbox, forms) = command_lines();
    let least = least_startup_kilobytes(&sandbox);
    for form in &forms {
        let mut codes = Vec::new();
        for more in [1, 2, 5, 10, 20, 40, 60, 64, 68, 72, 76, 80, 90, 200] {
            let run = run_limited(&sandbox, &format!("ulimit -v {}", least + more * 1_000), form);
            if run.code != Some(0) {
                assert_eq!(run.code, Some(71), "{more} {form:?} {run:#?}");
                assert_contains(&run.stderr, "error: this machine has no resources left to start: ");
                assert_contains(&run.stderr, "memory (`ulimit -v`)");
            }
            codes.extend(run.code);
        }
        assert_eq!((codes.first(), codes.last()), (Some(&71), Some(&0)), "{form:?}");
    }
}

/// Where memory runs out later, the program cannot go on, but says so.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out_later_is_reported() {
    let sandbox = project(&[]);
    let long = "word ".repeat(10_000_000);
    let file = sandbox.replay(&ReplayBuilder::new().says(&long));
    let args = ["-p", "go", "--fake-responses", file.as_str()].map(str::to_owned);
    let run = run_limited(&sandbox, &format!("ulimit -v {}", least_startup_kilobytes(&sandbox) + 80_000), &args);
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_contains(&run.stderr, "memory");
    assert_contains(&run.stderr, "hint: ");
}

/// If memory becomes scarce later, a stack that had to grow would end the program without a message.
#[cfg(target_os = "linux")]
#[test]
fn the_stack_is_taken_at_the_start() {
    let sandbox = project(&[("BeforeTool", "*", "grep VmStk: /proc/$PPID/status > stack; cat > /dev/null")]);
    let file = sandbox.replay(&ReplayBuilder::new().calls("glob", json!({"pattern": "*"})).says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"].map(str::to_owned);
    let run = run_limited(&sandbox, "ulimit -s 8192", &args);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let line = sandbox.read("stack");
    let kilobytes: u32 = line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).unwrap();
    assert!(kilobytes >= 6 << 10, "{line}");
}
