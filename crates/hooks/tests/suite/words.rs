//! How commands start: programs that cannot, plain words without a shell, and that nobody can tell the difference.

use std::os::unix::fs::PermissionsExt;

use hookwright_hooks::{Action, EventKind, NotReady, RunStatus};
use hookwright_testkit::deadline::*;
use serde_json::json;

use super::world::{World, assert_proceeds, command, denied, environment, tool_call, warning, within};

/// Both ways to run a command: as plain words, and with something after it that only a shell understands.
fn both_ways(command: &str) -> [String; 2] {
    [command.to_owned(), format!("{command}; exit $?")]
}

#[tokio::test]
async fn a_script_that_is_not_executable() {
    let world = World::new();
    world.write("hook.sh", "#!/bin/sh\nexit 2\n");
    for command in both_ways("./hook.sh") {
        let outcome = world.run(&command).await;
        assert_proceeds(&outcome);
        assert!(warning(&outcome).starts_with("could not start: ./hook.sh: not executable"), "{:?}", outcome.warnings);
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
    }
}

#[tokio::test]
async fn a_script_that_is_a_directory() {
    let world = World::new();
    std::fs::create_dir(world.path("hook.sh")).unwrap();
    for command in both_ways("./hook.sh") {
        let outcome = world.run(&command).await;
        assert_proceeds(&outcome);
        assert!(warning(&outcome).starts_with("could not start: ./hook.sh: is a directory"), "{:?}", outcome.warnings);
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
    }
}

#[tokio::test]
async fn a_script_that_is_not_there() {
    let world = World::new();
    for command in both_ways("./hook.sh").into_iter().chain(both_ways("\"$GEMINI_PROJECT_DIR/hook.sh\"")) {
        let outcome = world.run(&command).await;
        assert_proceeds(&outcome);
        assert!(warning(&outcome).contains("hook.sh: no such file"), "{:?}", outcome.warnings);
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(127)));
    }
}

#[tokio::test]
async fn a_script_whose_interpreter_is_missing() {
    let world = World::new();
    world.executable("direct.sh", "#!/no/such/interpreter -x\nexit 2\n");
    world.executable("by-env.sh", "#!/usr/bin/env no-such-interpreter\nexit 2\n");
    world.executable("dos.sh", "#!/bin/sh\r\nexit 2\r\n");
    let missing =
        [("./direct.sh", "/no/such/interpreter"), ("./by-env.sh", "no-such-interpreter"), ("./dos.sh", "/bin/sh\r")];
    for (script, interpreter) in missing {
        for command in both_ways(script) {
            let outcome = world.run(&command).await;
            assert_proceeds(&outcome);
            let expected = format!("could not start: {script}: its interpreter {interpreter} is not installed");
            assert!(warning(&outcome).starts_with(&expected), "{command}: {:?}", outcome.warnings);
            assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(127)));
        }
    }
}

#[tokio::test]
async fn a_127_of_something_the_hook_called_is_the_hooks_own() {
    let outcome = World::new().run("true; no-such-program-anywhere").await;
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::Failed, Some(127)));
}

#[tokio::test]
async fn a_script_without_a_first_line_is_read_by_a_shell() {
    let world = World::new();
    world.executable("bare", "echo \"bare $1\" >&2\nexit 2\n");
    for command in both_ways("./bare 'a b'") {
        assert_eq!(denied(&world.run(&command).await), "bare a b");
    }
}

