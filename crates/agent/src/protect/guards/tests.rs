//! Whose a change is: the user's, the agent's, or that of another session's agent.

use super::window::Window;
use super::*;
use hookwright_hooks::DISK_SILENT;
use hookwright_settings::{LoadOptions, World, load};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_tools::{ToolContext, ToolSet, Workspace};
use serde_json::json;

fn call(guards: &Arc<Guards>, allowed: Option<PathBuf>) -> Window {
    Window::opened(guards, WindowKind::Call, allowed)
}

fn end_turn(guards: &Arc<Guards>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(guards.rest());
}

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    world: World,
}

impl Place {
    /// A project with so many hooks, each with a script of its own.
    fn new(hooks: usize) -> Place {
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
        let world = World::new(env, root.clone());
        Place { _folder: folder, root, world }
    }

    fn load(&self) -> Loaded {
        load(&self.world, &LoadOptions { project: self.root.clone(), ..LoadOptions::default() })
    }

    /// A session's watch over its guards, and its hooks.
    fn session(&self) -> (Arc<Guards>, Vec<Arc<Hook>>, Arc<Groups>) {
        let loaded = self.load();
        let (root, world) = (self.root.clone(), self.world.clone());
        let again =
            move || Some(load(&world, &LoadOptions { project: root.clone(), ..LoadOptions::default() }).registry);
        let guards = Arc::new(Guards::new(&loaded, MadeOf::new(&loaded, &[]), &[], LedgerStart::Now, again));
        let groups = Arc::<Groups>::default();
        guards.arm(&loaded, &loaded.registry, &groups);
        (guards, loaded.registry.hooks().to_vec(), groups)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).unwrap();
    }
}

const SCRIPT: &str = ".gemini/hooks/0.sh";

/// Pieces of an answer come faster than files are looked at.
#[test]
fn what_changes_while_hooks_run_is_found_by_the_next_look_and_not_the_users() {
    for how in [0, 1, 2] {
        let place = Place::new(1);
        let (guards, hooks, _) = place.session();
        for _ in 0..3 {
            drop(Window::opened(&guards, WindowKind::HooksOfTurn, None));
        }
        {
            let _event = Window::opened(&guards, WindowKind::HooksOfTurn, None);
            place.write(SCRIPT, "exit 0");
        }
        // A moment later, whoever looks.
        match how {
            0 => end_turn(&guards),
            1 => drop(call(&guards, None)),
            _ => drop(guards.look()),
        }
        assert!(guards.challenge(&hooks[0]).is_err(), "{how}");
        assert_eq!(guards.take_news().len(), 1, "{how}");
    }
    // After a turn, changes are the user's again.
    let place = Place::new(1);
    let (guards, hooks, _) = place.session();
    for _ in 0..3 {
        drop(Window::opened(&guards, WindowKind::HooksOfTurn, None));
    }
    end_turn(&guards);
    place.write(SCRIPT, "exit 0");
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
}

#[test]
fn what_changes_during_a_call_is_the_agents_and_what_changes_else_is_the_users() {
    let place = Place::new(2);
    let (guards, hooks, _) = place.session();
    place.write(SCRIPT, "exit 3");
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
    }
    assert!(!guards.look() && guards.challenge(&hooks[1]).is_ok());
    // The model may read this, and is not told how to trust what it did.
    let words = guards.challenge(&hooks[0]).unwrap_err();
    assert!(words.contains("a person must look at it") && !words.contains("hooks trust"), "{words}");
    let news = guards.take_news();
    assert_eq!(news.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), [SCRIPT]);
    assert!(news[0].diff.as_ref().unwrap().contains("+exit 0"));
    // What was shown is what is trusted, not what came after it.
    place.write(SCRIPT, "exit 1");
    guards.trust(&news);
    assert!(guards.challenge(&hooks[0]).is_err());
    guards.trust(&guards.waiting());
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
}

#[test]
fn a_change_at_once_and_of_the_same_size_is_seen() {
    let place = Place::new(1);
    place.write(SCRIPT, "exit 2");
    let (guards, hooks, _) = place.session();
    let _call = call(&guards, None);
    place.write(SCRIPT, "exit 0");
    assert!(guards.challenge(&hooks[0]).is_err());
}

#[test]
fn a_change_that_is_taken_back_is_none() {
    let place = Place::new(1);
    let (guards, hooks, _) = place.session();
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
        assert!(guards.challenge(&hooks[0]).is_err());
        place.write(SCRIPT, "exit 2");
    }
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
}

