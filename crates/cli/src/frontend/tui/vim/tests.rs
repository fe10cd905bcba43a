//! Tests of the vi key bindings.

use super::*;

/// Returns the text after keys in normal mode; `|` marks the cursor.
fn text_after(text: &str, keys: &str) -> String {
    let mut composer = Composer::default();
    composer.set(text.replace('|', ""));
    composer.set_cursor(text.find('|').unwrap());
    let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
    for letter in keys.chars() {
        let code = if letter == '\u{1b}' { KeyCode::Esc } else { KeyCode::Char(letter) };
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        if vim.handle_key(&mut composer, key) == VimKeyResult::NotHandled {
            crate::frontend::tui::keys::edit_text(&mut composer, key);
        }
    }
    let mut shown = composer.text().to_owned();
    shown.insert(composer.cursor(), '|');
    shown
}

/// A text with its cursor, keys, and the text after them.
const KEY_CASES: &[(&str, &str, &str)] = &[
    // Motions.
    ("|one two, three", "w", "one |two, three"),
    ("|one two, three", "2w", "one two|, three"),
    ("|one two, three", "3W", "one two, thre|e"),
    ("one two, |three", "b", "one two|, three"),
    ("one two, |three", "2b", "one |two, three"),
    ("|one two", "e", "on|e two"),
    ("|one two", "ee", "one tw|o"),
    ("  |one", "0", "|  one"),
    ("  one|", "^", "  |one"),
    ("|one\ntwo", "$", "on|e\ntwo"),
    ("o|ne\ntwo", "j", "one\nt|wo"),
    ("one\nt|wo", "k", "o|ne\ntwo"),
    ("|abc", "2l", "ab|c"),
    ("ab|c", "9h", "|abc"),
    ("|日本 x", "w", "日本 |x"),
    ("|", "w", "|"),
    // Changes.
    ("a|bc", "x", "a|c"),
    ("|abc", "2x", "|c"),
    ("ab|c", "5x", "a|b"),
    ("|one two", "dw", "|two"),
    ("one |two three", "2dw", "one| "),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("one |two", "d$", "one| "),
    ("one |two", "D", "one| "),
    ("one |two", "db", "|two"),
    ("|one two", "de", "| two"),
    ("|one two", "cwxy\u{1b}", "x|y two"),
    ("one |two", "Cx\u{1b}", "one |x"),
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\nt|wo", "dd", "|one"),
    ("one\nt|wo\nthree", "ccx\u{1b}", "one\n|x\nthree"),
    ("|one\ntwo\nthree", "2dd", "|three"),
    ("|one", "dd", "|"),
    ("a|bc", "rx", "a|xc"),
    ("a|bc", "ix\u{1b}", "a|xbc"),
    ("a|bc", "ax\u{1b}", "ab|xc"),
    (" a|bc", "Ix\u{1b}", " |xabc"),
    ("a|bc", "Ax\u{1b}", "abc|x"),
    ("on|e\ntwo", "ox\u{1b}", "one\n|x\ntwo"),
    ("one\nt|wo", "Ox\u{1b}", "one\n|x\ntwo"),
    // Deleted and yanked text can be put back, and changes undone.
    ("|one\ntwo", "yyjp", "one\ntwo\n|one"),
    ("|one\ntwo", "ddp", "two\n|one"),
    ("|one two", "dwwP", "twone| o"),
    ("|ab", "xp", "b|a"),
    ("|one two", "yw$p", "one twoone| "),
    ("|one", "yy2p", "one\n|one\none"),
    ("|one two", "dwu", "|one two"),
    ("|abc", "xxuu", "|abc"),
    ("|abc", "p", "|abc"),
    ("|abc", "3\u{1b}x", "|bc"),
    ("|abc", "d\u{1b}x", "|bc"),
    ("|abc", "99999999999999999999x", "|"),
];

#[test]
fn keys_do_what_vi_does() {
    for (text, keys, expected) in KEY_CASES {
        assert_eq!(text_after(text, keys), *expected, "{keys} on {text:?}");
    }
}

#[test]
fn a_label_goes_whole_or_not_at_all() {
    let mut composer = Composer::default();
    composer.paste(&"x\n".repeat(50));
    composer.insert(" end");
    let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
    let mut keys = |composer: &mut Composer, keys: &str| {
        for letter in keys.chars() {
            vim.handle_key(composer, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        }
    };
    keys(&mut composer, "0ll");
    assert!(composer.expanded_text().starts_with("x\n"), "moving breaks nothing");
    keys(&mut composer, "0x");
    assert_eq!(composer.text(), " end");
    keys(&mut composer, "uww");
    assert_eq!(composer.expanded_text().matches('x').count(), 50);
}

proptest::proptest! {
    #[test]
    fn no_keys_on_no_text_ever_panic(text in ".{0,40}", keys in "[hjklwbeWBE0$^xXdcyDCSYrupPiaAIoOG1-9\u{1b}é ]{0,40}") {
        let mut composer = Composer::default();
        composer.set(text);
        let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
        for letter in keys.chars() {
            let code = if letter == '\u{1b}' { KeyCode::Esc } else { KeyCode::Char(letter) };
            let key = KeyEvent::new(code, KeyModifiers::NONE);
            if vim.handle_key(&mut composer, key) == VimKeyResult::NotHandled {
                crate::frontend::tui::keys::edit_text(&mut composer, key);
            }
            proptest::prop_assert!(composer.text().is_char_boundary(composer.cursor()));
        }
    }
}
