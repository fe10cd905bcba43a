//! The number of model requests that may still be made: in the session, for a prompt, by a sub-agent.
//!
//! Each request counts in the parent budgets too, so that delegating work does not raise the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::event::TurnEnd;

/// A limited number of requests within a parent budget.
#[derive(Debug)]
pub struct RequestBudget {
    limit: Option<u32>,
    spent: AtomicU32,
    /// The end of a turn that exceeds this budget.
    exhausted_end: fn(u32) -> TurnEnd,
    parent: Option<Arc<RequestBudget>>,
}

impl RequestBudget {
    /// Creates the budget for the prompts of a session.
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

    /// Creates a budget for a sub-agent, whose requests count in this one too.
    pub(crate) fn for_subagent(self: &Arc<Self>, most: u32) -> Arc<RequestBudget> {
        let spent = AtomicU32::new(0);
        Arc::new(RequestBudget {
            limit: Some(most),
            spent,
            exhausted_end: TurnEnd::AgentLimit,
            parent: Some(self.clone()),
        })
    }

    /// Resets the count for the next prompt.
    pub(crate) fn reset(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }

    /// Spends one request, or returns how the turn ends if none is left.
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

    /// Returns the number of requests that were made.
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