#[test]
fn what_the_user_let_a_call_change_is_the_users() {
    let place = Place::new(1);
    let (guards, hooks, _) = place.session();
    {
        let _call = call(&guards, Some(place.root.join(SCRIPT)));
        place.write(SCRIPT, "exit 0");
        place.write(".gemini/settings.json", "{}");
    }
    let changed: Vec<String> = guards.waiting().into_iter().map(|change| change.path).collect();
    assert_eq!(changed, [".gemini/settings.json"]);
    assert!(guards.challenge(&hooks[0]).unwrap_err().contains("removed from .gemini/settings.json"));
}

#[test]
fn hooks_keep_notes_but_do_not_change_guards() {
    let place = Place::new(1);
    place.write("notes.sh", "");
    let hook = json!({"type": "command", "command": "sh .gemini/hooks/0.sh; wrapper ./notes.sh"});
    place.write(".gemini/settings.json", &json!({"hooks": {"AfterTool": [{"hooks": [hook]}]}}).to_string());
    let (guards, hooks, _) = place.session();
    {
        let _event = Window::opened(&guards, WindowKind::Hooks, None);
        place.write("notes.sh", "more");
    }
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
    {
        let _event = Window::opened(&guards, WindowKind::Hooks, None);
        place.write(SCRIPT, "exit 0");
    }
    assert!(!guards.look() && guards.challenge(&hooks[0]).is_err());
}

/// A server is a stranger that runs beside everything: between two events it is alone.
#[test]
fn what_changes_while_servers_run_is_noticed_before_the_next_hook_runs() {
    let place = Place::new(1);
    place.write("notes.sh", "");
    let (guards, hooks, _) = place.session();
    place.write(SCRIPT, "exit 0 # mine");
    guards.serve();
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok(), "what was changed before is the user's");
    place.write(SCRIPT, "exit 0");
    let refused = guards.challenge(&hooks[0]).unwrap_err();
    assert!(refused.contains("while the agent or an MCP server was at work"), "{refused}");
    assert!(!guards.look());
    guards.trust(&guards.waiting());
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok(), "a person has looked at it");
    guards.own_change(&place.root.join(SCRIPT), || place.write(SCRIPT, "exit 0 # again"));
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok(), "what the user does here is the user's");
}

#[test]
fn another_sessions_agent_is_known_while_it_works_and_afterwards() {
    let place = Place::new(1);
    let ((one, ..), (other, ..)) = (place.session(), place.session());
    {
        let _call = call(&one, None);
        place.write(SCRIPT, "exit 0");
        assert!(!other.look(), "it is at work");
    }
    let (later, ..) = place.session();
    place.write(SCRIPT, "exit 1");
    assert!(!later.look(), "it is on record");
    drop((one, other, later));
    let place = Place::new(1);
    let ((_one, ..), (other, ..)) = (place.session(), place.session());
    place.write(SCRIPT, "exit 0");
    assert!(other.look(), "nobody but the user");
}

