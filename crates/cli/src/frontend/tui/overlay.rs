//! What is open over the prompt, as one stack.
//!
//! Keys and pastes go to the topmost overlay first, and the topmost one that fills the screen is drawn.

use std::any::Any;
use std::time::Instant;

use crossterm::event::KeyEvent;

use super::app::{App, AppEffect};
use super::question_queue::{QuestionDialog, QuestionQueue};
use crate::presentation::styled_text::{StyledLine, WARN};

/// The layers of the stack, from the bottom up; each holds one overlay at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OverlayLayer {
    /// The suggestions below the prompt.
    Completion,
    /// The search through earlier prompts.
    HistorySearch,
    /// The session's questions, in place of the prompt.
    Questions,
    /// The screen of a program that has the keyboard.
    Console,
    /// The sessions or the turns to choose from.
    Picker,
    /// The hooks panel.
    HooksPanel,
    /// The pager.
    Pager,
}

/// What an overlay does with a key.
#[derive(Debug)]
pub(crate) enum KeyOutcome {
    /// The overlay takes the key and stays open.
    Taken(Vec<AppEffect>),
    /// The overlay takes the key and closes.
    Closed(Vec<AppEffect>),
    /// The key is for what lies below.
    Passed,
    /// The overlay closes, and the key is for what lies below.
    ClosedAndPassed,
}

impl KeyOutcome {
    /// The overlay takes the key, which has no effect outside of it.
    pub(crate) const TAKEN: KeyOutcome = KeyOutcome::Taken(Vec::new());
    /// The overlay closes without an effect.
    pub(crate) const CLOSED: KeyOutcome = KeyOutcome::Closed(Vec::new());
}

/// A page that fills the screen.
pub(crate) struct OverlayPage {
    pub(crate) lines: Vec<StyledLine>,
    /// Row and column of the cursor, if it is shown.
    pub(crate) cursor: Option<(usize, usize)>,
}

impl From<Vec<StyledLine>> for OverlayPage {
    fn from(lines: Vec<StyledLine>) -> Self {
        OverlayPage { lines, cursor: None }
    }
}

/// Something that is open over the prompt.
pub(crate) trait Overlay: Any {
    /// Handles a key. The overlay is not in the stack of `app` meanwhile.
    fn handle_key(&mut self, key: KeyEvent, now: Instant, app: &mut App) -> KeyOutcome;

    /// Handles pasted text, and returns whether it was for this overlay.
    fn handle_paste(&mut self, _text: &str, _now: Instant) -> bool {
        false
    }

    /// Returns whether the overlay has something to show.
    fn is_live(&self) -> bool {
        true
    }

    /// Returns the page in so many columns and rows; none if there is nothing to show any more, which closes it.
    fn page(&mut self, _app: &App, _columns: usize, _rows: usize) -> Option<OverlayPage> {
        None
    }
}

/// The open overlays with their layers, from the bottom up.
#[derive(Default)]
pub(crate) struct OverlayStack(Vec<(OverlayLayer, Box<dyn Overlay>)>);

impl OverlayStack {
    /// Opens an overlay, in place of the one in this layer.
    pub(crate) fn open(&mut self, layer: OverlayLayer, overlay: impl Overlay) {
        self.0.retain(|(other, _)| *other != layer);
        self.insert(layer, Box::new(overlay));
    }

    fn insert(&mut self, layer: OverlayLayer, overlay: Box<dyn Overlay>) {
        let at = self.0.partition_point(|(other, _)| *other < layer);
        self.0.insert(at, (layer, overlay));
    }

    pub(crate) fn close<T: Overlay>(&mut self) {
        self.0.retain(|(_, overlay)| !(&**overlay as &dyn Any).is::<T>());
    }

    pub(crate) fn close_all(&mut self) {
        self.0.clear();
    }

    pub(crate) fn get<T: Overlay>(&self) -> Option<&T> {
        self.0.iter().find_map(|(_, overlay)| (&**overlay as &dyn Any).downcast_ref())
    }

    pub(crate) fn get_mut<T: Overlay>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|(_, overlay)| (&mut **overlay as &mut dyn Any).downcast_mut())
    }

    pub(crate) fn is_open<T: Overlay>(&self) -> bool {
        self.get::<T>().is_some()
    }

    /// Returns the layer of the overlay that fills the screen, if one does.
    pub(crate) fn page_layer(&self) -> Option<OverlayLayer> {
        let (layer, overlay) = self.0.last()?;
        (*layer > OverlayLayer::Questions && overlay.is_live()).then_some(*layer)
    }
}

