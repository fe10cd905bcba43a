//! Tests of the commands that need no shell, and of their words.

use super::*;
use hookwright_testkit::deadline::*;

fn words(command: &str) -> Option<Vec<String>> {
    let Invocation::Direct { words, .. } = Invocation::analyse(command, &[]) else { return None };
    let variable = |name: &str| Some(OsString::from(format!("<{name}>")));
    Some(words.iter().map(|word| word.resolve(variable).into_string().unwrap()).collect())
}

#[test]
fn plain_words_need_no_shell() {
    assert_eq!(words("guard --level=3 a.b").unwrap(), ["guard", "--level=3", "a.b"]);
    assert_eq!(words("  ./x 'a b' \"c d\"e '' ").unwrap(), ["./x", "a b", "c de", ""]);
    assert_eq!(words("node \"$GEMINI_PROJECT_DIR/h.js\"").unwrap(), ["node", "<GEMINI_PROJECT_DIR>/h.js"]);
    assert_eq!(words("$GEMINI_PROJECT_DIR/h.sh x").unwrap(), ["<GEMINI_PROJECT_DIR>/h.sh", "x"]);
    assert_eq!(words("\"${CLAUDE_PROJECT_DIR}\"/h").unwrap(), ["<CLAUDE_PROJECT_DIR>/h"]);
}

#[test]
fn shell_syntax_needs_a_shell() {
    let commands = [
        "a | b",
        "a && b",
        "a; b",
        "a > f",
        "a < f",
        "$HOME/x",
        "\"$HOME\"/x",
        "a *",
        "a ?",
        "a [b]",
        "~/x",
        "a ~",
        "A=1 b",
        "A=$GEMINI_CWD b",
        "`a`",
        "$(a)",
        "a\nb",
        "echo hi",
        "exit 2",
        "cd x",
        "! a",
        "a # b",
        "a {b,c}",
        "a \\ b",
        "'a",
        "",
        "\"a\\\"b\"",
        "if",
        "$GEMINI_PROJECT_DIRX/y",
        "a !b",
        "{ a",
        "exec x",
    ];
    for command in commands {
        assert_eq!(words(command), None, "{command}");
    }
}

#[test]
fn unquoted_session_variables_are_quoted_for_the_shell() {
    let text = |command: &str| Invocation::analyse(command, &[]).shell_text().to_owned();
    assert_eq!(text("$GEMINI_CWD/a | b"), "\"${GEMINI_CWD}\"/a | b");
    assert_eq!(text("\"$GEMINI_CWD/a\" | b"), "\"$GEMINI_CWD/a\" | b");
    assert_eq!(text("echo '$GEMINI_CWD'"), "echo '$GEMINI_CWD'");
    assert_eq!(text("echo \\$GEMINI_CWD"), "echo \\$GEMINI_CWD");
    assert_eq!(text("cat <<E\n$GEMINI_CWD\nE"), "cat <<E\n$GEMINI_CWD\nE");
}

#[test]
fn placeholders_are_escaped_for_their_quotes() {
    let values = [("extensionPath".to_owned(), "/a b/it's".to_owned()), ("/".to_owned(), "/".to_owned())];
    let text = |command: &str| Invocation::analyse(command, &values).shell_text().to_owned();
    assert_eq!(text("node \"${extensionPath}${/}x\""), "node \"/a b/it's/x\"");
    let set = r"extensionPath='/a b/it'\''s'; ";
    assert_eq!(text("node ${extensionPath}${/}x"), format!("{set}node \"${{extensionPath}}\"/x"));
    assert_eq!(text("${unknown}"), "${unknown}");
    assert_eq!(text("a ${extensionPath}"), format!("{set}a \"${{extensionPath}}\""));
    assert_eq!(text("a '${extensionPath}' | b"), format!("{set}a ''\"${{extensionPath}}\"'' | b"));
}

/// The name of a directory is plain text wherever a command inserts it; a real shell decides.
#[cfg(unix)]
#[test]
fn placeholders_are_never_interpreted() {
    let folder = tempfile::tempdir().unwrap();
    for value in ["/a; touch pwned", "/$(touch pwned)", "/`touch pwned`", "/x\ntouch pwned\n", "/'\"); touch pwned; :"]
    {
        let values = [("workspacePath".to_owned(), value.to_owned())];
        for command in [
            "echo \"$(echo ${workspacePath})\"",
            "echo \"$(echo \"${workspacePath}\" '${workspacePath}')\"",
            "echo `echo ${workspacePath}`",
            ": # ${workspacePath}",
            "# it's\necho ${workspacePath}",
            "cat <<E\nit's ${workspacePath}\nE",
            "echo ${x:-${workspacePath}} $'${workspacePath}' | cat",
        ] {
            let text = Invocation::analyse(command, &values).shell_text().to_owned();
            let output =
                std::process::Command::new("sh").args(["-c", &text]).current_dir(&folder).output_in_time().unwrap();
            assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "{text}: {output:?}");
        }
    }
}

#[test]
fn blanks_are_those_of_a_shell() {
    let words = |command: &str| match Invocation::analyse(command, &[]) {
        Invocation::Direct { words, .. } => Some(words.len()),
        Invocation::Shell(_) | Invocation::Program { .. } => None,
    };
    assert_eq!(words(" \n./a b\t\n"), Some(2));
    // A shell would look for another file than `a`, and so must the fingerprint of the command's files.
    for command in ["./a\r\n", "./a\u{a0}", "\u{3000}./a", "./a\u{c}"] {
        assert_eq!(words(command), None, "{command:?}");
    }
}
