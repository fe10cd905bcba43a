use super::*;
use crate::presentation::styled_text::StyledLine;
use hookwright_tools::ConsoleHost as _;

/// Returns a terminal of twenty columns and five rows, and the callback that draws on it.
fn console() -> (Arc<ScreenConsoles>, Arc<ScreenConsole>, OutputCallback) {
    let consoles = ScreenConsoles::new();
    consoles.resize(20, 6);
    let live = consoles.open("call", &PseudoTerminal::open(consoles.size()).unwrap());
    let console = consoles.find("call").unwrap();
    (consoles, console, live)
}

fn plain(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::plain).collect()
}

#[tokio::test]
async fn output_is_shown_in_its_colours_without_control_sequences() {
    let (consoles, console, mut live) = console();
    live(b"\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1bP+q\x1b\\\x1b[?1000h\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m  \r\n");
    live("\u{202e}日本\x1b[8;99;99t\x1b[6n".as_bytes());
    let lines = consoles.tail_lines(&console, 9, Instant::now());
    assert_eq!(plain(&lines), ["  red and bold", "  日本"]);
    let sent: String = lines.iter().map(|line| line.encode(true)).collect();
    let expected = "  \x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m  日本";
    assert_eq!(sent, expected);
    consoles.set_colour(false);
    assert_eq!(consoles.tail_lines(&console, 1, Instant::now())[0].encode(true), "  日本");
}

#[tokio::test]
async fn the_page_has_the_size_of_the_terminal_and_says_how_to_come_back() {
    let (consoles, console, mut live) = console();
    live(b"\x1b[?1049h\x1b[2;3Hhere");
    let (lines, cursor) = consoles.page_lines(&console, "vim notes.txt", Some("a question waits"));
    assert_eq!(lines.len(), 6);
    assert_eq!((plain(&lines)[1].as_str(), cursor), ("  here", Some((1, 6))));
    assert!(plain(&lines)[5].starts_with(" the keyboard is th"), "{:?}", plain(&lines)[5]);
    consoles.resize(100, 4);
    let (lines, _) = consoles.page_lines(&console, "vim", None);
    assert_eq!(lines.len(), 4);
    consoles.resize(1, 1);
    assert_eq!(consoles.size(), MIN_TERMINAL_SIZE);
    consoles.resize(100, 4);
    assert!(plain(&lines)[3].contains("Ctrl+F comes back") && !plain(&lines)[3].contains("Esc"));
    live(b"\x1b[?25l\x1b[?1049l");
    let (lines, cursor) = consoles.page_lines(&console, "sh", None);
    assert!(plain(&lines)[3].contains("Ctrl+F or Esc comes back · sh") && cursor.is_none());
}

#[tokio::test]
async fn escape_goes_to_a_program_that_reads_keys() {
    let (_, console, mut live) = console();
    let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert!(console.send_key(escape), "lines");
    live(b"\x1b[?1049h");
    assert!(!console.send_key(escape), "a whole screen");
    assert!(console.send_key(KeyEvent::new(KeyCode::Char('f'), KeyModifiers::CONTROL)));
    assert!(!console.send_key(KeyEvent::new(KeyCode::Char('f'), KeyModifiers::NONE)));
}

#[tokio::test]
async fn a_console_closes_with_its_drawing_handle() {
    let (consoles, console, live) = console();
    assert_eq!(consoles.newest().unwrap().call_id(), "call");
    drop(live);
    assert!(consoles.find("call").is_none() && consoles.newest().is_none());
    console.send_paste("nobody reads this");
    // Its card may be drawn later.
    assert!(consoles.take_finished("call").is_some_and(|kept| Arc::ptr_eq(&kept, &console)));
    assert!(consoles.take_finished("call").is_none());
}

#[tokio::test]
async fn an_idle_program_is_pointed_out() {
    let (consoles, console, mut live) = console();
    live(b"Continue? ");
    assert_eq!(plain(&consoles.tail_lines(&console, 3, Instant::now())), ["  Continue?"]);
    let later = consoles.tail_lines(&console, 3, Instant::now() + IDLE_NOTICE_DELAY * 2);
    assert_eq!(plain(&later)[1], "  quiet for 6.0 s; if it waits for you: Ctrl+F or Tab gives it the keyboard");
    live(b"\x1b[?1049h");
    let now = consoles.tail_lines(&console, 3, Instant::now());
    assert_eq!(plain(&now), ["  it has drawn a whole screen: Ctrl+F or Tab gives it the keyboard"]);
}

#[test]
fn words_keep_their_colours_when_the_card_is_done() {
    use crate::presentation::styled_text::{BAD, DIM, PLAIN};
    let mut lines = [
        StyledLine::styled(DIM, "title"),
        StyledLine::styled(DIM, "  red"),
        StyledLine::styled(DIM, "  other"),
        StyledLine::styled(DIM, "  red"),
    ];
    recolour_matching_lines(
        &mut lines,
        &[
            StyledLine::styled(BAD, "red"),
            StyledLine::styled(PLAIN, " "),
            StyledLine::styled(BAD, "red").indented_by(2),
        ],
    );
    assert_eq!(lines[3].spans.last().unwrap().style, BAD);
    assert_eq!((lines[1].spans[0].style, lines[2].spans[0].style), (BAD, DIM));
}

/// A narrower window leaves half of a wide character, on which the emulator panics.
#[tokio::test]
async fn an_emulator_panic_does_not_end_the_session() {
    let (consoles, console, mut live) = console();
    for columns in (10..20).rev() {
        live("\x1b[H".as_bytes());
        live("日本".repeat(60).as_bytes());
        consoles.resize(columns, 6);
        live("\x1b[1;9Ha\x1b[1;10Hb\x1b[1;10H\u{300}".as_bytes());
    }
    live(b"\x1bcstill here");
    assert_eq!(plain(&consoles.tail_lines(&console, 1, Instant::now())), ["  still here"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]
    /// No output at any size ends the session or leaves anything but text and styles.
    #[test]
    fn anything_can_be_drawn_at_any_size(
        pieces in proptest::collection::vec((
            "(\u{1B}\\[[0-9;?]{0,8}[@-~]|[a-z\n\r\t日é\u{300}]{0,9}|\u{1B}.|\u{1B}[\\]P][a-z;0-9]{0,5}(\u{7}|\u{1B}\\\\)?)",
            proptest::option::weighted(0.2, (MIN_TERMINAL_SIZE.columns..30, MIN_TERMINAL_SIZE.rows..12)),
        ), 0..50),
    ) {
        let mut drawn = ConsoleScreen::new(TerminalSize { columns: 20, rows: 5 });
        let consoles = ScreenConsoles::new();
        for (piece, size) in pieces {
            proptest::prop_assert!(drawn.draw(piece.as_bytes()).len() < MAX_REPLY_BYTES + 64);
            if let Some((columns, rows)) = size {
                drawn.resize(TerminalSize { columns, rows });
            }
        }
        for line in consoles.screen_lines(drawn.parser.screen()) {
            proptest::prop_assert!(!line.plain().contains(|char: char| char.is_control()), "{line:?}");
        }
    }
}
