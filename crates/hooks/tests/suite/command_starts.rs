//! How commands start: programs that cannot be started, commands without a shell, and that a program cannot tell the
//! difference.

use std::os::unix::fs::PermissionsExt;

use hookwright_hooks::{Action, EventKind, ReadinessError, RunStatus};
use hookwright_testkit::deadline::*;
use serde_json::json;

use super::fixture::{
    EngineFixture, assert_proceeds, command_hook, deny_reason, environment, only_warning, tool_call, with_hang_timeout,
};

/// Returns both ways to run a command: without a shell, and with a suffix that needs one.
fn with_and_without_shell(command: &str) -> [String; 2] {
    [command.to_owned(), format!("{command}; exit $?")]
}

#[tokio::test]
async fn a_script_that_is_not_executable_is_reported() {
    let world = EngineFixture::new();
    world.write("hook.sh", "#!/bin/sh\nexit 2\n");
    for command in with_and_without_shell("./hook.sh") {
        let outcome = world.run_command(&command).await;
        assert_proceeds(&outcome);
        assert!(
            only_warning(&outcome).starts_with("could not start: ./hook.sh: not executable"),
            "{:?}",
            outcome.warnings
        );
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
    }
}

#[tokio::test]
async fn a_script_that_is_a_directory_is_reported() {
    let world = EngineFixture::new();
    std::fs::create_dir(world.path("hook.sh")).unwrap();
    for command in with_and_without_shell("./hook.sh") {
        let outcome = world.run_command(&command).await;
        assert_proceeds(&outcome);
        assert!(
            only_warning(&outcome).starts_with("could not start: ./hook.sh: is a directory"),
            "{:?}",
            outcome.warnings
        );
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
    }
}

#[tokio::test]
async fn a_missing_script_is_reported() {
    let world = EngineFixture::new();
    for command in
        with_and_without_shell("./hook.sh").into_iter().chain(with_and_without_shell("\"$GEMINI_PROJECT_DIR/hook.sh\""))
    {
        let outcome = world.run_command(&command).await;
        assert_proceeds(&outcome);
        assert!(only_warning(&outcome).contains("hook.sh: no such file"), "{:?}", outcome.warnings);
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(127)));
    }
}

#[tokio::test]
async fn a_script_with_a_missing_interpreter_is_reported() {
    let world = EngineFixture::new();
    world.write_executable("direct.sh", "#!/no/such/interpreter -x\nexit 2\n");
    world.write_executable("by-env.sh", "#!/usr/bin/env no-such-interpreter\nexit 2\n");
    world.write_executable("dos.sh", "#!/bin/sh\r\nexit 2\r\n");
    let missing =
        [("./direct.sh", "/no/such/interpreter"), ("./by-env.sh", "no-such-interpreter"), ("./dos.sh", "/bin/sh\r")];
    for (script, interpreter) in missing {
        for command in with_and_without_shell(script) {
            let outcome = world.run_command(&command).await;
            assert_proceeds(&outcome);
            let expected = format!("could not start: {script}: its interpreter {interpreter} is not installed");
            assert!(only_warning(&outcome).starts_with(&expected), "{command}: {:?}", outcome.warnings);
            assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(127)));
        }
    }
}

#[tokio::test]
async fn exit_127_of_a_called_program_is_the_hooks_exit_code() {
    let outcome = EngineFixture::new().run_command("true; no-such-program-anywhere").await;
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::Failed, Some(127)));
}

#[tokio::test]
async fn a_script_without_a_first_line_is_read_by_a_shell() {
    let world = EngineFixture::new();
    world.write_executable("bare", "echo \"bare $1\" >&2\nexit 2\n");
    for command in with_and_without_shell("./bare 'a b'") {
        assert_eq!(deny_reason(&world.run_command(&command).await), "bare a b");
    }
}

