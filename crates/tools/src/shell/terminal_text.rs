//! Renders terminal output as plain text: overwritten lines, cursor movement, alternate screens. Lines are not wrapped,
//! because the width of the screen does not matter for the text.

use std::iter::Peekable;
use std::str::Chars;

/// The largest column to which the cursor can move beyond a line's end.
const MAX_BLANK_COLUMNS: usize = 500;

/// Renders the text as a screen with `rows` rows would show it.
pub(super) fn render_plain(text: &str, rows: usize) -> String {
    if !text.contains(['\x1b', '\r', '\x08', '\x07', '\x0e', '\x0f', '\x7f']) {
        return text.to_owned();
    }
    let mut screen =
        PlainScreen { rows: rows.max(1), blank_budget: text.len().saturating_mul(2), ..PlainScreen::default() };
    screen.feed(text);
    screen.into_text()
}

#[derive(Default)]
struct ScreenBuffer {
    lines: Vec<Vec<char>>,
    /// The first line that can still be overwritten.
    first_row: usize,
    row: usize,
    column: usize,
    saved_cursor: (usize, usize),
}

#[derive(Default)]
struct PlainScreen {
    active: ScreenBuffer,
    /// The main screen, while a program uses the alternate screen.
    main_buffer: Option<ScreenBuffer>,
    rows: usize,
    /// The number of blanks that may still be inserted by cursor movement.
    blank_budget: usize,
}

