//! How many requests may still be made: in the session, for a prompt, by a sub-agent. Each counts for those above it, so
//! that nobody gets further by handing work on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::event::TurnEnd;

/// A number of requests that may be made, within another such number.
#[derive(Debug)]
pub struct RequestBudget {
    limit: Option<u32>,
    spent: AtomicU32,
    /// How a turn ends that wants more.
    exhausted_end: fn(u32) -> TurnEnd,
    parent: Option<Arc<RequestBudget>>,
}

impl RequestBudget {
    /// For the prompts of a session.
    pub fn new(session: Option<u32>, prompt: Option<u32>) -> Arc<RequestBudget> {
        let session =
            RequestBudget { limit: session, spent: AtomicU32::new(0), exhausted_end: TurnEnd::TurnLimit, parent: None };
        let above = Some(Arc::new(session));
        Arc::new(RequestBudget {
            limit: prompt,
            spent: AtomicU32::new(0),
            exhausted_end: TurnEnd::PromptLimit,
            parent: above,
        })
    }

    /// For a sub-agent, whose requests count here too.
    pub(crate) fn for_subagent(self: &Arc<Self>, most: u32) -> Arc<RequestBudget> {
        let spent = AtomicU32::new(0);
        Arc::new(RequestBudget {
            limit: Some(most),
            spent,
            exhausted_end: TurnEnd::AgentLimit,
            parent: Some(self.clone()),
        })
    }

    /// Another prompt begins.
    pub(crate) fn reset(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }

    /// Takes one request, or says how the turn ends because there is none left.
    pub(crate) fn try_spend(&self) -> Result<(), TurnEnd> {
        if let Some(above) = &self.parent {
            above.try_spend()?;
        }
        let more = |spent: u32| self.limit.is_none_or(|most| spent < most).then(|| spent.saturating_add(1));
        if self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
            return Ok(());
        }
        let mut above = self.parent.as_deref();
        while let Some(budget) = above {
            budget.spent.fetch_sub(1, Ordering::Relaxed);
            above = budget.parent.as_deref();
        }
        Err((self.exhausted_end)(self.limit.unwrap_or_default()))
    }

    /// How many have been made.
    pub(crate) fn spent_requests(&self) -> u32 {
        self.spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subagent_requests_count_in_parent_budget() {
        let prompt = RequestBudget::new(Some(6), Some(4));
        let agent = prompt.for_subagent(2);
        assert_eq!([agent.try_spend(), agent.try_spend()], [Ok(()), Ok(())]);
        assert_eq!(agent.try_spend(), Err(TurnEnd::AgentLimit(2)));
        assert_eq!([prompt.try_spend(), prompt.try_spend()], [Ok(()), Ok(())], "what was not made does not count");
        assert_eq!(prompt.try_spend(), Err(TurnEnd::PromptLimit(4)));
        assert_eq!(prompt.for_subagent(9).try_spend(), Err(TurnEnd::PromptLimit(4)));
        prompt.reset();
        assert_eq!([prompt.try_spend(), prompt.try_spend()], [Ok(()), Ok(())]);
        assert_eq!(prompt.try_spend(), Err(TurnEnd::TurnLimit(6)), "the session's count goes on");
    }
}