#[tokio::test]
async fn the_readiness_check_reports_what_the_run_would_report() {
    let world = EngineFixture::new();
    world.write("plain.sh", "exit 0");
    world.write_executable("good.sh", "#!/bin/sh\nexit 0\n");
    world.write_executable("bad.sh", "#!/no/such/interpreter\n");
    let hooks = json!([
        command_hook("1", "./good.sh"),
        command_hook("2", "./plain.sh"),
        command_hook("3", "./bad.sh"),
        command_hook("4", "./none.sh"),
        command_hook("5", "sh ./none.sh"),
        command_hook("6", "no-such-program-anywhere | cat"),
        command_hook("7", "echo hi"),
        command_hook("8", "."),
        command_hook("9", "sh plain.sh"),
        command_hook("10", "X=1 ./plain.sh >out"),
    ]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).build();
    let checks: Vec<_> = engine.registry().hooks().iter().map(|hook| engine.check_readiness(hook).err()).collect();
    assert_eq!(
        checks,
        [
            None,
            Some(ReadinessError::NotExecutable("./plain.sh".into())),
            Some(ReadinessError::NoInterpreter {
                script: "./bad.sh".into(),
                interpreter: "/no/such/interpreter".into()
            }),
            Some(ReadinessError::NoSuchFile("./none.sh".into())),
            Some(ReadinessError::NoSuchFile("./none.sh".into())),
            Some(ReadinessError::NotFound("no-such-program-anywhere".into())),
            None,
            None,
            None,
            Some(ReadinessError::NotExecutable("./plain.sh".into())),
        ]
    );
}

/// A folder name that has to be quoted with care.
const AWKWARD_DIR_NAME: &str = "it's \"my\" $HOME `x` project";

#[tokio::test]
async fn the_project_directory_may_hold_spaces_and_quotes() {
    let world = EngineFixture::with_dir_name(AWKWARD_DIR_NAME);
    world.write_executable("hooks/guard.sh", "#!/bin/sh\nprintf '%s|%s' \"$0\" \"$1\" >&2\nexit 2\n");
    world.write("hooks/plain.sh", "printf '%s|%s' \"$0\" \"$1\" >&2\nexit 2\n");
    let dir = world.dir().display();
    for variable in ["$GEMINI_PROJECT_DIR", "${GEMINI_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "$GEMINI_CWD"] {
        let spellings = [
            format!("{variable}/hooks/guard.sh a"),
            format!("\"{variable}/hooks/guard.sh\" a"),
            format!("\"{variable}\"/hooks/guard.sh 'a'"),
        ];
        for spelling in spellings {
            for command in with_and_without_shell(&spelling) {
                let outcome = world.run_command(&command).await;
                assert_eq!(deny_reason(&outcome), format!("{dir}/hooks/guard.sh|a"), "{command}");
            }
        }
        for command in with_and_without_shell(&format!("sh {variable}/hooks/plain.sh a")) {
            assert_eq!(deny_reason(&world.run_command(&command).await), format!("{dir}/hooks/plain.sh|a"), "{command}");
        }
    }
}

#[tokio::test]
async fn single_quotes_keep_a_variable_from_being_expanded() {
    let world = EngineFixture::new();
    world.write_executable("show.sh", "#!/bin/sh\nprintf '%s' \"$1\" >&2\nexit 2\n");
    for command in with_and_without_shell("./show.sh '$GEMINI_PROJECT_DIR'") {
        assert_eq!(deny_reason(&world.run_command(&command).await), "$GEMINI_PROJECT_DIR");
    }
}

#[tokio::test]
async fn the_sessions_variables_and_the_hooks_own_are_in_the_environment() {
    let world = EngineFixture::new();
    world.write_executable(
        "env.sh",
        "#!/bin/sh\nfor name in GEMINI_PROJECT_DIR CLAUDE_PROJECT_DIR GEMINI_CWD GEMINI_SESSION_ID GEMINI_PLANS_DIR OWN; do\n\
         eval \"echo $name=\\$$name\"; done >&2; exit 2\n",
    );
    let dir = world.dir().display();
    let expected = format!(
        "GEMINI_PROJECT_DIR={dir}\nCLAUDE_PROJECT_DIR={dir}\nGEMINI_CWD={dir}\nGEMINI_SESSION_ID=session-1\n\
         GEMINI_PLANS_DIR={dir}/plans\nOWN=a 'b' $c"
    );
    for command in with_and_without_shell("./env.sh") {
        let hook = json!({"type": "command", "command": command, "env": {"OWN": "a 'b' $c"}});
        assert_eq!(deny_reason(&world.run_hook(hook).await), expected);
    }
}

#[tokio::test]
async fn a_hooks_own_variables_come_before_the_sessions() {
    let world = EngineFixture::new();
    world.write_executable("show.sh", "#!/bin/sh\necho \"$1 $GEMINI_SESSION_ID\" >&2\nexit 2\n");
    for command in with_and_without_shell("./show.sh $GEMINI_SESSION_ID") {
        let hook = json!({"type": "command", "command": command, "env": {"GEMINI_SESSION_ID": "mine"}});
        assert_eq!(deny_reason(&world.run_hook(hook).await), "mine mine");
    }
}

