//! Tests of the attribution of changes: to the user, the agent, or another session's agent.

use super::window::TamperWindow;
use super::*;
use hookwright_hooks::DISK_TIMEOUT_MESSAGE;
use hookwright_settings::{LoadOptions, ProcessEnv, load};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_tools::{ToolContext, ToolSet, Workspace};
use serde_json::json;

fn call(guards: &Arc<TamperWatch>, allowed: Option<PathBuf>) -> TamperWindow {
    TamperWindow::open_for_test(guards, TamperWindowKind::Call, allowed)
}

fn end_turn(guards: &Arc<TamperWatch>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(guards.end_turn());
}

struct TamperWatchFixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    world: ProcessEnv,
}

impl TamperWatchFixture {
    /// Creates a project with this number of hooks, each with its own script.
    fn new(hooks: usize) -> TamperWatchFixture {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("project");
        std::fs::create_dir_all(root.join(".gemini/hooks")).unwrap();
        let list: Vec<_> = (0..hooks)
            .map(|at| {
                std::fs::write(root.join(format!(".gemini/hooks/{at}.sh")), "exit 2").unwrap();
                json!({"type": "command", "name": format!("hook{at}"), "command": format!("sh .gemini/hooks/{at}.sh")})
            })
            .collect();
        let settings = json!({"hooks": {"BeforeTool": [{"hooks": list}]}});
        std::fs::write(root.join(".gemini/settings.json"), settings.to_string()).unwrap();
        let env = vec![
            ("HOME".into(), top.join("home").into_os_string()),
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), top.join("system.json").into_os_string()),
        ];
        let world = ProcessEnv::new(env, root.clone());
        TamperWatchFixture { _folder: folder, root, world }
    }

    fn load(&self) -> LoadedConfig {
        load(&self.world, &LoadOptions { project: self.root.clone(), ..LoadOptions::default() })
    }

    /// Starts a session's watch, and returns it with the hooks.
    fn session(&self) -> (Arc<TamperWatch>, Vec<Arc<Hook>>, Arc<ProcessGroups>) {
        let loaded = self.load();
        let (root, world) = (self.root.clone(), self.world.clone());
        let again =
            move || Some(load(&world, &LoadOptions { project: root.clone(), ..LoadOptions::default() }).registry);
        let guards =
            Arc::new(TamperWatch::new(&loaded, GuardedFiles::new(&loaded, &[]), &[], LedgerStart::Immediate, again));
        let groups = Arc::<ProcessGroups>::default();
        guards.arm(&loaded, &loaded.registry, &groups);
        (guards, loaded.registry.hooks().to_vec(), groups)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).unwrap();
    }
}

const SCRIPT: &str = ".gemini/hooks/0.sh";

/// The pieces of an answer arrive faster than files are scanned.
#[test]
fn changes_during_hooks_are_found_by_the_next_rescan() {
    for how in [0, 1, 2] {
        let place = TamperWatchFixture::new(1);
        let (guards, hooks, _) = place.session();
        for _ in 0..3 {
            drop(TamperWindow::open_for_test(&guards, TamperWindowKind::TurnHooks, None));
        }
        {
            let _event = TamperWindow::open_for_test(&guards, TamperWindowKind::TurnHooks, None);
            place.write(SCRIPT, "exit 0");
        }
        // The change is found a moment later, by whichever scan comes next.
        match how {
            0 => end_turn(&guards),
            1 => drop(call(&guards, None)),
            _ => drop(guards.rescan_blocking()),
        }
        assert!(guards.check(&hooks[0]).is_err(), "{how}");
        assert_eq!(guards.take_unreported_changes().len(), 1, "{how}");
    }
    // After a turn, changes are the user's again.
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    for _ in 0..3 {
        drop(TamperWindow::open_for_test(&guards, TamperWindowKind::TurnHooks, None));
    }
    end_turn(&guards);
    place.write(SCRIPT, "exit 0");
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
}

