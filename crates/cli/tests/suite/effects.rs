//! `hookwright effects`: what is understood of a command, without running it.

use crate::sandbox;

#[test]
fn steps_are_shown_with_their_effects() {
    let sandbox = sandbox();
    let command = "cat a && sudo rm -rf b; echo 'x y' > f; nonesuch --now; rm $F";
    let run = sandbox.run(&["effects", command]).expect_exit_code(0);
    assert_eq!(run.stderr, "");
    insta::assert_snapshot!(run.stdout, @r"
    $ cat a
      reads: a
    $ sudo rm -rf b
      privileged: rm -rf b
      $ rm -rf b
        deletes: b/
    $ echo 'x y'
      writes: f
    $ nonesuch --now
      unsure: what nonesuch does is not known
    $ rm $F
      unsure: $F is only known when it runs, and may be any word of rm
      unsure: $F is only known when it runs

    unsure: there may be more commands, reads, writes, deletes, network, repository, services, processes, privileged, flows
      what nonesuch does is not known
      $F is only known when it runs, and may be any word of rm
      $F is only known when it runs
    ");
    assert!(!sandbox.has_file("f"));
}

#[test]
fn a_certain_command_says_so() {
    insta::assert_snapshot!(sandbox().run(&["effects", "cat a"]).expect_exit_code(0).stdout, @r"
    $ cat a
      reads: a

    certain: this is all that it does
    ");
    insta::assert_snapshot!(sandbox().run(&["effects", ""]).expect_exit_code(0).stdout, @"certain: this is all that it does");
}

#[test]
fn json_has_the_effects_of_hooks_with_reasons_and_steps() {
    let run = sandbox().run(&["effects", "sudo rm b; nonesuch", "--json"]).expect_exit_code(0);
    let json = run.json();
    for list in ["reads", "network", "repository", "services", "processes", "flows"] {
        assert_eq!(json[list], serde_json::json!([]), "{list}");
    }
    assert_eq!(json["deletes"], serde_json::json!(["b"]));
    assert_eq!(json["privileged"], serde_json::json!(["rm b"]));
    assert_eq!(json["certain"], false);
    assert_eq!(json["reasons"], serde_json::json!(["what nonesuch does is not known"]));
    assert_eq!(json["steps"][0]["steps"][0]["deletes"], serde_json::json!(["b"]));
    assert_eq!(json["steps"][1]["reasons"], json["reasons"]);
}

#[test]
fn paths_start_at_the_given_directory() {
    let sandbox = sandbox();
    sandbox.write("sub/x", "");
    let run = sandbox.run(&["effects", "rm x ../y", "--dir", "sub", "--json"]).expect_exit_code(0);
    let above = sandbox.project().canonicalize().unwrap().join("y");
    assert_eq!(run.json()["deletes"], serde_json::json!(["x", above]));
    let missing = sandbox.run(&["effects", "ls", "--dir", "nowhere"]).expect_exit_code(1);
    assert!(missing.stderr.contains("there is no directory nowhere"), "{}", missing.stderr);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let run = sandbox().run(&["effects", "cat 'a\u{1b}[2Jb'"]).expect_exit_code(0);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
}

#[test]
fn a_missing_command_is_an_error() {
    let run = sandbox().run(&["effects"]).expect_exit_code(1);
    assert!(run.stderr.contains("<COMMAND>"), "{}", run.stderr);
}
