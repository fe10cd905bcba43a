//! Commands that call this program as another agent's hook: `hookwright bridge AGENT …`.
//!
//! They stand in other agents' settings files, some of which are read here too. There they are not loaded as hooks: the
//! engine would call itself. This module writes and recognises such commands; the CLI's `bridge` command executes them.

use std::time::Duration;

use hookwright_analysis::command_parts::sole_command;

/// The prefix by which commands written by `agents install` are recognised.
const INSTALL_MARKER: &str = ": written by hookwright agents install; ";
/// The shell that runs the commands, whatever shell the agent or its user prefers.
///
/// The path is absolute because `PATH` may lead into the project.
const SHELL_PATH: &str = "/bin/sh";
const PROGRAM_NAME: &str = "hookwright";

/// A command that calls the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeCall {
    /// The program as written: a path, or a name that is searched for in `PATH`.
    pub program: String,
    /// The name of the calling agent, as typed.
    pub host: String,
    /// The event that the command is for, if given.
    pub event: Option<String>,
    /// The time that the agent waits for an answer, if given.
    pub timeout: Option<Duration>,
    /// Whether `agents install` wrote the command; otherwise a user wrote it by hand.
    pub installed: bool,
}

/// What happens to the judged call if the program gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswerPolicy {
    /// The call is denied.
    Deny,
    /// The call has already happened or cannot be denied: there is only a warning.
    WarnOnly,
}

impl BridgeCall {
    /// Parses a command line; `None` unless it calls the bridge and does nothing else.
    ///
    /// ```
    /// use hookwright_hooks::BridgeCall;
    ///
    /// let call = BridgeCall::parse("hookwright bridge cursor --event beforeShellExecution").unwrap();
    /// assert_eq!((call.host.as_str(), call.installed), ("cursor", false));
    /// assert_eq!(BridgeCall::parse("hookwright bridge cursor; echo done"), None);
    /// ```
    pub fn parse(command: &str) -> Option<BridgeCall> {
        // Most commands do not call the bridge: this check saves parsing them.
        if !command.contains(PROGRAM_NAME) || !command.contains("bridge") {
            return None;
        }
        let words: Option<Vec<String>> = sole_command(command)?.iter().map(|word| word.literal()).collect();
        let words = words?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [shell, "-c", script, call @ ..] if *shell == SHELL_PATH && script.starts_with(INSTALL_MARKER) => {
                let call = Self::from_words(call)?;
                (call.event.is_some() && call.timeout.is_some()).then_some(BridgeCall { installed: true, ..call })
            }
            call => Self::from_words(call),
        }
    }

    fn from_words(words: &[&str]) -> Option<BridgeCall> {
        let [program, "bridge", host, options @ ..] = words else { return None };
        let name = program.rsplit(['/', '\\']).next()?;
        if !matches!(name, PROGRAM_NAME | "hookwright.exe") || host.starts_with('-') {
            return None;
        }
        let option = |name: &str| options.iter().position(|word| *word == name).and_then(|at| options.get(at + 1));
        Some(BridgeCall {
            program: (*program).to_owned(),
            host: (*host).to_owned(),
            event: option("--event").map(|event| (*event).to_owned()),
            timeout: option("--deadline").and_then(|seconds| Duration::try_from_secs_f64(seconds.parse().ok()?).ok()),
            installed: false,
        })
    }

    /// The command that `agents install` writes.
    ///
    /// With [`NoAnswerPolicy::Deny`] it exits with code 2 if the program gives no answer for any reason. A program that
    /// is searched for in `PATH` is refused if it lies inside the project.
    ///
    /// Some agents substitute variable names in commands; none substitutes `$0`, `$?` and `$@`.
    pub fn install_command(
        program: &str,
        host: &str,
        event: &str,
        timeout: Duration,
        without: NoAnswerPolicy,
    ) -> String {
        let refused = match without {
            NoAnswerPolicy::Deny => ", so this is refused",
            NoAnswerPolicy::WarnOnly => "",
        };
        let code = if without == NoAnswerPolicy::Deny { 2 } else { 1 };
        let found = match program.contains('/') {
            true => String::new(),
            // The search goes up to the repository's root, since an agent may work in a folder below it, and resolves
            // symbolic links on both sides. No agent substitutes the variable names used here.
            false => format!(
                "hw_up=$(pwd -P); while [ -n \"$hw_up\" ] && [ ! -e \"$hw_up/.git\" ]; do hw_up=${{hw_up%/*}}; done; \
                 [ -n \"$hw_up\" ] || hw_up=$(pwd -P); hw_at=$(command -v \"$0\"); \
                 case $hw_at in /*) hw_at=$(cd \"${{hw_at%/*}}/\" && pwd -P);; *) hw_at=;; esac; \
                 case $hw_at/ in /|\"$hw_up\"/*|*/node_modules/*) echo \"hookwright is not installed on this machine, \
                 or only inside of this project{refused}\" >&2; exit {code};; esac; "
            ),
        };
        let called = match without {
            NoAnswerPolicy::Deny => format!(
                "\"$0\" \"$@\" || {{ [ $? = 2 ] || echo \"hookwright gave no answer{refused}: see hookwright agents \
                 doctor {host}\" >&2; exit 2; }}"
            ),
            NoAnswerPolicy::WarnOnly => "exec \"$0\" \"$@\"".to_owned(),
        };
        let (program, seconds) = (quote_for_shell(program), timeout.as_secs_f64());
        format!(
            "{SHELL_PATH} -c '{INSTALL_MARKER}{found}{called}' {program} bridge {host} --event {event} --deadline {seconds}"
        )
    }
}

