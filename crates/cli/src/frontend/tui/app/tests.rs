use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, ApprovalReply, Question, QuestionId, QuestionSubject, SessionActivity};

use super::super::view::render;
use super::*;

fn app() -> App {
    App::new(
        PromptHistory::default(),
        StatusLine { model: "model".to_owned(), folder: "~/x".to_owned(), window: 1000, ..StatusLine::default() },
    )
}

fn press(app: &mut App, code: KeyCode) -> Vec<AppEffect> {
    app.handle_key(KeyEvent::new(code, KeyModifiers::NONE), Instant::now())
}

fn typed(app: &mut App, text: &str) -> Vec<AppEffect> {
    text.chars().for_each(|char| drop(press(app, KeyCode::Char(char))));
    press(app, KeyCode::Enter)
}

fn shown(app: &mut App, columns: usize) -> String {
    let drawn = super::super::block::render_all(app.take_finished(), columns, &mut true);
    let mut lines: Vec<StyledLine> = drawn.into_iter().flat_map(|(_, lines)| lines).collect();
    lines.extend(render(app, columns, 24, Instant::now()).lines);
    lines.iter().map(|line| line.plain().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn submitted_text_becomes_an_effect() {
    let mut app = app();
    assert_eq!(typed(&mut app, "hello"), [AppEffect::Submit("hello".to_owned())]);
    assert!(typed(&mut app, "   ").is_empty());
    press(&mut app, KeyCode::Esc);
    app.handle_event(AgentEvent::Session(SessionEvent::Busy(SessionActivity::Working)), Instant::now());
    assert_eq!(press(&mut app, KeyCode::Esc), [AppEffect::Command(SessionCommand::Cancel)]);
    app.handle_event(AgentEvent::Session(SessionEvent::PromptsQueued(vec!["later".to_owned()])), Instant::now());
    assert!(shown(&mut app, 80).contains("later"));
    assert_eq!(press(&mut app, KeyCode::Up), [AppEffect::Command(SessionCommand::RecallPrompt)]);
    let idle = AgentEvent::Session(SessionEvent::Idle { model: "model".to_owned(), tokens: 7 });
    app.handle_event(idle, Instant::now());
    assert!(press(&mut app, KeyCode::Esc).is_empty() && app.status.tokens == 7);
}

#[test]
fn returned_prompts_are_put_into_the_composer() {
    let mut app = app();
    app.handle_event(
        AgentEvent::Session(SessionEvent::PromptsReturned(vec!["two".to_owned(), "three".to_owned()])),
        Instant::now(),
    );
    assert_eq!(app.composer.text(), "two\nthree");
    app.handle_event(AgentEvent::Session(SessionEvent::PromptsReturned(vec!["one".to_owned()])), Instant::now());
    assert_eq!(app.composer.text(), "one\ntwo\nthree");
}

#[test]
fn every_end_of_a_turn_says_what_happened_and_what_to_do() {
    let ends = [
        (TurnEnd::Blocked("no".to_owned()), "Agent execution blocked: no"),
        (TurnEnd::Stopped("halt".to_owned()), "Agent execution stopped by hook: halt"),
        (TurnEnd::Cancelled, "Cancelled"),
        (TurnEnd::TurnLimit(3), "error: the session has reached its limit of 3 model requests\nhint: raise"),
        (TurnEnd::Loop("the model wrote".to_owned()), "error: the model wrote"),
        (TurnEnd::Failed { message: "m".to_owned(), hint: Some("h".to_owned()) }, "error: m\nhint: h"),
    ];
    for (end, words) in ends {
        let mut app = app();
        app.handle_event(AgentEvent::Turn(TurnEvent::Finished(end)), Instant::now());
        let screen = shown(&mut app, 80);
        assert!(screen.starts_with(words), "{screen}");
    }
}

#[test]
fn text_after_a_note_begins_a_new_answer() {
    let mut app = app();
    app.handle_event(AgentEvent::Model(ModelEvent::Thought("**Thinking**\nhard".to_owned())), Instant::now());
    app.handle_event(AgentEvent::Model(ModelEvent::Text("Some *te".to_owned())), Instant::now());
    app.handle_event(AgentEvent::Model(ModelEvent::Text("xt*".to_owned())), Instant::now());
    app.handle_event(AgentEvent::Notice(AgentNotice::Warning("careful".to_owned())), Instant::now());
    app.handle_event(AgentEvent::Model(ModelEvent::Text("More".to_owned())), Instant::now());
    assert_eq!(app.last_answer, "More");
    let screen = shown(&mut app, 40);
    assert!(screen.starts_with("Thinking\nSome text\n\n! careful\nMore\n"), "{screen}");
}

#[test]
fn everything_fits_into_any_terminal() {
    let mut app = app();
    app.set_busy("Working", Instant::now());
    app.queue.push("a queued prompt with 日本語 and 👩‍👩‍👧 in it, and more words than fit".to_owned());
    app.composer.insert("a long text\n".repeat(50).as_str());
    app.handle_event(AgentEvent::Model(ModelEvent::Text("- item\n".repeat(30))), Instant::now());
    for columns in [1, 2, 10, 40, 300] {
        for rows in [1, 3, 10, 50] {
            let frame = render(&app, columns, rows, Instant::now());
            assert!(frame.lines.len() <= rows.max(3), "{columns}x{rows}: {} lines", frame.lines.len());
            let widest = frame.lines.iter().map(StyledLine::width).max().unwrap_or(0);
            assert!(widest <= columns.max(3), "{columns}x{rows}: {widest}");
        }
    }
}

#[test]
fn two_interrupts_exit_and_one_only_clears() {
    let mut app = app();
    let now = Instant::now();
    app.composer.insert("text");
    assert!(app.handle_interrupt(now).is_empty() && app.composer.is_empty());
    assert!(shown(&mut app, 80).contains("Press Ctrl+C again to exit"));
    assert_eq!(
        app.handle_interrupt(now + Duration::from_secs(1)),
        [AppEffect::Quit(hookwright_agent::EndReason::Exit)]
    );
    app.tick(now + Duration::from_secs(10));
    assert!(app.handle_interrupt(now + Duration::from_secs(10)).is_empty());
}

#[test]
fn suggestions_for_a_text_that_an_editor_replaced_are_dropped() {
    let mut app = app();
    app.names.commands = vec![("help".to_owned(), String::new())];
    for code in [KeyCode::Enter, KeyCode::Tab, KeyCode::Down] {
        app.composer.set("");
        for char in "/he".chars() {
            press(&mut app, KeyCode::Char(char));
        }
        app.apply_edited_text("");
        assert!(press(&mut app, code).is_empty() && app.composer.is_empty(), "{code:?}");
    }
}

fn question() -> AgentEvent {
    let request = hookwright_agent::ApprovalRequest {
        rule_offer_texts: Vec::new(),
        call_id: "1".to_owned(),
        name: "run_shell_command".to_owned(),
        title: "Shell".to_owned(),
        kind: hookwright_tools::ToolKind::Execute,
        args: serde_json::Map::from_iter([("command".to_owned(), "rm x".into())]),
        description: "rm x".to_owned(),
        preview: None,
        rewritten_args: Vec::new(),
        original_args: None,
        call_number: None,
        requested_by: hookwright_hooks::RequestedBy::Model,
        approval_demand: None,
        server: None,
        protected_file: None,
        can_last: true,
    };
    AgentEvent::Question(QuestionEvent::Asked(Question {
        id: QuestionId(7),
        subject: QuestionSubject::Approval(Box::new(request)),
    }))
}

/// The effect of an answer to [`question`].
fn answered(reply: ApprovalReply) -> Vec<AppEffect> {
    vec![AppEffect::Command(SessionCommand::Answer { id: QuestionId(7), answer: Answer::Approval(reply) })]
}

#[test]
fn a_word_begun_before_the_question_does_not_answer_it() {
    let mut app = app();
    let now = Instant::now();
    let key = |app: &mut App, char, now| app.handle_key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE), now);
    typed(&mut app, "go");
    key(&mut app, 'm', now);
    app.handle_event(question(), now);
    key(&mut app, 'y', now + Duration::from_millis(100));
    let sent = app.handle_key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), now + Duration::from_millis(200));
    assert_eq!(sent, [AppEffect::Submit("my".to_owned())]);
    assert!(key(&mut app, 'y', now + Duration::from_secs(2)).is_empty(), "another key may follow");
    assert_eq!(app.tick(now + Duration::from_secs(3)), answered(ApprovalReply::Once));
}