/// What tells the model something, or has programs started for it, waits for trust as settings do.
#[test]
fn instructions_that_an_agent_writes_are_not_used() {
    let place = Place::new(1);
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
        guards.look();
        assert_eq!(guards.take_news().len(), 1, "{path}");
        assert!(guards.held_instructions().why(&file).is_some(), "{path}");
        drop(guards);
        // The next session knows it, too.
        let loaded = place.load();
        let made_of = MadeOf::new(&loaded, &[]);
        let left = pending(&loaded.paths, &place.root, &made_of.files);
        assert_eq!(left.len(), 1, "{path}");
        let next = Guards::new(&loaded, made_of, &left, LedgerStart::Now, || None);
        assert!(next.held_instructions().why(&file).is_some(), "{path}");
        next.trust(&next.waiting());
        assert!(next.held_instructions().why(&file).is_none(), "{path}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_token_that_the_user_signs_in_for_is_the_users() {
    let place = Place::new(1);
    let tokens = place.load().paths.mcp_tokens;
    std::fs::create_dir_all(tokens.parent().unwrap()).unwrap();
    let write = |url: &str| std::fs::write(&tokens, json!([{"serverName": "s", "tokenUrl": url}]).to_string()).unwrap();
    let (guards, ..) = place.session();
    guards.serve();
    write("https://users");
    guards.take_over(&tokens);
    assert!(guards.look(), "the user has signed in");
    {
        let _call = call(&guards, None);
        write("https://agents");
    }
    assert!(!guards.look());
    assert_eq!(guards.take_news()[0].diff, None, "tokens are not for showing");
}

#[test]
fn trust_that_is_given_elsewhere_counts_unless_a_call_gave_it() {
    let place = Place::new(1);
    let (guards, hooks, _) = place.session();
    let loaded = place.load();
    let trust_elsewhere = || {
        let changes = pending(&loaded.paths, &place.root, &loaded.guard_files(&[]));
        assert_eq!(changes.len(), 1);
        trust_changes(&place.root, &changes.iter().collect::<Vec<_>>()).unwrap();
    };
    {
        let _call = call(&guards, None);
        place.write(SCRIPT, "exit 0");
        assert!(guards.challenge(&hooks[0]).is_err());
        trust_elsewhere();
    }
    assert!(guards.challenge(&hooks[0]).is_err() && !guards.look());
    trust_elsewhere();
    assert!(guards.look() && guards.challenge(&hooks[0]).is_ok());
}

#[cfg(unix)]
#[tokio::test]
async fn what_changes_while_something_is_left_running_is_the_agents() {
    let waits = format!("while [ ! -e go ]; do sleep 0.01; done; : > {SCRIPT}");
    let background = json!({"command": waits.clone(), "is_background": true, "delay_ms": 0});
    // It holds no pipe, and then it is not in the call's group either.
    let silent = json!({"command": format!("({waits}) >/dev/null 2>&1 &")});
    let astray = json!({"command": format!("set -m; ({waits}) >/dev/null 2>&1 &")});
    for args in [background, silent, astray] {
        left_running(args).await;
    }
}

#[cfg(unix)]
async fn left_running(args: serde_json::Value) {
    let place = Place::new(1);
    let (guards, hooks, _) = place.session();
    let mut context = ToolContext::new(Workspace::new(&place.root, []).unwrap());
    context.environment = place.world.env.clone().into();
    let loaded = place.load();
    guards.arm(&loaded, &Registry::default(), &context.background);
    let tools = ToolSet::builtin(hookwright_tools::WebSearching::Impossible);
    {
        let window = guards.call(None).await.unwrap();
        tools.get("run_shell_command").unwrap().run(&args, &context).await;
        window.close().await;
    }
    assert!(guards.look());
    place.write("go", "");
    // It changes the guard and is gone before anybody looks.
    for _ in 0..6000 {
        if context.background.pids().is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(fs::read_to_string(place.root.join(SCRIPT)).unwrap(), "");
    assert!(!guards.look(), "{args}");
    drop(hooks);
}

/// A scan holds the state while it waits for the disk.
#[tokio::test]
async fn a_disk_that_does_not_answer_stops_calls_and_no_task_of_the_session() {
    let place = Place::new(1);
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
    // A window that times out is not counted later, and what its hooks changed is the agent's.
    assert!(guards.hooks().await.is_none());
    place.write(SCRIPT, "exit 0");
    assert!(guards.call(None).await.is_none(), "the call must not run");
    assert!(!guards.is_waiting() && guards.take_news().is_empty() && guards.waiting().is_empty());
    assert!(guards.held_instructions().why(&place.root).is_none() && guards.stand_ins().is_empty());
    assert!(guards.take_troubles().iter().any(|text| text.contains(DISK_SILENT)));
    drop(answer);
    disk.join_in_time().unwrap();
    // The scans that timed out end by now; none of them has counted its window.
    assert!(!guards.rescan().await);
    assert!(guards.challenge(&hooks[0]).is_err());
    assert_eq!(guards.take_news().len(), 1);
    guards.trust(&guards.waiting());
    place.write(SCRIPT, "exit 0 # the user's");
    assert!(guards.rescan().await, "{:?}", guards.waiting());
}

/// A turn that is cancelled drops its window, or the future that opens it.
#[tokio::test]
async fn a_window_that_is_dropped_is_closed() {
    let place = Place::new(1);
    let (guards, _, _) = place.session();
    for is_opened in [true, false] {
        let opening = guards.call(None);
        if is_opened {
            drop(opening.await);
        } else {
            drop(tokio::time::timeout(Duration::ZERO, opening).await);
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while guards.state().calls > 0 {
            assert!(Instant::now() < deadline, "the window stays open");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    place.write(SCRIPT, "exit 0 # the user's");
    assert!(guards.rescan().await);
}

/// `cargo test --release -p hookwright-agent --lib -- --ignored --nocapture what_watching_costs`
#[test]
#[ignore = "a measurement, not a check"]
fn what_watching_costs() {
    let place = Place::new(20);
    let (guards, hooks, _) = place.session();
    // Files that were just written are read again until their times can be relied on.
    std::thread::sleep(std::time::Duration::from_millis(200));
    guards.look();
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
    measure("one look at everything", &|| assert!(guards.look()));
    measure("at the start of one hook", &|| assert!(guards.challenge(&hooks[7]).is_ok()));
    measure("nothing to watch", &|| drop(call(&Arc::default(), None)));
}
