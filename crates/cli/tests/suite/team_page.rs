//! `docs/team.md`: its shell steps are run as they stand there, those aside that need the network.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use hookwright_testkit::{ProgramRun, Sandbox, finish, fs, has_program, report_skipped};
use serde_json::{Value, json};

use super::agents::{as_claude, place, program};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/team.md")).unwrap()
}

/// Returns the blocks of code in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let (fence, mut found, mut open) = (format!("```{language}"), Vec::new(), None::<String>);
    for line in page.lines() {
        match &mut open {
            Some(block) if line == "```" => {
                found.push(std::mem::take(block));
                open = None;
            }
            Some(block) => block.extend([line, "\n"]),
            None if line == fence => open = Some(String::new()),
            None => {}
        }
    }
    found
}

/// Returns the steps of a job that run something, with their names.
fn job_steps(job: &str) -> Vec<(String, String)> {
    let (mut steps, mut name) = (Vec::<(String, String)>::new(), String::new());
    let mut lines = job.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("      - name: ") {
            name = text.to_owned();
        }
        match line.strip_prefix("        run: ") {
            Some("|") => {
                let mut script = String::new();
                while let Some(text) = lines.next_if(|line| line.starts_with("          ")) {
                    script.extend([text.trim(), "\n"]);
                }
                steps.push((name.clone(), script));
            }
            Some(command) => steps.push((name.clone(), command.to_owned())),
            None => {}
        }
    }
    steps
}

/// Runs a script as a job's step does.
fn run_script(sandbox: &Sandbox, options: &[&str], script: &str, input: &str) -> ProgramRun {
    let like = sandbox.command(&[]);
    let mut child = Command::new("/bin/sh")
        .args(options)
        .args(["-c", script])
        .current_dir(sandbox.project())
        .env_clear()
        .envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), input.as_bytes()).unwrap();
    drop(child.stdin.take());
    finish(child)
}

#[test]
fn the_steps_of_the_page_work() {
    let sandbox = place();
    if !has_program("git") {
        report_skipped("team page", "there is no git");
        return;
    }
    if !as_claude(&sandbox) {
        return;
    }
    program(&sandbox.sibling_path("bin"), "codex", "echo 'codex-cli 0.169.0'");
    symlink(env!("CARGO_BIN_EXE_hookwright"), sandbox.sibling_path("bin/hookwright")).unwrap();
    // The team's own guard, with a test.
    let rule = json!({"type": "rule", "name": "no-destroy", "decision": "deny", "reason": "no", "when": {"commands": ["terraform destroy*"]}});
    sandbox.write(".hookwright/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}).to_string());
    let case = "[[case]]\nname = \"no\"\nevent = \"BeforeTool\"\ntool = \"run_shell_command\"\n\
                args = { command = \"terraform destroy\" }\n[case.expect]\ndecision = \"deny\"\n";
    sandbox.write(".hookwright/own.hooktest.toml", case);
    let git =
        run_script(&sandbox, &["-e"], "git init -q; git config user.name t; git config user.email t@example.com", "");
    git.expect_exit_code(0);

    let page = page();
    let shell = blocks(&page, "sh");
    assert_eq!(shell.len(), 2, "{shell:?}");
    // Claude Code and Codex have not accepted the project's entries, so the setup is not proven; the commit is made.
    // The tests of the standard pack are run elsewhere, and take long.
    let without_pack = shell[0].replace("setup --project", "setup --project --no-pack");
    let first = run_script(&sandbox, &[], &without_pack, "y\n").expect_exit_code(0);
    assert!(first.stdout.contains("no: not trusted by it"), "{first:?}");
    let tracked = run_script(&sandbox, &["-e"], "git ls-files", "").expect_exit_code(0);
    for file in [".hookwright/hooks.json", ".claude/settings.json", ".codex/hooks.json"] {
        assert!(tracked.stdout.contains(file), "{file}: {tracked:?}");
    }

    let clone = place_for_clone(&sandbox);
    let job = blocks(&page, "yaml").remove(0);
    let steps = job_steps(&job);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let (install, offline): (Vec<_>, Vec<_>) = steps.iter().partition(|(name, _)| name.starts_with("Install"));
    assert_eq!(install.len(), 1, "{names:?}");
    for (name, script) in offline {
        let run = run_script(&clone, &["-e"], script, "");
        assert_eq!(run.code, Some(0), "{name}: {run:?}");
    }
    // The job notices entries that someone has taken out.
    let (_, script) = steps.iter().find(|(name, _)| name.starts_with("The entries")).unwrap();
    clone.write(".codex/hooks.json", "{}\n");
    run_script(&clone, &["-e"], "git -c user.name=t -c user.email=t@example.com commit -qam out", "")
        .expect_exit_code(0);
    run_script(&clone, &["-e"], script, "").expect_exit_code(1);

    let container: Value = serde_json::from_str(&blocks(&page, "json").remove(0)).unwrap();
    let created = container["postCreateCommand"].as_str().unwrap();
    run_script(&clone, &["-e"], created, "").expect_exit_code(0);
    assert!(container["onCreateCommand"].as_str().unwrap().contains("cargo install"), "{container}");
}

/// A machine of its own, with a clone of the project that is not trusted yet.
fn place_for_clone(origin: &Sandbox) -> Sandbox {
    let sandbox = place().untrusted();
    assert!(as_claude(&sandbox));
    symlink(env!("CARGO_BIN_EXE_hookwright"), sandbox.sibling_path("bin/hookwright")).unwrap();
    let script = format!("git clone -q '{}' .", origin.project().display());
    run_script(&sandbox, &["-e"], &script, "").expect_exit_code(0);
    sandbox
}
