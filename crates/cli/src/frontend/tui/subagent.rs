//! Sub-agents on the screen: the card of the call that started one shows its progress, and each of its own calls leaves
//! a short block.

use hookwright_agent::{AgentEvent, AgentNotice, ModelEvent, ToolEnd, ToolEvent, TurnEvent};
use hookwright_hooks::SubAgent;

use super::app::{App, text_block};
use super::block::ScrollbackBlock;
use super::card;
use crate::presentation::call_text::short_args;
use crate::presentation::card_store::CardContent;
use crate::presentation::humanize::more_lines_text;
use crate::presentation::styled_text::{PLAIN, StyledLine, WARN};

/// The number of lines that stay on the screen of one call.
const MAX_CALL_LINES: usize = 6;

impl App {
    /// Handles an event of a sub-agent.
    pub(super) fn handle_subagent_event(&mut self, agent: &SubAgent, call_id: &str, event: AgentEvent) {
        match event {
            AgentEvent::Model(ModelEvent::Text(text)) => self.push_live_output(call_id, &text),
            AgentEvent::Tool(ToolEvent::Started(start)) => {
                self.push_live_output(call_id, &format!("\n{} {}\n", start.name, start.description))
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
                let title = format!("{} › {} {}", agent.name, end.name, short_args(&end.args));
                self.cards.push(title, CardContent::from_tool_end(&end, ""), None);
                self.push_block(finished_block(agent, &end));
            }
            AgentEvent::Turn(TurnEvent::Finished(end)) => {
                let words = end.message().map(|words| format!("\n{words}")).unwrap_or_default();
                self.push_live_output(call_id, &words);
            }
            AgentEvent::Notice(AgentNotice::Warning(text)) => {
                self.push_block(text_block(StyledLine::styled(WARN, format!("! {}: ", agent.name)), WARN, &text))
            }
            AgentEvent::Turn(TurnEvent::Retried { reason, attempt }) => {
                let heading = format!("! hooks rejected what {} answered (retry {attempt}): ", agent.name);
                self.push_block(text_block(StyledLine::styled(WARN, heading), PLAIN, &reason));
            }
            _ => {}
        }
    }

    /// Adds to the live output of a call's card.
    fn push_live_output(&mut self, call_id: &str, text: &str) {
        if let Some(card) = self.running.iter_mut().find(|card| card.call_id == call_id) {
            card.push_output(text);
        }
    }
}

/// Returns whether an event leaves a block on the screen.
pub(super) fn leaves_block(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Tool(ToolEvent::Finished(_))
            | AgentEvent::Notice(AgentNotice::Warning(_))
            | AgentEvent::Turn(TurnEvent::Retried { .. })
    )
}

/// Returns the short, indented block of a finished call.
fn finished_block(agent: &SubAgent, end: &ToolEnd) -> ScrollbackBlock {
    let named = ToolEnd { name: format!("{} › {}", agent.name, end.name), ..end.clone() };
    let ScrollbackBlock::Lines(mut lines) = card::finished_card(&named, "", &[], "") else {
        return ScrollbackBlock::Lines(Vec::new());
    };
    let hidden = lines.len().saturating_sub(MAX_CALL_LINES);
    lines.truncate(MAX_CALL_LINES);
    if hidden > 0 {
        let more = more_lines_text(hidden);
        lines.push(StyledLine::styled(crate::presentation::styled_text::DIM, format!("  … {more} (ctrl+o shows all)")));
    }
    ScrollbackBlock::Lines(lines.into_iter().map(|line| line.indented_by(2)).collect())
}