impl PlainScreen {
    fn feed(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\n' => self.line_feed(),
                '\r' => self.active.column = 0,
                '\x08' => self.active.column = self.active.column.saturating_sub(1),
                '\x07' | '\x0e' | '\x0f' | '\x7f' => {}
                '\x1b' => self.escape(&mut chars),
                char => self.put_char(char),
            }
        }
    }

    fn line_feed(&mut self) {
        let buffer = &mut self.active;
        buffer.column = 0;
        buffer.row += 1;
        if buffer.lines.len() <= buffer.row {
            buffer.lines.resize_with(buffer.row + 1, Vec::new);
        }
        buffer.first_row = buffer.first_row.max((buffer.row + 1).saturating_sub(self.rows));
    }

    fn put_char(&mut self, char: char) {
        let buffer = &mut self.active;
        if buffer.lines.len() <= buffer.row {
            buffer.lines.resize_with(buffer.row + 1, Vec::new);
        }
        let line = &mut buffer.lines[buffer.row];
        if let Some(place) = line.get_mut(buffer.column) {
            *place = char;
        } else {
            let blanks = (buffer.column - line.len()).min(self.blank_budget);
            self.blank_budget -= blanks;
            line.resize(line.len() + blanks, ' ');
            buffer.column = line.len();
            line.push(char);
        }
        buffer.column += 1;
    }

    fn escape(&mut self, chars: &mut Peekable<Chars<'_>>) {
        match chars.next() {
            Some('[') => self.control_sequence(chars),
            // Titles, links and the clipboard end with a bell or a string terminator, at the latest with the line.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(next) = chars.next_if(|next| *next != '\n') {
                    if next == '\x07' || next == '\x1b' && chars.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            // Character set sequences have one more character.
            Some('(' | ')' | '#' | '*' | '+' | '%') => drop(chars.next()),
            Some('7') => self.active.saved_cursor = (self.active.row, self.active.column),
            Some('8') => self.restore_cursor(),
            Some('M') => self.move_to(self.active.row.saturating_sub(1), self.active.column),
            _ => {}
        }
    }

    /// Handles a control sequence: parameters, then one final character.
    fn control_sequence(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let mut parameters = String::new();
        while let Some(next) = chars.next_if(|next| ('\x20'..='\x3f').contains(next)) {
            if parameters.len() < 64 {
                parameters.push(next);
            }
        }
        let Some(last) = chars.next_if(|next| ('\x40'..='\x7e').contains(next)) else { return };
        if let Some(modes) = parameters.strip_prefix('?') {
            return self.set_mode(modes, last);
        }
        let numbers: Vec<usize> = parameters.split(';').map(|number| number.parse().unwrap_or(0)).collect();
        let number = |at: usize| numbers.get(at).copied().filter(|number| *number > 0).unwrap_or(1);
        let (row, column, top) = (self.active.row, self.active.column, self.active.first_row);
        match last {
            'A' => self.move_to(row.saturating_sub(number(0)), column),
            'B' => self.move_to(row + number(0), column),
            'C' => self.move_to(row, column + number(0)),
            'D' => self.move_to(row, column.saturating_sub(number(0))),
            'E' => self.move_to(row + number(0), 0),
            'F' => self.move_to(row.saturating_sub(number(0)), 0),
            'G' | '`' => self.move_to(row, number(0) - 1),
            'd' => self.move_to(top + number(0) - 1, column),
            'H' | 'f' => self.move_to(top + number(0) - 1, number(1) - 1),
            'J' => self.erase_display(numbers[0]),
            'K' => self.erase_line(numbers[0]),
            'P' => self.delete_chars(number(0)),
            'X' => self.erase_chars(number(0)),
            'L' => self.insert_lines(number(0)),
            'M' => self.delete_lines(number(0)),
            's' => self.active.saved_cursor = (row, column),
            'u' => self.restore_cursor(),
            _ => {}
        }
    }

    fn set_mode(&mut self, modes: &str, last: char) {
        let whole_screen = modes.split(';').any(|mode| matches!(mode, "47" | "1047" | "1049"));
        match last {
            'h' if whole_screen && self.main_buffer.is_none() => {
                self.main_buffer = Some(std::mem::take(&mut self.active))
            }
            'l' if whole_screen => {
                self.active = self.main_buffer.take().unwrap_or_else(|| std::mem::take(&mut self.active))
            }
            _ => {}
        }
    }

    fn move_to(&mut self, row: usize, column: usize) {
        self.active.row = row.clamp(self.active.first_row, self.active.first_row + self.rows - 1);
        self.active.column = column.min(MAX_BLANK_COLUMNS.max(self.current_line().map_or(0, |line| line.len())));
    }

    fn restore_cursor(&mut self) {
        let (row, column) = self.active.saved_cursor;
        self.move_to(row, column);
    }

    fn current_line(&mut self) -> Option<&mut Vec<char>> {
        self.active.lines.get_mut(self.active.row)
    }

    fn erase_display(&mut self, what: usize) {
        let (row, top) = (self.active.row, self.active.first_row);
        match what {
            0 => {
                self.erase_line(0);
                self.active.lines.iter_mut().skip(row + 1).for_each(Vec::clear);
            }
            1 => {
                self.erase_line(1);
                self.active.lines.iter_mut().take(row).skip(top).for_each(Vec::clear);
            }
            _ if self.main_buffer.is_some() => self.active.lines.iter_mut().skip(top).for_each(Vec::clear),
            // Printed text stays: a new screen begins below it.
            _ => {
                let used = self.active.lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
                self.active.lines.truncate(used.max(top));
                self.active.row = self.active.lines.len() + (row - top);
                self.active.first_row = self.active.lines.len();
            }
        }
    }

    fn erase_line(&mut self, what: usize) {
        let column = self.active.column;
        let Some(line) = self.current_line() else { return };
        match what {
            0 => line.truncate(column),
            1 => line.iter_mut().take(column + 1).for_each(|place| *place = ' '),
            _ => line.clear(),
        }
    }

    fn delete_chars(&mut self, count: usize) {
        let column = self.active.column;
        if let Some(line) = self.current_line().filter(|line| column < line.len()) {
            line.drain(column..column.saturating_add(count).min(line.len()));
        }
    }

    fn erase_chars(&mut self, count: usize) {
        let column = self.active.column;
        self.current_line()
            .into_iter()
            .flat_map(|line| line.iter_mut().skip(column).take(count))
            .for_each(|place| *place = ' ');
    }

    fn insert_lines(&mut self, count: usize) {
        let (row, end) = (self.active.row, self.active.first_row + self.rows);
        if row < self.active.lines.len() {
            let new = std::iter::repeat_with(Vec::new).take(count.min(self.rows));
            self.active.lines.splice(row..row, new);
            self.active.lines.truncate(end);
        }
    }

    fn delete_lines(&mut self, count: usize) {
        let (row, end) = (self.active.row, self.active.lines.len());
        self.active.lines.drain(row.min(end)..row.saturating_add(count).min(end));
    }

    fn into_text(self) -> String {
        let written =
            |buffer: ScreenBuffer| -> Vec<String> { buffer.lines.into_iter().map(String::from_iter).collect() };
        let mut lines = self.main_buffer.map(written).unwrap_or_default();
        lines.extend(written(self.active));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> String {
        render_plain(text, 5)
    }

    #[test]
    fn terminal_control_is_taken_out() {
        assert_eq!(rendered("\u{1B}[1;31mred\u{1B}[0m"), "red");
        assert_eq!(rendered("\u{1B}]0;title\u{7}x\u{1B}]8;;u\u{1B}\\y"), "xy");
        assert_eq!(rendered("a\u{1B}(Bb\u{1B}"), "ab");
        assert_eq!(rendered("\u{1B}["), "");
        assert_eq!(rendered("\u{1B}P1;2q~~~\u{1B}\\x\u{1B}[?2004h\u{1B}[>4;2m\u{1B}=y"), "xy");
        assert_eq!(rendered("\u{1B}]never closed\nseen"), "\nseen");
        assert_eq!(rendered("N\u{8}NA\u{8}AME\ta\u{7}"), "NAME\ta");
    }

    #[test]
    fn lines_are_drawn_over() {
        assert_eq!(rendered("10%\r50%\r100%\r\ndone\r\n"), "100%\ndone\n");
        assert_eq!(rendered("working...\r\u{1B}[Kok\r\n"), "ok\n");
        assert_eq!(rendered("one\r\ntwo\r\n\u{1B}[2A\u{1B}[2Kuno\u{1B}[2B\r\nend"), "uno\ntwo\n\nend");
        assert_eq!(rendered("abc\u{1B}[2D\u{1B}[P\u{1B}[5Gz"), "ac  z");
        assert_eq!(rendered("12345\u{1B}[3D\u{1B}[2X\r\u{1B}[1K"), " 2  5");
        let long = "x".repeat(3000);
        assert_eq!(rendered(&format!("{long}\r\n")), format!("{long}\n"), "lines are not broken");
    }

    #[test]
    fn cursor_positions_are_relative_to_the_screen() {
        let many: String = (0..8).map(|line| format!("{line}\r\n")).collect();
        assert_eq!(rendered(&format!("{many}\u{1B}[1;1Htop\u{1B}[99;1Hlow")), "0\n1\n2\n3\ntop\n5\n6\n7\nlow");
        assert_eq!(rendered("a\r\nb\r\nc\u{1B}[2J\u{1B}[Hd"), "a\nb\nc\nd", "what was printed is not taken back");
        assert_eq!(rendered("\u{1B}[H\u{1B}[2J\u{1B}[3Ja\r\n"), "a\n");
        assert_eq!(rendered("a\r\nb\r\nc\u{1B}[2;1H\u{1B}[Lnew\u{1B}[1;1H\u{1B}[M"), "new\nb\nc");
    }

    #[test]
    fn the_alternate_screen_is_dropped_when_it_ends() {
        let vim = "\u{1B}[?1049h\u{1B}[H\u{1B}[2J~\r\n~\r\n-- INSERT --\u{1B}[?1049l";
        assert_eq!(rendered(&format!("before\r\n{vim}after\r\n")), "before\nafter\n");
        assert_eq!(rendered("before\r\n\u{1B}[?1049hcut off"), "before\n\ncut off");
        assert_eq!(rendered("x\u{1B}[?1049l\u{1B}[?1049ly"), "xy");
    }

    proptest::proptest! {
        #[test]
        fn any_text_renders_within_a_size_limit(
            pieces in proptest::collection::vec("(\u{1B}\\[[0-9;?]{0,6}[@-~]|[a-z\n\r]{0,3}|\u{1B}.|[^\u{1B}]{0,3})", 0..60),
            rows in 0usize..8,
        ) {
            let text = pieces.concat();
            let seen = render_plain(&text, rows);
            proptest::prop_assert!(seen.len() <= 4 * text.len() + 8, "{} of {}", seen.len(), text.len());
            proptest::prop_assert!(!seen.contains('\x1b'));
        }
    }
}
