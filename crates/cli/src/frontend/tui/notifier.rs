//! Informs a user who looks elsewhere: the window title, and a notification when the session waits for the user.

use std::time::{Duration, Instant};

use hookwright_agent::{AgentEvent, QuestionEvent, QuestionSubject, SessionEvent};
use hookwright_settings::UiSettings;

use super::driver::ScreenDriver;
use crate::output::{notification_sequence, title_sequence};

/// The shortest turn whose end is notified.
const MIN_NOTIFIED_WAIT: Duration = Duration::from_secs(10);

/// The state of the window title and of notifications.
#[derive(Debug, Default)]
pub(crate) struct UserNotifier {
    title: Option<String>,
    /// Since when the agent is working.
    busy_since: Option<Instant>,
}

impl ScreenDriver<'_> {
    /// Notifies the user, if the settings ask for it, when the agent starts to wait for the user.
    pub(crate) fn notify_if_waiting(&mut self, event: &AgentEvent) {
        let now = Instant::now();
        let words = match event {
            AgentEvent::Session(SessionEvent::Busy(_)) => {
                self.notifier.busy_since = Some(now);
                return;
            }
            AgentEvent::Question(QuestionEvent::Asked(question)) => match &question.subject {
                QuestionSubject::Approval(request) => format!("{} waits for your permission", request.title),
                QuestionSubject::GuardTrust(_) => "a change to your guards waits for your decision".to_owned(),
                QuestionSubject::Input(_) => return,
            },
            AgentEvent::Session(SessionEvent::Idle { .. }) => {
                let since = self.notifier.busy_since.take();
                if since.is_none_or(|since| now.saturating_duration_since(since) < MIN_NOTIFIED_WAIT) {
                    return;
                }
                "the answer is ready".to_owned()
            }
            _ => return,
        };
        let sequence = notification_sequence(self.session.view().loaded.settings.ui.notifications, self.world, &words);
        // If the terminal is gone, the key reader notices it.
        let _ = self.screen.write(&sequence);
    }

    /// Sets the window title, if it has changed.
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

    /// Forgets the title, because another program may have changed it.
    pub(crate) fn invalidate_title(&mut self) {
        self.notifier.title = None;
    }

    fn state_label(&self) -> String {
        match (self.app.question(), &self.app.busy) {
            (Some(_), _) => "waits for you".to_owned(),
            (None, Some(busy)) => busy.label.to_lowercase(),
            (None, None) => "ready".to_owned(),
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
    fn the_title_follows_the_settings() {
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