#[test]
fn changes_during_a_call_are_the_agents_and_others_the_users() {
    let place = TamperWatchFixture::new(2);
    let (guards, hooks, _) = place.session();
    place.write(SCRIPT, "exit 3");
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
    }
    assert!(!guards.rescan_blocking() && guards.check(&hooks[1]).is_ok());
    // The model may read this message, so it does not say how to trust the change.
    let words = guards.check(&hooks[0]).unwrap_err();
    assert!(words.contains("a person must review it") && !words.contains("hooks trust"), "{words}");
    let news = guards.take_unreported_changes();
    assert_eq!(news.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), [SCRIPT]);
    assert!(news[0].diff.as_ref().unwrap().contains("+exit 0"));
    // Trust covers the state that was shown, not a later one.
    place.write(SCRIPT, "exit 1");
    guards.trust(&news);
    assert!(guards.check(&hooks[0]).is_err());
    guards.trust(&guards.untrusted_changes());
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
}

#[test]
fn immediate_change_of_the_same_size_is_detected() {
    let place = TamperWatchFixture::new(1);
    place.write(SCRIPT, "exit 2");
    let (guards, hooks, _) = place.session();
    let _call = call(&guards, None);
    place.write(SCRIPT, "exit 0");
    assert!(guards.check(&hooks[0]).is_err());
}

#[test]
fn reverted_change_is_not_reported() {
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
        assert!(guards.check(&hooks[0]).is_err());
        place.write(SCRIPT, "exit 2");
    }
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
}

#[test]
fn approved_change_of_a_call_is_trusted() {
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    {
        let _call = call(&guards, Some(place.root.join(SCRIPT)));
        place.write(SCRIPT, "exit 0");
        place.write(".gemini/settings.json", "{}");
    }
    let changed: Vec<String> = guards.untrusted_changes().into_iter().map(|change| change.path).collect();
    assert_eq!(changed, [".gemini/settings.json"]);
    assert!(guards.check(&hooks[0]).unwrap_err().contains("removed from .gemini/settings.json"));
}

#[test]
fn hooks_may_write_notes_but_not_guards() {
    let place = TamperWatchFixture::new(1);
    place.write("notes.sh", "");
    let hook = json!({"type": "command", "command": "sh .gemini/hooks/0.sh; wrapper ./notes.sh"});
    place.write(".gemini/settings.json", &json!({"hooks": {"AfterTool": [{"hooks": [hook]}]}}).to_string());
    let (guards, hooks, _) = place.session();
    {
        let _event = TamperWindow::open_for_test(&guards, TamperWindowKind::Hooks, None);
        place.write("notes.sh", "more");
    }
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
    {
        let _event = TamperWindow::open_for_test(&guards, TamperWindowKind::Hooks, None);
        place.write(SCRIPT, "exit 0");
    }
    assert!(!guards.rescan_blocking() && guards.check(&hooks[0]).is_err());
}

/// An MCP server runs all the time, also between two events.
#[test]
fn server_changes_are_found_before_the_next_hook_runs() {
    let place = TamperWatchFixture::new(1);
    place.write("notes.sh", "");
    let (guards, hooks, _) = place.session();
    place.write(SCRIPT, "exit 0 # mine");
    guards.note_servers_started();
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok(), "what was changed before is the user's");
    place.write(SCRIPT, "exit 0");
    let refused = guards.check(&hooks[0]).unwrap_err();
    assert!(refused.contains("while the agent or an MCP server was at work"), "{refused}");
    assert!(!guards.rescan_blocking());
    guards.trust(&guards.untrusted_changes());
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok(), "a person has looked at it");
    guards.with_user_change(&place.root.join(SCRIPT), || place.write(SCRIPT, "exit 0 # again"));
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok(), "what the user does here is the user's");
}

#[test]
fn other_sessions_agent_is_recognised_during_and_after_its_work() {
    let place = TamperWatchFixture::new(1);
    let ((one, ..), (other, ..)) = (place.session(), place.session());
    {
        let _call = call(&one, None);
        place.write(SCRIPT, "exit 0");
        assert!(!other.rescan_blocking(), "it is at work");
    }
    let (later, ..) = place.session();
    place.write(SCRIPT, "exit 1");
    assert!(!later.rescan_blocking(), "it is on record");
    drop((one, other, later));
    let place = TamperWatchFixture::new(1);
    let ((_one, ..), (other, ..)) = (place.session(), place.session());
    place.write(SCRIPT, "exit 0");
    assert!(other.rescan_blocking(), "nobody but the user");
}

