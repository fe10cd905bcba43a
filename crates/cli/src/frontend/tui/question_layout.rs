//! A question in as many rows as there are: what is asked, what it is about, and what can be answered. Where all of that has no
//! room, the answer that is selected stays in sight, and it is said that there is more to read.

use super::diff::more_lines_text;
use super::styled_text::{DIM, StyledLine};

/// With fewer rows, what it is about gets no more than one.
const MIN_ROOMY_ROWS: usize = 12;

/// A question, wrapped.
pub(crate) struct QuestionLayout {
    /// What is asked.
    pub(crate) head: Vec<StyledLine>,
    /// What it is about, and how far that is scrolled.
    pub(crate) subject: Vec<StyledLine>,
    pub(crate) scroll: usize,
    /// What can be answered.
    pub(crate) footer: Vec<StyledLine>,
    /// The row of it that has to be seen.
    pub(crate) focused_row: usize,
}

impl QuestionLayout {
    /// The lines that have room, and the row among them in which the foot's first row would be: it may be above them.
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
            // The end is seen beside the beginning: what matters in a long command may be its last line.
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
    use crate::frontend::tui::styled_text::PLAIN;

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
    fn the_beginning_and_the_end_of_a_long_subject_are_seen() {
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
    fn the_answer_that_is_selected_is_seen_in_any_size() {
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
