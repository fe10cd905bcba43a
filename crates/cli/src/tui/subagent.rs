//! What sub-agents do, on the screen: the card of the call that they work for says what they are at, and each of their
//! calls leaves a line or two under their name.

use hookwright_agent::{AgentEvent, ToolEnd};
use hookwright_hooks::SubAgent;

use super::app::{App, words};
use super::block::Block;
use super::card;
use super::cards::Whole;
use super::text::{Line, PLAIN, WARN};

/// So much of one call stays on the screen.
const MOST_LINES: usize = 6;

impl App {
    /// A sub-agent tells of something.
    pub(super) fn sub_agent(&mut self, agent: &SubAgent, call_id: &str, event: AgentEvent) {
        match event {
            AgentEvent::Text(text) => self.live(call_id, &text),
            AgentEvent::ToolStarted(start) => self.live(call_id, &format!("\n{} {}\n", start.name, start.description)),
            AgentEvent::ToolFinished(end) => {
                let title = format!("{} › {} {}", agent.name, end.name, card::short_args(&end.args));
                self.cards.keep(title, Whole::of(&end, ""), None);
                self.say(finished(agent, &end));
            }
            AgentEvent::TurnFinished(end) => {
                let words = end.words().map(|words| format!("\n{words}")).unwrap_or_default();
                self.live(call_id, &words);
            }
            AgentEvent::Warning(text) => self.say(words(Line::of(WARN, format!("! {}: ", agent.name)), WARN, &text)),
            AgentEvent::AgentRetry { reason, attempt } => {
                let heading = format!("! hooks rejected what {} answered (retry {attempt}): ", agent.name);
                self.say(words(Line::of(WARN, heading), PLAIN, &reason));
            }
            _ => {}
        }
    }

    /// Adds to what the card of a call shows while it runs.
    fn live(&mut self, call_id: &str, text: &str) {
        if let Some(card) = self.running.iter_mut().find(|card| card.call_id == call_id) {
            card.output(text);
        }
    }
}

/// Whether it leaves something on the screen.
pub(super) fn leaves_lines(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::ToolFinished(_) | AgentEvent::Warning(_) | AgentEvent::AgentRetry { .. })
}

/// A call that is over, indented and in short.
fn finished(agent: &SubAgent, end: &ToolEnd) -> Block {
    let named = ToolEnd { name: format!("{} › {}", agent.name, end.name), ..end.clone() };
    let Block::Lines(mut lines) = card::finished(&named, "", &[], "") else { return Block::Lines(Vec::new()) };
    let hidden = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if hidden > 0 {
        let more = super::diff::more(hidden);
        lines.push(Line::of(super::text::DIM, format!("  … {more} (ctrl+o shows all)")));
    }
    Block::Lines(lines.into_iter().map(|line| line.indented(2)).collect())
}