#[tokio::test]
async fn the_check_says_beforehand_what_the_run_would_say() {
    let world = World::new();
    world.write("plain.sh", "exit 0");
    world.executable("good.sh", "#!/bin/sh\nexit 0\n");
    world.executable("bad.sh", "#!/no/such/interpreter\n");
    let hooks = json!([
        command("1", "./good.sh"),
        command("2", "./plain.sh"),
        command("3", "./bad.sh"),
        command("4", "./none.sh"),
        command("5", "sh ./none.sh"),
        command("6", "no-such-program-anywhere | cat"),
        command("7", "echo hi"),
        command("8", "."),
        command("9", "sh plain.sh"),
        command("10", "X=1 ./plain.sh >out"),
    ]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).build();
    let checks: Vec<_> = engine.registry().hooks().iter().map(|hook| engine.check(hook).err()).collect();
    assert_eq!(
        checks,
        [
            None,
            Some(NotReady::NotExecutable("./plain.sh".into())),
            Some(NotReady::NoInterpreter { script: "./bad.sh".into(), interpreter: "/no/such/interpreter".into() }),
            Some(NotReady::Missing("./none.sh".into())),
            Some(NotReady::Missing("./none.sh".into())),
            Some(NotReady::NotFound("no-such-program-anywhere".into())),
            None,
            None,
            None,
            Some(NotReady::NotExecutable("./plain.sh".into())),
        ]
    );
}

/// A folder name that takes quoting seriously.
const AWKWARD: &str = "it's \"my\" $HOME `x` project";

#[tokio::test]
async fn the_project_directory_may_hold_spaces_and_quotes() {
    let world = World::named(AWKWARD);
    world.executable("hooks/guard.sh", "#!/bin/sh\nprintf '%s|%s' \"$0\" \"$1\" >&2\nexit 2\n");
    world.write("hooks/plain.sh", "printf '%s|%s' \"$0\" \"$1\" >&2\nexit 2\n");
    let dir = world.dir().display();
    for variable in ["$GEMINI_PROJECT_DIR", "${GEMINI_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "$GEMINI_CWD"] {
        let spellings = [
            format!("{variable}/hooks/guard.sh a"),
            format!("\"{variable}/hooks/guard.sh\" a"),
            format!("\"{variable}\"/hooks/guard.sh 'a'"),
        ];
        for spelling in spellings {
            for command in both_ways(&spelling) {
                let outcome = world.run(&command).await;
                assert_eq!(denied(&outcome), format!("{dir}/hooks/guard.sh|a"), "{command}");
            }
        }
        for command in both_ways(&format!("sh {variable}/hooks/plain.sh a")) {
            assert_eq!(denied(&world.run(&command).await), format!("{dir}/hooks/plain.sh|a"), "{command}");
        }
    }
}

#[tokio::test]
async fn single_quotes_keep_a_variable_from_being_expanded() {
    let world = World::new();
    world.executable("show.sh", "#!/bin/sh\nprintf '%s' \"$1\" >&2\nexit 2\n");
    for command in both_ways("./show.sh '$GEMINI_PROJECT_DIR'") {
        assert_eq!(denied(&world.run(&command).await), "$GEMINI_PROJECT_DIR");
    }
}

#[tokio::test]
async fn the_sessions_variables_and_the_hooks_own_are_in_the_environment() {
    let world = World::new();
    world.executable(
        "env.sh",
        "#!/bin/sh\nfor name in GEMINI_PROJECT_DIR CLAUDE_PROJECT_DIR GEMINI_CWD GEMINI_SESSION_ID GEMINI_PLANS_DIR OWN; do\n\
         eval \"echo $name=\\$$name\"; done >&2; exit 2\n",
    );
    let dir = world.dir().display();
    let expected = format!(
        "GEMINI_PROJECT_DIR={dir}\nCLAUDE_PROJECT_DIR={dir}\nGEMINI_CWD={dir}\nGEMINI_SESSION_ID=session-1\n\
         GEMINI_PLANS_DIR={dir}/plans\nOWN=a 'b' $c"
    );
    for command in both_ways("./env.sh") {
        let hook = json!({"type": "command", "command": command, "env": {"OWN": "a 'b' $c"}});
        assert_eq!(denied(&world.run_hook(hook).await), expected);
    }
}