#[tokio::test]
async fn a_hooks_own_path_is_where_its_program_is_looked_for() {
    let world = EngineFixture::new();
    world.write_executable("bin/only-here", "#!/bin/sh\necho found >&2\nexit 2\n");
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    for command in with_and_without_shell("only-here") {
        let hook = json!({"type": "command", "command": command, "env": {"PATH": path}});
        assert_eq!(deny_reason(&world.run_hook(hook).await), "found", "{command}");
    }
}

/// A script that prints everything that a program can see of how it was started.
const REPORT_SCRIPT: &str = r#"#!/bin/sh
printf 'name %s\n' "$0"
printf 'argument <%s>\n' "$@"
printf 'directory %s\n' "$(pwd -P)"
env | grep -v -e '^_=' -e '^SHLVL=' -e '^OLDPWD=' | sort
printf 'input %s\n' "$(cat | sed 's/"timestamp":"[^"]*"//')"
printf 'leads its group %s\n' "$(test "$(ps -o pgid= -p $$ | tr -d ' ')" != "$(ps -o pgid= -p "$TESTER" | tr -d ' ')" && echo yes)"
"#;

#[tokio::test]
async fn a_program_cannot_tell_whether_a_shell_started_it() {
    let world = EngineFixture::with_dir_name("a b");
    world.write_executable("sub/tell.sh", REPORT_SCRIPT);
    world.write_executable("bin/on-path", REPORT_SCRIPT);
    let mut env = environment();
    env[0].1.push(":");
    env[0].1.push(world.path("bin"));
    env.push(("TESTER".into(), std::process::id().to_string().into()));
    env.push(("PWD".into(), "/somewhere/else".into()));
    let commands = [
        "sub/tell.sh",
        "./sub/tell.sh one 'two words' \"three $GEMINI_SESSION_ID words\" '' a=b --x=y -",
        "\"$GEMINI_PROJECT_DIR\"/sub/tell.sh $GEMINI_PROJECT_DIR \"$GEMINI_CWD/x\" é%@+,:.",
        "on-path   spaced\tout ",
        "sh sub/tell.sh x",
    ];
    for plain in commands {
        let mut told = Vec::new();
        for command in with_and_without_shell(plain) {
            let hooks = json!([{"type": "command", "name": "h", "command": command, "env": {"OWN": "1"}}]);
            let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).environment(env.clone()).build();
            let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
            assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
            told.push(outcome.messages[0].text.clone());
        }
        assert_eq!(told[0], told[1], "{plain}");
        assert!(told[0].contains("leads its group yes"), "{}", told[0]);
    }
}

#[tokio::test]
async fn exits_and_errors_are_the_same_with_and_without_a_shell() {
    let world = EngineFixture::new();
    world.write_executable("ends.sh", "#!/bin/sh\necho out; echo complaint >&2; exit $1\n");
    world.write_executable("dies.sh", "#!/bin/sh\nkill -TERM $$\n");
    for code in [0, 1, 2, 3, 126, 127, 255] {
        let [direct, shell] = with_and_without_shell(&format!("./ends.sh {code}"));
        let (direct, shell) = (world.run_command(&direct).await, world.run_command(&shell).await);
        assert_eq!(direct.verdict, shell.verdict);
        assert_eq!(direct.runs[0].exit_code, shell.runs[0].exit_code);
        assert_eq!((&direct.runs[0].stdout, &direct.runs[0].stderr), (&shell.runs[0].stdout, &shell.runs[0].stderr));
        let texts =
            |said: &[hookwright_hooks::HookMessage]| said.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&direct.warnings), texts(&shell.warnings));
    }
    let outcome = world.run_command("./dies.sh").await;
    assert_eq!((outcome.runs[0].status, outcome.runs[0].signal), (RunStatus::Signaled, Some(15)));
}

#[tokio::test]
async fn standard_streams_are_pipes_that_can_be_opened_by_name() {
    let world = EngineFixture::new();
    world.write_executable(
        "streams.sh",
        "#!/bin/sh\nfor fd in 0 1 2; do [ -p /dev/fd/$fd ] || echo \"$fd is no pipe\" >&2; done\n\
         grep -c tool_name /dev/stdin >/dev/stdout\necho logged >/dev/stderr\n",
    );
    for command in with_and_without_shell("./streams.sh") {
        let outcome = world.run_command(&command).await;
        assert_eq!(outcome.runs[0].stderr.text, "logged\n");
        assert_eq!(outcome.messages[0].text, "1");
    }
}

