use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::view::view;
use super::*;

fn app() -> App {
    App::new(
        History::default(),
        Status { model: "model".to_owned(), folder: "~/x".to_owned(), window: 1000, ..Status::default() },
    )
}

fn press(app: &mut App, code: KeyCode) -> Vec<Effect> {
    app.key(KeyEvent::new(code, KeyModifiers::NONE), Instant::now())
}

fn typed(app: &mut App, text: &str) -> Vec<Effect> {
    text.chars().for_each(|char| drop(press(app, KeyCode::Char(char))));
    press(app, KeyCode::Enter)
}

fn shown(app: &mut App, columns: usize) -> String {
    let mut lines = super::super::block::render_all(&app.take_out(), columns, &mut true);
    lines.extend(view(app, columns, 24, Instant::now()).lines);
    lines.iter().map(|line| line.plain().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_written_becomes_an_effect() {
    let mut app = app();
    assert_eq!(typed(&mut app, "hello"), [Effect::Prompt("hello".to_owned())]);
    assert!(typed(&mut app, "and then").is_empty(), "the agent works: it waits");
    assert_eq!(typed(&mut app, "/help"), [Effect::Slash("help".to_owned())]);
    assert_eq!(press(&mut app, KeyCode::Esc), [Effect::Cancel]);
    assert_eq!(app.idle(Instant::now()), [Effect::Prompt("and then".to_owned())]);
    app.idle(Instant::now());
    assert_eq!(typed(&mut app, "!ls -l"), [Effect::Shell("ls -l".to_owned())]);
    app.idle(Instant::now());
    assert!(typed(&mut app, "   ").is_empty());
    assert_eq!(typed(&mut app, "/usr/bin is a path"), [Effect::Prompt("/usr/bin is a path".to_owned())]);
}

#[test]
fn a_cancelled_turn_gives_queued_prompts_back() {
    let mut app = app();
    typed(&mut app, "one");
    typed(&mut app, "two");
    typed(&mut app, "three");
    app.agent(AgentEvent::TurnFinished(TurnEnd::Cancelled), Instant::now());
    assert!(app.idle(Instant::now()).is_empty());
    assert_eq!(app.composer.text(), "two\nthree");
}

#[test]
fn text_after_a_note_begins_a_new_answer() {
    let mut app = app();
    app.agent(AgentEvent::Thought("**Thinking**\nhard".to_owned()), Instant::now());
    app.agent(AgentEvent::Text("Some *te".to_owned()), Instant::now());
    app.agent(AgentEvent::Text("xt*".to_owned()), Instant::now());
    app.agent(AgentEvent::Warning("careful".to_owned()), Instant::now());
    app.agent(AgentEvent::Text("More".to_owned()), Instant::now());
    assert_eq!(app.answer, "More");
    let screen = shown(&mut app, 40);
    assert!(screen.starts_with("Thinking\nSome text\n\n! careful\nMore\n"), "{screen}");
}

#[test]
fn everything_fits_into_any_terminal() {
    let mut app = app();
    app.begin("Working", Instant::now());
    app.queue.push_back("a queued prompt with 日本語 and 👩‍👩‍👧 in it, and more words than fit".to_owned());
    app.composer.insert("a long text\n".repeat(50).as_str());
    app.agent(AgentEvent::Text("- item\n".repeat(30)), Instant::now());
    for columns in [1, 2, 10, 40, 300] {
        for rows in [1, 3, 10, 50] {
            let frame = view(&app, columns, rows, Instant::now());
            assert!(frame.lines.len() <= rows.max(3), "{columns}x{rows}: {} lines", frame.lines.len());
            let widest = frame.lines.iter().map(Line::width).max().unwrap_or(0);
            assert!(widest <= columns.max(3), "{columns}x{rows}: {widest}");
        }
    }
}

#[test]
fn two_interrupts_leave_and_one_only_clears() {
    let mut app = app();
    let now = Instant::now();
    app.composer.insert("text");
    assert!(app.interrupt(now).is_empty() && app.composer.is_empty());
    assert!(shown(&mut app, 80).contains("Press Ctrl+C again to exit"));
    assert_eq!(app.interrupt(now + Duration::from_secs(1)), [Effect::Quit]);
    app.tick(now + Duration::from_secs(10));
    assert!(app.interrupt(now + Duration::from_secs(10)).is_empty());
}