#[tokio::test]
async fn a_hooks_own_variables_come_before_the_sessions() {
    let world = World::new();
    world.executable("show.sh", "#!/bin/sh\necho \"$1 $GEMINI_SESSION_ID\" >&2\nexit 2\n");
    for command in both_ways("./show.sh $GEMINI_SESSION_ID") {
        let hook = json!({"type": "command", "command": command, "env": {"GEMINI_SESSION_ID": "mine"}});
        assert_eq!(denied(&world.run_hook(hook).await), "mine mine");
    }
}

#[tokio::test]
async fn a_hooks_own_path_is_where_its_program_is_looked_for() {
    let world = World::new();
    world.executable("bin/only-here", "#!/bin/sh\necho found >&2\nexit 2\n");
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    for command in both_ways("only-here") {
        let hook = json!({"type": "command", "command": command, "env": {"PATH": path}});
        assert_eq!(denied(&world.run_hook(hook).await), "found", "{command}");
    }
}

/// A script that tells everything a program can see of how it was started.
const TELL: &str = r#"#!/bin/sh
printf 'name %s\n' "$0"
printf 'argument <%s>\n' "$@"
printf 'directory %s\n' "$(pwd -P)"
env | grep -v -e '^_=' -e '^SHLVL=' -e '^OLDPWD=' | sort
printf 'input %s\n' "$(cat | sed 's/"timestamp":"[^"]*"//')"
printf 'leads its group %s\n' "$(test "$(ps -o pgid= -p $$ | tr -d ' ')" != "$(ps -o pgid= -p "$TESTER" | tr -d ' ')" && echo yes)"
"#;

#[tokio::test]
async fn a_program_cannot_tell_whether_a_shell_started_it() {
    let world = World::named("a b");
    world.executable("sub/tell.sh", TELL);
    world.executable("bin/on-path", TELL);
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
        for command in both_ways(plain) {
            let hooks = json!([{"type": "command", "name": "h", "command": command, "env": {"OWN": "1"}}]);
            let engine = world.hooks(EventKind::BeforeTool, hooks).environment(env.clone()).build();
            let outcome = within(engine.fire(&tool_call())).await;
            assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
            told.push(outcome.messages[0].text.clone());
        }
        assert_eq!(told[0], told[1], "{plain}");
        assert!(told[0].contains("leads its group yes"), "{}", told[0]);
    }
}

#[tokio::test]
async fn exits_and_complaints_are_the_same_with_and_without_a_shell() {
    let world = World::new();
    world.executable("ends.sh", "#!/bin/sh\necho out; echo complaint >&2; exit $1\n");
    world.executable("dies.sh", "#!/bin/sh\nkill -TERM $$\n");
    for code in [0, 1, 2, 3, 126, 127, 255] {
        let [direct, shell] = both_ways(&format!("./ends.sh {code}"));
        let (direct, shell) = (world.run(&direct).await, world.run(&shell).await);
        assert_eq!(direct.verdict, shell.verdict);
        assert_eq!(direct.runs[0].exit_code, shell.runs[0].exit_code);
        assert_eq!((&direct.runs[0].stdout, &direct.runs[0].stderr), (&shell.runs[0].stdout, &shell.runs[0].stderr));
        let texts = |said: &[hookwright_hooks::Said]| said.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&direct.warnings), texts(&shell.warnings));
    }
    let outcome = world.run("./dies.sh").await;
    assert_eq!((outcome.runs[0].status, outcome.runs[0].signal), (RunStatus::Signaled, Some(15)));
}

#[tokio::test]
async fn standard_streams_are_pipes_that_can_be_opened_by_name() {
    let world = World::new();
    world.executable(
        "streams.sh",
        "#!/bin/sh\nfor fd in 0 1 2; do [ -p /dev/fd/$fd ] || echo \"$fd is no pipe\" >&2; done\n\
         grep -c tool_name /dev/stdin >/dev/stdout\necho logged >/dev/stderr\n",
    );
    for command in both_ways("./streams.sh") {
        let outcome = world.run(&command).await;
        assert_eq!(outcome.runs[0].stderr.text, "logged\n");
        assert_eq!(outcome.messages[0].text, "1");
    }
}