/// Instructions to the model, and definitions that start programs, wait for trust as settings do.
#[test]
fn untrusted_instructions_are_not_used() {
    let place = TamperWatchFixture::new(1);
    let home = place.root.with_file_name("home");
    for (path, is_user) in [
        ("agents/new.md", true),
        ("agents/known.md", true),
        ("agents/known.md", false),
        ("commands/new.toml", true),
        ("commands/git/new.toml", false),
        ("commands/empty/new.toml", true),
        ("system.md", false),
    ] {
        let base = if is_user { &home } else { &place.root };
        std::fs::create_dir_all(base.join(".gemini/commands/empty")).unwrap();
        for known in ["agents/known.md", "commands/git/known.toml"] {
            std::fs::create_dir_all(base.join(".gemini").join(known).parent().unwrap()).unwrap();
            std::fs::write(base.join(".gemini").join(known), "known").unwrap();
        }
        let file = base.join(".gemini").join(path);
        let (guards, ..) = place.session();
        {
            let _call = call(&guards, None);
            std::fs::write(&file, "trust me").unwrap();
        }
        guards.rescan_blocking();
        assert_eq!(guards.take_unreported_changes().len(), 1, "{path}");
        assert!(guards.untrusted_instructions().reason_for(&file).is_some(), "{path}");
        drop(guards);
        // The next session knows it, too.
        let loaded = place.load();
        let made_of = GuardedFiles::new(&loaded, &[]);
        let left = pending_changes(&loaded.paths, &place.root, &made_of.files);
        assert_eq!(left.len(), 1, "{path}");
        let next = TamperWatch::new(&loaded, made_of, &left, LedgerStart::Immediate, || None);
        assert!(next.untrusted_instructions().reason_for(&file).is_some(), "{path}");
        next.trust(&next.untrusted_changes());
        assert!(next.untrusted_instructions().reason_for(&file).is_none(), "{path}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn sign_in_token_is_a_user_change() {
    let place = TamperWatchFixture::new(1);
    let tokens = place.load().paths.mcp_tokens;
    std::fs::create_dir_all(tokens.parent().unwrap()).unwrap();
    let write = |url: &str| std::fs::write(&tokens, json!([{"serverName": "s", "tokenUrl": url}]).to_string()).unwrap();
    let (guards, ..) = place.session();
    guards.note_servers_started();
    write("https://users");
    guards.accept_user_change(&tokens);
    assert!(guards.rescan_blocking(), "the user has signed in");
    {
        let _call = call(&guards, None);
        write("https://agents");
    }
    assert!(!guards.rescan_blocking());
    assert_eq!(guards.take_unreported_changes()[0].diff, None, "tokens are not for showing");
}

#[test]
fn external_trust_counts_unless_a_call_gave_it() {
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    let loaded = place.load();
    let trust_elsewhere = || {
        let changes = pending_changes(&loaded.paths, &place.root, &loaded.guard_files(&[]));
        assert_eq!(changes.len(), 1);
        trust_changes(&place.root, &changes.iter().collect::<Vec<_>>()).unwrap();
    };
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
        assert!(guards.check(&hooks[0]).is_err());
        trust_elsewhere();
    }
    assert!(guards.check(&hooks[0]).is_err() && !guards.rescan_blocking());
    trust_elsewhere();
    assert!(guards.rescan_blocking() && guards.check(&hooks[0]).is_ok());
}

#[cfg(unix)]
#[tokio::test]
async fn changes_while_background_processes_run_are_the_agents() {
    let waits = format!("while [ ! -e go ]; do sleep 0.01; done; : > {SCRIPT}");
    let background = json!({"command": waits.clone(), "is_background": true, "delay_ms": 0});
    // The process holds no pipe, and then it is not in the call's process group either.
    let silent = json!({"command": format!("({waits}) >/dev/null 2>&1 &")});
    let astray = json!({"command": format!("set -m; ({waits}) >/dev/null 2>&1 &")});
    for args in [background, silent, astray] {
        check_background_changes(args).await;
    }
}

#[cfg(unix)]
async fn check_background_changes(args: serde_json::Value) {
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    let mut context = ToolContext::new(Workspace::new(&place.root, []).unwrap());
    context.environment = place.world.env.clone().into();
    let loaded = place.load();
    guards.arm(&loaded, &Registry::default(), &context.process_groups);
    let tools = ToolSet::builtin(hookwright_tools::WebSearchSupport::Unavailable);
    {
        let window = guards.open_call_window(None).await.unwrap();
        tools.get("run_shell_command").unwrap().run(&args, &context).await;
        window.close().await;
    }
    assert!(guards.rescan_blocking());
    place.write("go", "");
    // The process changes the guard and ends before the next scan.
    for _ in 0..6000 {
        if context.process_groups.pids().is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(fs::read_to_string(place.root.join(SCRIPT)).unwrap(), "");
    assert!(!guards.rescan_blocking(), "{args}");
    drop(hooks);
}

/// A scan holds the lock on the state while it waits for the disk.
#[tokio::test]
async fn a_disk_that_does_not_answer_stops_calls_and_no_task_of_the_session() {
    let place = TamperWatchFixture::new(1);
    let (guards, hooks, _) = place.session();
    let (answer, silence) = std::sync::mpsc::channel::<()>();
    let (held, holds) = std::sync::mpsc::channel();
    let disk = {
        let guards = guards.clone();
        std::thread::spawn(move || {
            let _state = guards.state();
            held.send(()).unwrap();
            let _ = silence.recv_in_time();
        })
    };
    holds.recv_in_time().unwrap();
    // A window that times out is not counted later, and the changes of its hooks are attributed to the agent.
    assert!(guards.open_hook_window().await.is_none());
    place.write(SCRIPT, "exit 0");
    assert!(guards.open_call_window(None).await.is_none(), "the call must not run");
    assert!(
        !guards.has_untrusted_changes()
            && guards.take_unreported_changes().is_empty()
            && guards.untrusted_changes().is_empty()
    );
    assert!(guards.untrusted_instructions().reason_for(&place.root).is_none() && guards.stand_ins().is_empty());
    assert!(guards.take_unreported_problems().iter().any(|text| text.contains(DISK_TIMEOUT_MESSAGE)));
    drop(answer);
    disk.join_in_time().unwrap();
    // The scans that timed out have ended by now; none of them has counted its window.
    assert!(!guards.rescan().await);
    assert!(guards.check(&hooks[0]).is_err());
    assert_eq!(guards.take_unreported_changes().len(), 1);
    guards.trust(&guards.untrusted_changes());
    place.write(SCRIPT, "exit 0 # the user's");
    assert!(guards.rescan().await, "{:?}", guards.untrusted_changes());
}

/// A cancelled turn drops its window, or the future that opens it.
#[tokio::test]
async fn a_window_that_is_dropped_is_closed() {
    let place = TamperWatchFixture::new(1);
    let (guards, _, _) = place.session();
    for is_opened in [true, false] {
        let opening = guards.open_call_window(None);
        if is_opened {
            drop(opening.await);
        } else {
            drop(tokio::time::timeout(Duration::ZERO, opening).await);
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while guards.state().running_calls > 0 {
            assert!(Instant::now() < deadline, "the window stays open");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    place.write(SCRIPT, "exit 0 # the user's");
    assert!(guards.rescan().await);
}

/// `cargo test --release -p hookwright-agent --lib -- --ignored --nocapture measure_tamper_watch_cost`
#[test]
#[ignore = "a measurement, not a check"]
fn measure_tamper_watch_cost() {
    let place = TamperWatchFixture::new(20);
    let (guards, hooks, _) = place.session();
    // Files that were just written are read again until their timestamps can be relied on.
    std::thread::sleep(std::time::Duration::from_millis(200));
    guards.rescan_blocking();
    let measure = |what: &str, work: &dyn Fn()| {
        const ROUNDS: u32 = 5000;
        let mut best = std::time::Duration::MAX;
        for _ in 0..5 {
            let since = std::time::Instant::now();
            (0..ROUNDS).for_each(|_| work());
            best = best.min(since.elapsed() / ROUNDS);
        }
        eprintln!("{what}: {best:?}");
    };
    measure("around a call, right after another look", &|| drop(call(&guards, None)));
    measure("one look at everything", &|| assert!(guards.rescan_blocking()));
    measure("at the start of one hook", &|| assert!(guards.check(&hooks[7]).is_ok()));
    measure("nothing to watch", &|| drop(call(&Arc::default(), None)));
}
