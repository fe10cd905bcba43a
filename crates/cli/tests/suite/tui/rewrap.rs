//! A terminal that rewraps its lines when it becomes narrower, as most do: nothing in its scrollback appears twice.

use std::process::Command;
use std::time::{Duration, Instant};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{Sandbox, has_program, report_skipped};

use super::sandbox;

/// The program in tmux, on a server that ends with this value.
struct TmuxSession {
    socket: std::path::PathBuf,
}

impl TmuxSession {
    fn start(sandbox: &Sandbox, args: &[&str]) -> TmuxSession {
        let tmux = TmuxSession { socket: sandbox.project().join("tmux.socket") };
        let program = sandbox.command(args);
        let mut words = vec!["env".to_owned(), "-i".to_owned()];
        let vars = program.get_envs().filter_map(|(name, value)| Some((name, value?)));
        words.extend(vars.map(|(name, value)| format!("{}={}", name.display(), value.display())));
        words.extend(["TERM=screen-256color".to_owned(), "TMUX=yes".to_owned()]);
        words.push(program.get_program().display().to_string());
        words.extend(args.iter().map(|arg| (*arg).to_owned()));
        let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let folder = sandbox.project().display().to_string();
        tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", &folder, &quoted.join(" ")]);
        tmux
    }

    fn run(&self, args: &[&str]) -> String {
        let out = Command::new("tmux").arg("-S").arg(&self.socket).args(args).output_in_time().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn keys(&self, keys: &str) {
        self.run(&["send-keys", "-l", keys]);
        self.run(&["send-keys", "Enter"]);
    }

    /// Returns everything, the scrollback included.
    fn all(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"])
    }

    #[track_caller]
    fn until(&self, what: &str, reached: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            let screen = self.run(&["capture-pane", "-p"]);
            if reached(&screen) {
                return self.all();
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}:\n{}", self.all());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for TmuxSession {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output_in_time();
    }
}

#[test]
fn a_narrower_window_leaves_nothing_twice_in_the_scrollback() {
    if !has_program("tmux") {
        return report_skipped("a_narrower_window_leaves_nothing_twice_in_the_scrollback", "tmux is not installed");
    }
    let sandbox = sandbox();
    let tmux = TmuxSession::start(&sandbox, &[]);
    let is_ready = |screen: &str| screen.contains(super::COMPOSER) && !screen.contains("esc to cancel");
    tmux.until("the composer", is_ready);
    for number in 0..12 {
        tmux.keys(&format!("say answer {number} with some more words behind it, as many as it takes to fill a line"));
        tmux.until("the answer", |screen| is_ready(screen) && screen.contains(&format!("\nanswer {number} ")));
    }
    for (columns, rows) in [(60, 24), (45, 24), (44, 20), (100, 30), (50, 24)] {
        tmux.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
        // A rewrapped part of an old rule may be as long as a new rule, and there are more than two.
        let rule = "─".repeat(columns);
        let live = format!("\n{rule}\n>  {}\n{rule}\noffline", super::COMPOSER);
        let all = tmux.until("the rules", |screen| screen.contains(&live));
        for number in 0..12 {
            let count = all.matches(&format!("> say answer {number} ")).count();
            assert_eq!(count, 1, "answer {number} at {columns}:\n{all}");
        }
        assert_eq!(all.matches(super::COMPOSER).count(), 1, "{all}");
        assert_eq!(all.matches("──\n").count(), 2, "two rules and no more, at {columns}:\n{all}");
    }
    tmux.run(&["send-keys", "C-l"]);
    tmux.keys("say after all");
    let all = tmux.until("the answer", |screen| is_ready(screen) && screen.contains("\nafter all"));
    assert_eq!(all.matches("> say answer 11 ").count(), 1, "{all}");
}
