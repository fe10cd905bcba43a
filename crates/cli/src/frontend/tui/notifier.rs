//! What tells the user of the session while they look elsewhere: the window's title, and a notice when it waits for them.

use std::time::{Duration, Instant};

use hookwright_agent::AgentEvent;
use hookwright_settings::UiSettings;

use super::driver::ScreenDriver;
use crate::output::{notification_sequence, title_sequence};

/// Whoever waits for less is still looking.
const MIN_NOTIFIED_WAIT: Duration = Duration::from_secs(10);

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct UserNotifier {
    title: Option<String>,
    /// Since when the agent works on something.
    busy_since: Option<Instant>,
}

impl ScreenDriver<'_> {
    /// Tells the user, if they want that, when the agent begins to wait for them.
    pub(crate) fn notify_if_waiting(&mut self, event: &AgentEvent) {
        let now = Instant::now();
        let words = match event {
            AgentEvent::Busy(_) => {
                self.notifier.busy_since = Some(now);
                return;
            }
            AgentEvent::ApprovalRequested(request, _) => format!("{} waits for your permission", request.title),
            AgentEvent::GuardsChanged(..) => "a change of your guards waits for your word".to_owned(),
            AgentEvent::Idle { .. } => {
                let since = self.notifier.busy_since.take();
                if since.is_none_or(|since| now.saturating_duration_since(since) < MIN_NOTIFIED_WAIT) {
                    return;
                }
                "the answer is there".to_owned()
            }
            _ => return,
        };
        let sequence = notification_sequence(self.session.view().loaded.settings.ui.notifications, self.world, &words);
        // A terminal that is gone is noticed elsewhere.
        let _ = self.screen.write(&sequence);
    }

    /// The window's title, if it is another one than before.
    pub(crate) fn update_title(&mut self) {
        let view = self.session.view();
        let wanted =
            configured_title(&view.loaded.settings.ui, &self.state_label(), &folder_name(&view.loaded.project.root));
        if wanted != self.notifier.title {
            if let Some(text) = &wanted {
                let _ = self.screen.write(&title_sequence(text));
            }
            self.notifier.title = wanted;
        }
    }

    /// After somebody else had the terminal, nobody knows its title.
    pub(crate) fn invalidate_title(&mut self) {
        self.notifier.title = None;
    }

    fn state_label(&self) -> String {
        match (self.app.dialogs.is_empty(), &self.app.busy) {
            (false, _) => "waits for you".to_owned(),
            (true, Some(busy)) => busy.label.to_lowercase(),
            (true, None) => "ready".to_owned(),
        }
    }
}

fn folder_name(root: &std::path::Path) -> String {
    root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn configured_title(ui: &UiSettings, state: &str, folder: &str) -> Option<String> {
    match (ui.hide_window_title, ui.show_status_in_title) {
        (true, _) => None,
        (false, true) => Some(format!("{state} - {folder} - Hookwright")),
        (false, false) => Some(format!("Hookwright - {folder}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_what_the_settings_say() {
        let title = |hide_window_title, show_status_in_title| {
            configured_title(
                &UiSettings { hide_window_title, show_status_in_title, ..UiSettings::default() },
                "ready",
                "p",
            )
        };
        assert_eq!(title(false, false).as_deref(), Some("Hookwright - p"));
        assert_eq!(title(false, true).as_deref(), Some("ready - p - Hookwright"));
        assert_eq!(title(true, true), None);
    }
}