/// Quotes a word so that every shell reads it literally.
fn quote_for_shell(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:@%".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    const EVENT_NAME: &str = "PreToolUse";

    fn installed_command(program: &str, without: NoAnswerPolicy) -> String {
        BridgeCall::install_command(program, "codex", EVENT_NAME, Duration::from_secs(60), without)
    }

    #[test]
    fn installed_commands_are_recognised() {
        for program in ["hookwright", "/usr/local/bin/hookwright", "/home/o'neil/my bin/$x/hookwright"] {
            for without in [NoAnswerPolicy::Deny, NoAnswerPolicy::WarnOnly] {
                let call = BridgeCall::parse(&installed_command(program, without)).unwrap();
                let (event, host) = (Some(EVENT_NAME.to_owned()), "codex".to_owned());
                let program = program.to_owned();
                assert_eq!(
                    call,
                    BridgeCall { program, host, event, timeout: Some(Duration::from_secs(60)), installed: true }
                );
            }
        }
    }

    #[test]
    fn fractional_seconds_are_written() {
        let command = BridgeCall::install_command(
            "hookwright",
            "codex",
            EVENT_NAME,
            Duration::from_millis(1500),
            NoAnswerPolicy::WarnOnly,
        );
        assert!(command.ends_with("--deadline 1.5"), "{command}");
        assert_eq!(BridgeCall::parse(&command).unwrap().timeout, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn handwritten_calls_are_recognised_as_not_installed() {
        for command in
            ["hookwright bridge codex", "/opt/hookwright bridge codex --event Stop", "'hookwright' bridge codex"]
        {
            assert!(BridgeCall::parse(command).is_some_and(|call| !call.installed), "{command}");
        }
        // Without the marker, the script is an ordinary command of the user's.
        assert_eq!(
            BridgeCall::parse("/bin/sh -c '\"$0\" \"$@\"' hookwright bridge codex --event Stop --deadline 1"),
            None
        );
    }

    #[test]
    fn commands_that_do_anything_else_are_ordinary_hooks() {
        let ours = installed_command("hookwright", NoAnswerPolicy::Deny);
        for command in [
            "my-hookwright bridge codex",
            "hookwright bridge",
            "hookwright bridge --help",
            "hookwright hooks fire bridge",
            "echo hookwright bridge codex",
            "hookwright bridge codex | tee log",
            "hookwright bridge codex; ./guard.sh",
            "X=1 hookwright bridge codex",
            "hookwright bridge codex > log",
            "hookwright bridge $HOST",
            "./guard.sh && hookwright bridge codex",
            &format!("{ours}; ./guard.sh"),
            &format!("{ours} > log"),
            &format!("./guard.sh && {ours}"),
            &ours.replace("/bin/sh", "./sh"),
        ] {
            assert_eq!(BridgeCall::parse(command), None, "{command}");
        }
    }

    /// Runs a command with `sh` in a project, with a script in the place of `hookwright`.
    fn run_in_project(command: &str, script: Option<&str>, inside: bool) -> std::process::Output {
        use std::os::unix::fs::PermissionsExt;
        let box_ = tempfile::tempdir().unwrap();
        let project = box_.path().canonicalize().unwrap().join("pro ject");
        let bin = if inside { project.join("bin") } else { box_.path().join("bin") };
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&bin).unwrap();
        if let Some(script) = script {
            let file = bin.join("hookwright");
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let command = command.replace("BIN", bin.to_str().unwrap());
        let path = if inside { "bin:/usr/bin:/bin".to_owned() } else { format!("{}:/usr/bin:/bin", bin.display()) };
        std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(project)
            .env("PATH", path)
            .output_in_time()
            .unwrap()
    }

    #[test]
    #[cfg(unix)]
    fn no_answer_is_a_deny_with_a_message() {
        for program in ["hookwright", "BIN/hookwright"] {
            let gate = installed_command(program, NoAnswerPolicy::Deny);
            for script in [None, Some("exit 1"), Some("kill -9 $$"), Some("echo '{}'; exit 70")] {
                let run = run_in_project(&gate, script, false);
                assert_eq!(run.status.code(), Some(2), "{program} {script:?} {run:?}");
                assert!(String::from_utf8_lossy(&run.stderr).contains("so this is refused"), "{run:?}");
            }
            // The program's own message is passed on unchanged.
            let run_said = run_in_project(&gate, Some("cat; echo \"$@\"; echo no >&2; exit 2"), false);
            assert_eq!(run_said.status.code(), Some(2));
            assert_eq!(String::from_utf8_lossy(&run_said.stdout), "bridge codex --event PreToolUse --deadline 60\n");
            assert_eq!(String::from_utf8_lossy(&run_said.stderr), "no\n");
            assert_eq!(run_in_project(&gate, Some("exit 0"), false).status.code(), Some(0));
            // A call that cannot be denied gets only a warning.
            let other = installed_command(program, NoAnswerPolicy::WarnOnly);
            assert_ne!(run_in_project(&other, None, false).status.code(), Some(2));
            assert_eq!(run_in_project(&other, Some("exit 0"), false).status.code(), Some(0));
        }
    }

    #[test]
    fn bridge_calls_are_not_declared_as_hooks() {
        use crate::{Layer, Source, parse_layer};
        let ours = installed_command("/opt/hookwright", NoAnswerPolicy::Deny);
        let hook = |command: &str| serde_json::json!({"type": "command", "command": command});
        let definition =
            serde_json::json!([{"hooks": [hook(&ours), hook("./guard.sh"), hook("hookwright bridge qwen")]}]);
        let text = serde_json::json!({"hooks": {crate::EventKind::BeforeTool.name(): definition}}).to_string();
        let declared = parse_layer(&Layer::new(Source::User, std::path::Path::new("f"), &text));
        assert_eq!(declared.hooks.iter().map(|hook| hook.id()).collect::<Vec<_>>(), ["./guard.sh"]);
        assert_eq!(declared.diagnostics, []);
    }

    #[test]
    #[cfg(unix)]
    fn a_program_inside_the_project_is_not_used() {
        let gate = installed_command("hookwright", NoAnswerPolicy::Deny);
        let refused = run_in_project(&gate, Some("exit 0"), true);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("only inside of this project"), "{refused:?}");
        // The same through an absolute path that leads into the project.
        let absolute = gate.replace("/bin/sh -c", "PATH=\"$PWD/bin:$PATH\"; export PATH; /bin/sh -c");
        assert_eq!(run_in_project(&absolute, Some("exit 0"), true).status.code(), Some(2));
        // The same from a folder below the repository's root, through a symbolic link.
        let below = format!(
            "git init -q . && mkdir sub && ln -s \"$PWD/bin\" ../link && PATH=\"$PWD/../link:$PATH\" && cd sub && {gate}"
        );
        let refused = run_in_project(&below, Some("exit 0"), true);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("only inside of this project"), "{refused:?}");
        let said = run_in_project(&installed_command("hookwright", NoAnswerPolicy::WarnOnly), Some("touch RAN"), true);
        assert_eq!(said.status.code(), Some(1), "{said:?}");
    }
}
