//! A question in as many rows as there are: what is asked, what it is about, and what can be answered. Where all of that has no
//! room, the answer that is selected stays in sight, and it is said that there is more to read.

use super::diff::more;
use super::text::{DIM, Line};

/// With fewer rows, what it is about gets no more than one.
const ROOMY: usize = 12;

/// A question, wrapped.
pub(crate) struct Question {
    /// What is asked.
    pub(crate) head: Vec<Line>,
    /// What it is about, and how far that is scrolled.
    pub(crate) subject: Vec<Line>,
    pub(crate) scroll: usize,
    /// What can be answered.
    pub(crate) foot: Vec<Line>,
    /// The row of it that has to be seen.
    pub(crate) focus: usize,
}

impl Question {
    /// The lines that have room, and the row among them in which the foot's first row would be: it may be above them.
    pub(crate) fn fit(self, columns: usize, rows: usize) -> (Vec<Line>, isize) {
        let Question { mut head, subject, scroll, foot, focus } = self;
        let fewest = if rows >= ROOMY { 3 } else { 1 };
        let least = if subject.len() <= fewest { subject.len() } else { fewest + 1 };
        let foot_room = foot.len().min(rows.saturating_sub(1 + least)).max(1);
        head.truncate(rows.saturating_sub(foot_room + least).max(1));
        let room = rows.saturating_sub(head.len() + foot_room);
        let mut lines = head;
        if subject.len() <= room {
            lines.extend(subject);
        } else if let Some(room) = room.checked_sub(1) {
            let from = scroll.min(subject.len().saturating_sub(room));
            let left = subject.len().saturating_sub(from + room);
            lines.extend(subject.into_iter().skip(from).take(room));
            lines.push(Line::of(DIM, format!("  … {} (page down; ctrl+o shows all)", more(left))).clip(columns));
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
    use crate::tui::text::PLAIN;

    fn question(subject: usize, focus: usize) -> Question {
        let lines = |what: &str, count| (0..count).map(|at| Line::of(PLAIN, format!("{what} {at}"))).collect();
        Question {
            head: lines("head", 2),
            subject: lines("subject", subject),
            scroll: 0,
            foot: lines("foot", 6),
            focus,
        }
    }

    #[test]
    fn the_answer_that_is_selected_is_seen_in_any_size() {
        for rows in 2..30 {
            for (subject, focus) in [(0, 0), (1, 5), (4, 3), (100, 0), (100, 5)] {
                let (lines, first) = question(subject, focus).fit(80, rows);
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
