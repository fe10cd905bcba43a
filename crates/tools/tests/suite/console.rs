//! `run_shell_command` on a terminal that somebody shows.

use super::support::{Project, told};
use hookwright_tools::{CommandEnd, Console, Consoles, Live, Size, Terminal, ToolResult};
use serde_json::json;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Somebody who keeps what is drawn, and the way to type.
#[derive(Debug, Default)]
struct Shown {
    terminal: OnceLock<Terminal>,
    /// Whether somebody sits at the terminal from the beginning.
    attended: bool,
    drawn: Arc<Mutex<String>>,
}

impl Consoles for Shown {
    fn size(&self) -> Size {
        Size { columns: 90, rows: 20 }
    }

    fn open(&self, call_id: &str, terminal: &Terminal) -> Live {
        assert_eq!(call_id, "call");
        self.terminal.set(terminal.clone()).unwrap();
        terminal.attend(self.attended);
        let drawn = self.drawn.clone();
        Box::new(move |piece: &[u8]| drawn.lock().unwrap().push_str(&String::from_utf8_lossy(piece)))
    }
}

fn project() -> (Project, Arc<Shown>) {
    shown_by(Shown::default())
}

fn shown_by(shown: Shown) -> (Project, Arc<Shown>) {
    let mut project = Project::new();
    let shown = Arc::new(shown);
    project.ctx.console = Some(Console { shown_by: shown.clone(), call_id: "call".to_owned() });
    project.ctx.shell.grace = Duration::from_millis(200);
    (project, shown)
}

async fn run(project: &Project, command: &str) -> ToolResult {
    project.call("run_shell_command", json!({ "command": command })).await
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn the_model_is_told_words_and_the_screen_gets_everything() {
    let (project, shown) = project();
    let result = run(&project, "stty size; printf '\\033[31mred\\033[0m %s %s\\n' $TERM $PAGER; exit 3").await;
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Exited(3)));
    let text = told(&result);
    assert!(text.contains("Output: 20 90\nred xterm-256color cat\nExit Code: 3"), "{text}");
    assert!(shown.drawn.lock().unwrap().contains("\x1b[31mred\x1b[0m"));
    assert!(!text.contains("Background PIDs"), "who holds the terminal is nobody's: {text}");
    assert!(project.live.lock().unwrap().contains("red"));
}

#[tokio::test]
async fn what_runs_on_by_itself_or_may_have_none_has_pipes() {
    let (mut project, shown) = project();
    let args = json!({ "command": "[ -t 1 ] || echo piped", "is_background": true, "delay_ms": 5000 });
    assert!(told(&project.call("run_shell_command", args).await).contains("piped"));
    project.ctx.shell.interactive = false;
    assert!(told(&run(&project, "[ -t 1 ] || echo piped; cat").await).contains("piped"));
    assert!(shown.terminal.get().is_none());
}

#[tokio::test]
async fn silence_ends_a_command_unless_somebody_sits_at_it() {
    let (mut project, shown) = shown_by(Shown { attended: true, ..Shown::default() });
    let limit = Duration::from_millis(300);
    project.ctx.shell.inactivity_timeout = Some(limit);
    let sitting = async {
        until("it begins", || shown.drawn.lock().unwrap().contains("name?")).await;
        let terminal = shown.terminal.get().unwrap();
        // Silence is what is tested.
        tokio::time::sleep(2 * limit).await;
        assert!(terminal.type_in(b"wim\n"));
        terminal.attend(false);
    };
    let command = "printf name?; read name; echo \"hello $name\"; sleep 60";
    let (result, ()) = tokio::join!(run(&project, command), sitting);
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Inactive));
    assert!(told(&result).contains("hello wim"), "{}", told(&result));
}

#[tokio::test]
async fn a_cancelled_command_keeps_what_it_printed_and_nothing_of_it_runs_on() {
    let (project, shown) = project();
    let cancel = project.ctx.cancel.clone();
    let cancelling = async {
        until("it begins", || shown.drawn.lock().unwrap().contains("begun")).await;
        cancel.cancel();
    };
    let started = Instant::now();
    let (result, ()) =
        tokio::join!(run(&project, "trap '' TERM HUP INT; echo begun; while :; do sleep 1; done"), cancelling);
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Cancelled));
    assert!(told(&result).contains("begun"), "{}", told(&result));
    until("nobody is left", || !project.ctx.background.is_anybody_left()).await;
}

#[tokio::test]
async fn what_a_command_leaves_running_is_listed_and_can_be_ended_but_not_kept() {
    let (project, _) = project();
    let result = run(&project, "(while :; do echo talk; sleep 0.05; done) & echo left").await;
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Exited(0)));
    assert!(told(&result).contains("Background PIDs: "), "{}", told(&result));
    until("it is listed", || !project.ctx.jobs.list().is_empty()).await;
    let job = project.ctx.jobs.list().remove(0);
    assert!(job.keep().await.unwrap_err().to_string().contains("its terminal goes"));
    job.end().await;
    until("nobody is left", || !project.ctx.background.is_anybody_left()).await;
}