#[tokio::test]
async fn a_hook_leads_a_process_group_of_its_own() {
    let world = World::new();
    let script = world.executable(
        "group.sh",
        "#!/bin/sh\nps -o pid=,pgid= -p $$ | awk '{ print ($1 == $2) ? \"own\" : \"shared\" }'\n",
    );
    for command in [script.display().to_string(), "sh group.sh".to_owned()] {
        assert_eq!(world.run(&command).await.messages[0].text, "own", "{command}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_other_descriptor_leaks_into_a_hook() {
    let world = World::new();
    // What this process itself was given is not the engine's doing.
    let bare = std::process::Command::new("ls").arg("/proc/self/fd").output_in_time().unwrap();
    let outcome = world.run("ls /proc/self/fd").await;
    assert_eq!(outcome.runs[0].stdout.text, String::from_utf8(bare.stdout).unwrap());
}

#[tokio::test]
async fn the_shells_idea_of_the_directory_is_not_stale() {
    let world = World::new();
    for command in both_ways("printenv PWD") {
        let mut env = environment();
        env.push(("PWD".into(), "/somewhere/else".into()));
        let hooks = json!([{"type": "command", "command": command}]);
        let engine = world.hooks(EventKind::BeforeTool, hooks).environment(env).build();
        let outcome = within(engine.fire(&tool_call())).await;
        assert_eq!(outcome.messages[0].text, world.dir().display().to_string(), "{command}");
    }
}

#[tokio::test]
async fn without_a_search_path_there_is_still_the_usual_one() {
    let world = World::new();
    for command in both_ways("cat /dev/null") {
        let hooks = json!([{"type": "command", "command": command}]);
        let engine = world.hooks(EventKind::BeforeTool, hooks).environment([]).build();
        let outcome = within(engine.fire(&tool_call())).await;
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
}

#[tokio::test]
async fn a_relative_command_runs_in_the_sessions_directory() {
    let world = World::new();
    world.executable("nested/here.sh", "#!/bin/sh\npwd -P >&2\nexit 2\n");
    let engine = world.hooks(EventKind::BeforeTool, json!([command("h", "./here.sh")])).build();
    let mut session = world.session();
    session.cwd = world.path("nested");
    engine.set_session(session);
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(denied(&outcome), world.path("nested").display().to_string());
}

#[tokio::test]
async fn an_extensions_placeholders_survive_awkward_paths() {
    use hookwright_hooks::{HookEngine, Layer, Registry, Source, declare};
    let world = World::named(AWKWARD);
    world.executable("ext/run me.sh", "#!/bin/sh\necho \"ran $1 $FROM_EXTENSION\" >&2\nexit 2\n");
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
        let registry = Registry::new(vec![declare(&layer)]);
        let engine = HookEngine::builder(registry).session(world.session()).environment(environment()).build();
        assert_eq!(denied(&within(engine.fire(&tool_call())).await), "ran x yes", "{command}");
    }
}

#[tokio::test]
async fn the_command_stays_as_written_in_reports() {
    let world = World::new();
    let text = "sh -c 'exit 0' $GEMINI_PROJECT_DIR";
    let engine = world.hooks(EventKind::BeforeTool, json!([{"type": "command", "command": text}])).build();
    assert_eq!(within(engine.fire(&tool_call())).await.runs[0].hook, text);
    let registry = engine.registry();
    let Action::Command(action) = &registry.hooks()[0].action else { panic!("a command") };
    assert_eq!(action.command, text);
}

#[tokio::test]
async fn an_unreadable_program_is_no_crash() {
    let world = World::new();
    let path = world.executable("locked", "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let outcome = world.run("./locked").await;
    assert_proceeds(&outcome);
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::NotStarted, Some(126)));
}
