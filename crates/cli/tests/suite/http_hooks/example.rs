//! `examples/policy-service`: its own tests pass, and the program obeys it as documented.

use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policy-service")
}

fn has_python(test: &str) -> bool {
    let found = hookwright_testkit::has_program("python3");
    if !found {
        hookwright_testkit::report_skipped(test, "python3 is not installed");
    }
    found
}

#[test]
fn the_policy_services_own_tests_pass() {
    if has_python("the_policy_services_own_tests_pass") {
        let mut tests = Command::new("python3");
        let ended = tests.args(["-B", "-m", "unittest"]).current_dir(folder()).output_in_time().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn the_policy_service_judges_until_it_is_gone() {
    if !has_python("the_policy_service_judges_until_it_is_gone") {
        return;
    }
    let mut service = Command::new("python3")
        .args(["-B", "service.py", "--port", "0"])
        .current_dir(folder())
        .env("POLICY_TOKEN", "the-teams-token")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = lines_in_time(service.stderr.take().unwrap());
    let said = said.next().unwrap();
    let url = said.trim().rsplit(' ').next().unwrap().to_owned();
    let settings = fs::read_to_string(folder().join("settings.json")).unwrap();
    let sandbox = sandbox().env("POLICY_TOKEN", "the-teams-token");
    sandbox.write(".gemini/settings.json", settings.replace("http://127.0.0.1:8437/hook", &url));
    let fire = |sandbox: &Sandbox, command: &str| {
        let args = json!({"command": command}).to_string();
        sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "run_shell_command", "--args", &args])
    };
    assert_contains(
        &fire(&sandbox, "git push --force").expect_exit_code(2).stdout,
        "history that others have is not rewritten",
    );
    fire(&sandbox, "kubectl get pods").expect_exit_code(3);
    fire(&sandbox, "ls").expect_exit_code(0);
    sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
    let sandbox = sandbox.env("POLICY_TOKEN", "somebody-elses");
    assert_contains(&fire(&sandbox, "ls").expect_exit_code(2).stdout, "got 401 Unauthorized from its service");
    service.kill().unwrap();
    service.wait_in_time().unwrap();
    fire(&sandbox, "ls").expect_exit_code(2);
}
