//! Tests `run_shell_command` on a terminal that a front end shows.

use super::support::{ToolTestProject, result_text};
use hookwright_tools::{
    CallConsole, CommandEnd, ConsoleHost, OutputCallback, PseudoTerminal, TerminalSize, ToolResult,
};
use serde_json::json;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A front end that records the output, and can type.
#[derive(Debug, Default)]
struct FakeConsoleHost {
    terminal: OnceLock<PseudoTerminal>,
    /// Whether a user is at the terminal from the beginning.
    is_attended: bool,
    output: Arc<Mutex<String>>,
}

impl ConsoleHost for FakeConsoleHost {
    fn size(&self) -> TerminalSize {
        TerminalSize { columns: 90, rows: 20 }
    }

    fn open(&self, call_id: &str, terminal: &PseudoTerminal) -> OutputCallback {
        assert_eq!(call_id, "call");
        self.terminal.set(terminal.clone()).unwrap();
        terminal.set_attended(self.is_attended);
        let drawn = self.output.clone();
        Box::new(move |piece: &[u8]| drawn.lock().unwrap().push_str(&String::from_utf8_lossy(piece)))
    }
}

fn project() -> (ToolTestProject, Arc<FakeConsoleHost>) {
    project_with_console(FakeConsoleHost::default())
}

fn project_with_console(shown: FakeConsoleHost) -> (ToolTestProject, Arc<FakeConsoleHost>) {
    let mut project = ToolTestProject::new();
    let shown = Arc::new(shown);
    project.ctx.console = Some(CallConsole { host: shown.clone(), call_id: "call".to_owned() });
    project.ctx.shell.grace_period = Duration::from_millis(200);
    (project, shown)
}

async fn run(project: &ToolTestProject, command: &str) -> ToolResult {
    project.call("run_shell_command", json!({ "command": command })).await
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn the_model_gets_plain_text_and_the_terminal_raw_output() {
    let (project, shown) = project();
    let result = run(&project, "stty size; printf '\\033[31mred\\033[0m %s %s\\n' $TERM $PAGER; exit 3").await;
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Exited(3)));
    let text = result_text(&result);
    assert!(text.contains("Output: 20 90\nred xterm-256color cat\nExit Code: 3"), "{text}");
    assert!(shown.output.lock().unwrap().contains("\x1b[31mred\x1b[0m"));
    assert!(!text.contains("Background PIDs"), "who holds the terminal is nobody's: {text}");
    assert!(project.live.lock().unwrap().contains("red"));
}

#[tokio::test]
async fn background_and_noninteractive_commands_have_pipes() {
    let (mut project, shown) = project();
    let args = json!({ "command": "[ -t 1 ] || echo piped", "is_background": true, "delay_ms": 5000 });
    assert!(result_text(&project.call("run_shell_command", args).await).contains("piped"));
    project.ctx.shell.interactive = false;
    assert!(result_text(&run(&project, "[ -t 1 ] || echo piped; cat").await).contains("piped"));
    assert!(shown.terminal.get().is_none());
}

#[tokio::test]
async fn inactivity_ends_an_unattended_command() {
    let (mut project, shown) =
        project_with_console(FakeConsoleHost { is_attended: true, ..FakeConsoleHost::default() });
    let limit = Duration::from_millis(300);
    project.ctx.shell.inactivity_timeout = Some(limit);
    let sitting = async {
        wait_until("it begins", || shown.output.lock().unwrap().contains("name?")).await;
        let terminal = shown.terminal.get().unwrap();
        // The silence itself is tested here.
        tokio::time::sleep(2 * limit).await;
        assert!(terminal.write_input(b"wim\n"));
        terminal.set_attended(false);
    };
    let command = "printf name?; read name; echo \"hello $name\"; sleep 60";
    let (result, ()) = tokio::join!(run(&project, command), sitting);
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Inactive));
    assert!(result_text(&result).contains("hello wim"), "{}", result_text(&result));
}

#[tokio::test]
async fn a_cancelled_command_keeps_its_output_and_ends_its_group() {
    let (project, shown) = project();
    let cancel = project.ctx.cancel.clone();
    let cancelling = async {
        wait_until("it begins", || shown.output.lock().unwrap().contains("begun")).await;
        cancel.cancel();
    };
    let started = Instant::now();
    let (result, ()) =
        tokio::join!(run(&project, "trap '' TERM HUP INT; echo begun; while :; do sleep 1; done"), cancelling);
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Cancelled));
    assert!(result_text(&result).contains("begun"), "{}", result_text(&result));
    wait_until("nobody is left", || !project.ctx.process_groups.has_live_processes()).await;
}

#[tokio::test]
async fn processes_left_running_are_listed_and_can_be_ended_but_not_kept() {
    let (project, _) = project();
    let result = run(&project, "(while :; do echo talk; sleep 0.05; done) & echo left").await;
    assert_eq!(result.command.as_ref().map(|run| run.end), Some(CommandEnd::Exited(0)));
    assert!(result_text(&result).contains("Background PIDs: "), "{}", result_text(&result));
    wait_until("it is listed", || !project.ctx.jobs.list().is_empty()).await;
    let job = project.ctx.jobs.list().remove(0);
    assert!(job.keep().await.unwrap_err().to_string().contains("its terminal goes"));
    job.terminate().await;
    wait_until("nobody is left", || !project.ctx.process_groups.has_live_processes()).await;
}