#[test]
fn a_reply_of_the_terminal_or_a_sentence_does_not_answer_a_question() {
    for text in ["41;354;0c", "1;2c", "maybe you should\r", "yes\r"] {
        let mut app = app();
        let mut now = Instant::now();
        app.handle_event(question(), now);
        let mut effects = Vec::new();
        for character in text.chars() {
            let code = if character == '\r' { KeyCode::Enter } else { KeyCode::Char(character) };
            effects.extend(app.handle_key(KeyEvent::new(code, KeyModifiers::NONE), now));
            now += Duration::from_millis(30);
            effects.extend(app.tick(now));
        }
        effects.extend(app.tick(now + Duration::from_secs(5)));
        assert!(effects.is_empty(), "{text:?}: {effects:?}");
        app.handle_key(KeyEvent::new(KeyCode::Char('1'), KeyModifiers::NONE), now + Duration::from_secs(6));
        assert_eq!(app.tick(now + Duration::from_secs(7)), answered(ApprovalReply::Once), "{text:?}");
    }
}

#[test]
fn a_question_right_after_a_prompt_is_answered_at_once() {
    let mut app = app();
    typed(&mut app, "go");
    app.handle_event(question(), Instant::now());
    assert!(shown(&mut app, 80).contains("Allow exactly this for this session"));
    press(&mut app, KeyCode::Char('n'));
    assert_eq!(app.tick(Instant::now() + Duration::from_secs(1)), answered(ApprovalReply::Deny(None)));
}

#[test]
fn a_key_held_back_for_a_withdrawn_question_answers_no_other() {
    let mut app = app();
    let now = Instant::now();
    let AgentEvent::Question(QuestionEvent::Asked(mut other)) = question() else { panic!("it is a question") };
    other.id = QuestionId(8);
    app.handle_event(question(), now);
    app.handle_event(AgentEvent::Question(QuestionEvent::Asked(other)), now);
    assert!(press(&mut app, KeyCode::Char('y')).is_empty(), "another key may follow");
    app.handle_event(AgentEvent::Question(QuestionEvent::Closed(QuestionId(7))), now);
    assert!(app.tick(now + Duration::from_secs(5)).is_empty());
    assert!(app.question().is_some());
}

#[test]
fn a_question_that_is_withdrawn_leaves_the_screen() {
    let mut app = app();
    app.handle_event(question(), Instant::now());
    app.handle_event(AgentEvent::Question(QuestionEvent::Closed(QuestionId(8))), Instant::now());
    assert!(shown(&mut app, 80).contains("Allow exactly this for this session"));
    app.handle_event(AgentEvent::Question(QuestionEvent::Closed(QuestionId(7))), Instant::now());
    assert!(!shown(&mut app, 80).contains("Allow exactly this for this session"));
}