impl App {
    /// Offers a key to the overlays from the top down, and returns the effects if one of them took it.
    pub(super) fn offer_key(&mut self, key: KeyEvent, now: Instant) -> Option<Vec<AppEffect>> {
        let mut at = self.overlays.0.len();
        while let Some(below) = at.checked_sub(1) {
            let (layer, mut overlay) = self.overlays.0.remove(below);
            let outcome = overlay.handle_key(key, now, self);
            if let KeyOutcome::Taken(_) | KeyOutcome::Passed = outcome {
                self.overlays.insert(layer, overlay);
            }
            match outcome {
                KeyOutcome::Taken(effects) | KeyOutcome::Closed(effects) => return Some(effects),
                KeyOutcome::Passed | KeyOutcome::ClosedAndPassed => at = below,
            }
        }
        None
    }

    /// Offers pasted text to the overlays from the top down, and returns whether one of them took it.
    pub(crate) fn offer_paste(&mut self, text: &str, now: Instant) -> bool {
        self.overlays.0.iter_mut().rev().any(|(_, overlay)| overlay.handle_paste(text, now))
    }

    /// Returns the page that fills the screen, if one does.
    pub(crate) fn page(&mut self, columns: usize, rows: usize) -> Option<OverlayPage> {
        while self.overlays.page_layer().is_some() {
            let (layer, mut overlay) = self.overlays.0.pop()?;
            if let Some(page) = overlay.page(self, columns, rows) {
                self.overlays.insert(layer, overlay);
                return Some(page);
            }
        }
        None
    }

    /// Returns the session's question that the user is asked now.
    pub(crate) fn question(&self) -> Option<&dyn QuestionDialog> {
        self.overlays.get::<QuestionQueue>()?.dialog()
    }

    /// Returns the line of a page that says how to get to an open question, if there is one.
    pub(crate) fn question_notice(&self, key: &str) -> Option<StyledLine> {
        let text = format!("the agent waits for your permission: {key} shows the question");
        self.question().map(|_| StyledLine::styled(WARN.bold(), text))
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use super::*;
    use crate::frontend::tui::app::StatusLine;
    use crate::frontend::tui::history::PromptHistory;

    /// An overlay that copies its number when it gets a key that it takes.
    struct Numbered<const NUMBER: usize>(fn(Vec<AppEffect>) -> KeyOutcome);

    impl<const NUMBER: usize> Overlay for Numbered<NUMBER> {
        fn handle_key(&mut self, _key: KeyEvent, _now: Instant, _app: &mut App) -> KeyOutcome {
            self.0(vec![AppEffect::Copy(NUMBER.to_string())])
        }
    }

    fn app() -> App {
        App::new(PromptHistory::default(), StatusLine::default())
    }

    fn press(app: &mut App) -> Option<Vec<AppEffect>> {
        app.offer_key(KeyCode::Enter.into(), Instant::now())
    }

    fn copied(number: usize) -> Option<Vec<AppEffect>> {
        Some(vec![AppEffect::Copy(number.to_string())])
    }

    #[test]
    fn the_topmost_overlay_gets_the_key_in_whatever_order_they_were_opened() {
        let mut app = app();
        app.overlays.open(OverlayLayer::Pager, Numbered::<3>(KeyOutcome::Closed));
        app.overlays.open(OverlayLayer::Questions, Numbered::<1>(KeyOutcome::Taken));
        app.overlays.open(OverlayLayer::HooksPanel, Numbered::<2>(|_| KeyOutcome::ClosedAndPassed));
        app.overlays.open(OverlayLayer::Picker, Numbered::<4>(|_| KeyOutcome::Passed));
        assert_eq!(app.overlays.page_layer(), Some(OverlayLayer::Pager));
        assert_eq!(press(&mut app), copied(3), "it closes");
        assert_eq!(press(&mut app), copied(1), "the panel closes and passes the key on");
        assert!(!app.overlays.is_open::<Numbered<2>>() && app.overlays.is_open::<Numbered<4>>());
        app.overlays.close::<Numbered<4>>();
        assert_eq!(app.overlays.page_layer(), None, "a question fills no screen");
        assert_eq!(press(&mut app), copied(1), "it stays");
        app.overlays.close::<Numbered<1>>();
        assert_eq!(press(&mut app), None);
    }

    #[test]
    fn a_layer_holds_one_overlay_and_a_page_with_nothing_to_show_closes() {
        let mut app = app();
        app.overlays.open(OverlayLayer::Completion, Numbered::<1>(KeyOutcome::Taken));
        app.overlays.open(OverlayLayer::Picker, Numbered::<1>(KeyOutcome::Taken));
        app.overlays.open(OverlayLayer::Picker, Numbered::<2>(KeyOutcome::Taken));
        assert_eq!(press(&mut app), copied(2));
        assert!(app.page(80, 24).is_none() && !app.overlays.is_open::<Numbered<2>>());
        assert!(app.overlays.is_open::<Numbered<1>>(), "what fills no screen stays");
    }
}