#[tokio::test]
async fn a_hook_leads_a_process_group_of_its_own() {
    let world = EngineFixture::new();
    let script = world.write_executable(
        "group.sh",
        "#!/bin/sh\nps -o pid=,pgid= -p $$ | awk '{ print ($1 == $2) ? \"own\" : \"shared\" }'\n",
    );
    for command in [script.display().to_string(), "sh group.sh".to_owned()] {
        assert_eq!(world.run_command(&command).await.messages[0].text, "own", "{command}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_other_descriptor_leaks_into_a_hook() {
    let world = EngineFixture::new();
    // Descriptors that this process itself inherited are not opened by the engine.
    let bare = std::process::Command::new("ls").arg("/proc/self/fd").output_in_time().unwrap();
    let outcome = world.run_command("ls /proc/self/fd").await;
    assert_eq!(outcome.runs[0].stdout.text, String::from_utf8(bare.stdout).unwrap());
}

#[tokio::test]
async fn the_shells_idea_of_the_directory_is_not_stale() {
    let world = EngineFixture::new();
    for command in with_and_without_shell("printenv PWD") {
        let mut env = environment();
        env.push(("PWD".into(), "/somewhere/else".into()));
        let hooks = json!([{"type": "command", "command": command}]);
        let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).environment(env).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert_eq!(outcome.messages[0].text, world.dir().display().to_string(), "{command}");
    }
}

#[tokio::test]
async fn without_a_search_path_there_is_still_the_usual_one() {
    let world = EngineFixture::new();
    for command in with_and_without_shell("cat /dev/null") {
        let hooks = json!([{"type": "command", "command": command}]);
        let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).environment([]).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
}

#[tokio::test]
async fn a_relative_command_runs_in_the_sessions_directory() {
    let world = EngineFixture::new();
    world.write_executable("nested/here.sh", "#!/bin/sh\npwd -P >&2\nexit 2\n");
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", "./here.sh")])).build();
    let mut session = world.session();
    session.cwd = world.path("nested");
    engine.set_session(session);
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(deny_reason(&outcome), world.path("nested").display().to_string());
}

#[tokio::test]
async fn an_extensions_placeholders_survive_awkward_paths() {
    use hookwright_hooks::{HookEngine, Layer, Registry, Source, parse_layer};
    let world = EngineFixture::with_dir_name(AWKWARD_DIR_NAME);
    world.write_executable("ext/run me.sh", "#!/bin/sh\necho \"ran $1 $FROM_EXTENSION\" >&2\nexit 2\n");
    let path = world.path("ext").display().to_string();
    let commands = [
        "\"${extensionPath}${/}run me.sh\" x",
        "${extensionPath}/'run me.sh' x",
        "\"${extensionPath}/run me.sh\" x | cat >&2; exit 2",
    ];
    for command in commands {
        let settings =
            json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}).to_string();
        let mut layer = Layer::new(Source::Extension("e".into()), "hooks.json".as_ref(), &settings);
        layer.placeholders = vec![("extensionPath".into(), path.clone()), ("/".into(), "/".into())];
        layer.env = vec![("FROM_EXTENSION".into(), "yes".into())];
        let registry = Registry::new(vec![parse_layer(&layer)]);
        let engine = HookEngine::builder(registry).session(world.session()).environment(environment()).build();
        assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await), "ran x yes", "{command}");
    }
}

#[tokio::test]
async fn the_command_stays_as_written_in_reports() {
    let world = EngineFixture::new();
    let text = "sh -c 'exit 0' $GEMINI_PROJECT_DIR";
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([{"type": "command", "command": text}])).build();
    assert_eq!(with_hang_timeout(engine.fire(&tool_call())).await.runs[0].hook, text);
    let registry = engine.registry();
    let Action::Command(action) = &registry.hooks()[0].action else { panic!("a command") };
    assert_eq!(action.command, text);
}

#[tokio::test]
async fn an_unreadable_program_is_no_crash() {
    let world = EngineFixture::new();
    let path = world.write_executable("locked", "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let outcome = world.run_command("./locked").await;
    assert_proceeds(&outcome);
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
}
