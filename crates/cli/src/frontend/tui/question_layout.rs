//! The layout of a question in a limited number of rows: the question, its subject, and the choices.
//!
//! If there is not enough room, the selected choice stays visible, and a note says that there is more to read.

use crate::presentation::humanize::more_lines_text;
use crate::presentation::styled_text::{DIM, StyledLine};

/// The number of rows below which a long subject is sure of only one.
const MIN_ROOMY_ROWS: usize = 12;

/// The parts of a question, wrapped.
pub(crate) struct QuestionLayout {
    /// The lines of the question itself.
    pub(crate) head: Vec<StyledLine>,
    /// The lines of the subject, and by how many rows they are scrolled.
    pub(crate) subject: Vec<StyledLine>,
    pub(crate) scroll: usize,
    /// The choices or the text field.
    pub(crate) footer: Vec<StyledLine>,
    /// The row of the footer that must be visible.
    pub(crate) focused_row: usize,
}

impl QuestionLayout {
    /// Returns the lines that fit, and the row among them where the footer's first row would be, which may be above
    /// them.
    pub(crate) fn fit_rows(self, columns: usize, rows: usize) -> (Vec<StyledLine>, isize) {
        let QuestionLayout { mut head, subject, scroll, footer: foot, focused_row: focus } = self;
        let fewest = if rows >= MIN_ROOMY_ROWS { 3 } else { 1 };
        let least = if subject.len() <= fewest { subject.len() } else { fewest + 1 };
        let foot_room = foot.len().min(rows.saturating_sub(1 + least)).max(1);
        head.truncate(rows.saturating_sub(foot_room + least).max(1));
        let room = rows.saturating_sub(head.len() + foot_room);
        let mut lines = head;
        if subject.len() <= room {
            lines.extend(subject);
        } else if let Some(room) = room.checked_sub(1) {
            let from = scroll.min(subject.len().saturating_sub(room));
            // The end is shown below the beginning: the important part of a long command may be its last line.
            let tail = if from == 0 { room / 2 } else { 0 };
            let left = subject.len().saturating_sub(from + room);
            let note = format!("  … {} (page down; ctrl+o shows all)", more_lines_text(left));
            let last = subject.len() - tail;
            let shown = from..from + room - tail;
            let (mut beginning, mut end) = (Vec::new(), Vec::new());
            for (at, line) in subject.into_iter().enumerate() {
                if shown.contains(&at) {
                    beginning.push(line);
                } else if at >= last {
                    end.push(line);
                }
            }
            lines.extend(beginning);
            lines.push(StyledLine::styled(DIM, note).clip(columns));
            lines.extend(end);
        }
        let from = (focus + 1).saturating_sub(foot_room);
        let first = lines.len().cast_signed() - from.cast_signed();
        lines.extend(foot.into_iter().skip(from).take(foot_room));
        (lines, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presentation::styled_text::PLAIN;

    fn question(subject: usize, focus: usize) -> QuestionLayout {
        let lines =
            |what: &str, count| (0..count).map(|at| StyledLine::styled(PLAIN, format!("{what} {at}"))).collect();
        QuestionLayout {
            head: lines("head", 2),
            subject: lines("subject", subject),
            scroll: 0,
            footer: lines("foot", 6),
            focused_row: focus,
        }
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_subject_are_visible() {
        let shown = |scroll| {
            let (lines, _) = QuestionLayout { scroll, ..question(100, 0) }.fit_rows(80, 20);
            let lines: Vec<String> = lines.iter().map(StyledLine::plain).collect();
            lines.into_iter().filter(|line| line.starts_with("subject") || line.contains('…')).collect::<Vec<_>>()
        };
        let lines = shown(0);
        assert_eq!(lines.first().map(String::as_str), Some("subject 0"));
        assert_eq!(lines.last().map(String::as_str), Some("subject 99"));
        assert!(lines.iter().any(|line| line.contains("89 more lines")), "{lines:?}");
        assert_eq!(lines.len(), 12);
        let scrolled = shown(10);
        assert_eq!(scrolled.first().map(String::as_str), Some("subject 10"));
        assert!(scrolled.last().is_some_and(|line| line.contains("79 more lines")), "{scrolled:?}");
    }

    #[test]
    fn the_selected_answer_is_visible_at_any_size() {
        for rows in 2..30 {
            for (subject, focus) in [(0, 0), (1, 5), (4, 3), (100, 0), (100, 5)] {
                let (lines, first) = question(subject, focus).fit_rows(80, rows);
                assert!(lines.len() <= rows.max(2), "{rows} {subject} {focus}: {lines:?}");
                let at = usize::try_from(first + focus.cast_signed()).unwrap();
                assert_eq!(lines[at].plain(), format!("foot {focus}"), "{rows} {subject} {focus}");
                assert_eq!(lines[0].plain(), "head 0");
                let says_more = lines.iter().any(|line| line.plain().contains("more line"));
                let all_there = lines.iter().filter(|line| line.plain().starts_with("subject")).count() == subject;
                assert!(all_there || says_more || rows < 3, "{rows} {subject} {focus}: {lines:?}");
            }
        }
    }
}
