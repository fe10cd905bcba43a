use std::path::Path;

use serde_json::{Value, json};

use crate::config::{Layer, parse_layer};
use crate::effects::{CallPlace, PathResolver, call_effects};
use crate::hook::{Hook, Source};

fn rule(only: &Value) -> Hook {
    let rule = json!({"type": "rule", "name": "quiet", "decision": "allow", "only": only});
    let text = json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}).to_string();
    let declared = parse_layer(&Layer::new(Source::User, Path::new("settings.json"), &text));
    assert!(declared.diagnostics.is_empty(), "{:?}", declared.diagnostics);
    declared.hooks.into_iter().next().unwrap()
}

/// Whether a shell command in this project is within the bounds.
fn approves_in(project: &Path, only: &Value, command: &str) -> bool {
    let place = CallPlace { cwd: project, project, home: Some(Path::new("/home/test")) };
    let args = json!({"command": command});
    let effects = call_effects("run_shell_command", args.as_object().unwrap(), &place, &PathResolver::default());
    rule(only).match_reason(&effects, &place).is_some()
}

fn approves(only: &Value, command: &str) -> bool {
    approves_in(Path::new("/nowhere/project"), only, command)
}

fn look() -> Value {
    json!({"reads": ["**", "!**/.env*", "!secrets/**"]})
}

#[test]
fn what_only_looks_inside_the_project_is_approved() {
    for command in
        ["ls", "cat src/lib.rs", "cat a | grep x | sort | wc -l", "cd src && head -5 x", "echo hi", "ls src/"]
    {
        assert!(approves(&look(), command), "{command}");
    }
}

/// Each of these has an effect that is not listed, or may have one.
#[test]
fn nothing_outside_of_the_lists_is_approved() {
    for command in [
        // Paths that lead out of the project.
        "cat /etc/passwd",
        "cat ../other/x",
        "cat src/../../x",
        "cd .. && cat x",
        "cat ~/.ssh/id_rsa",
        "cat $HOME/.ssh/id_rsa",
        "cat < /etc/shadow",
        // Exceptions, also as a part of something larger.
        "cat .env",
        "cat a/b/.env.local",
        "cat ./src/../.env",
        "cat secrets/key",
        "ls secrets",
        "grep -r KEY .",
        "cat .en{v,x}",
        "cat \".e\"nv",
        // Words that only the running shell knows.
        "cat $FILE",
        "cat $(cat list)",
        "$PROGRAM x",
        "eval \"$X\"",
        // Lists that are not named.
        "cat a > b",
        "cat a >> b",
        "cat a | tee b",
        "rm a",
        "curl https://example.com",
        "cat a | sh",
        "kill 1",
        "sudo cat a",
        "git add a",
        "git push",
        // One part of several.
        "ls; touch x",
        "ls && rm -rf build",
        "ls & curl https://example.com",
        "if test -f x; then ls; else rm a; fi",
        "echo `rm a`",
        "cat <(curl https://example.com)",
        // What is not understood.
        "make",
        "python3 x.py",
        "./ls",
        "unknown-program",
        "PATH=/tmp ls",
        "LD_PRELOAD=x ls",
        "ls 'unterminated",
    ] {
        assert!(!approves(&look(), command), "{command}");
    }
}

#[test]
fn a_link_out_of_the_project_is_out_of_bounds() {
    let folder = tempfile::TempDir::new().unwrap();
    let project = folder.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(project.join(".env"), "").unwrap();
    std::os::unix::fs::symlink("/etc", project.join("etc")).unwrap();
    std::os::unix::fs::symlink("../.env", project.join("src/notes")).unwrap();
    std::os::unix::fs::symlink("src", project.join("inside")).unwrap();
    assert!(approves_in(&project, &look(), "cat src/x inside/x"));
    // The shell's own globs are expanded too.
    for command in
        ["cat etc/passwd", "ls etc", "cat src/notes", "cat inside/notes", "cd etc && cat passwd", "cat .e*", "cat *"]
    {
        assert!(!approves_in(&project, &look(), command), "{command}");
    }
}

#[test]
fn every_list_has_its_own_patterns() {
    let cases = [
        (json!({"reads": ["**"], "writes": ["src/**"]}), "cp a src/b", true),
        (json!({"reads": ["**"], "writes": ["src/**"]}), "cp a b", false),
        (json!({"writes": ["src/**"]}), "echo x > src/a", true),
        // The folder itself is not among its contents.
        (json!({"deletes": ["src/**"]}), "rm src/a", true),
        (json!({"deletes": ["src/**"]}), "rm -rf src", false),
        (json!({"deletes": ["src"]}), "rm -rf src", true),
        (json!({"deletes": ["**", "!src/keep/**"]}), "rm -rf src", false),
        (json!({"network": ["*.example.com"]}), "curl https://a.example.com", true),
        (json!({"network": ["*.example.com", "!b.example.com"]}), "curl https://b.example.com", false),
        (json!({"network": ["*.example.com"]}), "curl https://a.example.com https://x.org", false),
        (json!({"reads": ["**"], "commands": ["cat", "ls"]}), "cat a; ls", true),
        (json!({"reads": ["**"], "commands": ["cat"]}), "cat a; ls", false),
        (json!({"reads": ["**"], "commands": ["*", "!head"]}), "head a", false),
        (json!({"processes": ["1"]}), "kill 1", true),
        (json!({"processes": ["1"]}), "kill 1 2", false),
        (json!({}), "echo x", true),
        (json!({}), "cat a", false),
    ];
    for (only, command, expected) in cases {
        assert_eq!(approves(&only, command), expected, "{only} {command}");
    }
}
