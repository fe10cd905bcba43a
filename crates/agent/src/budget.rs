//! How many requests may still be made: in the session, for a prompt, by a sub-agent. Each counts for those above it, so
//! that nobody gets further by handing work on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::event::TurnEnd;

/// A number of requests that may be made, within another such number.
#[derive(Debug)]
pub struct Budget {
    most: Option<u32>,
    spent: AtomicU32,
    /// How a turn ends that wants more.
    end: fn(u32) -> TurnEnd,
    above: Option<Arc<Budget>>,
}

impl Budget {
    /// For the prompts of a session.
    pub fn new(session: Option<u32>, prompt: Option<u32>) -> Arc<Budget> {
        let session = Budget { most: session, spent: AtomicU32::new(0), end: TurnEnd::TurnLimit, above: None };
        let above = Some(Arc::new(session));
        Arc::new(Budget { most: prompt, spent: AtomicU32::new(0), end: TurnEnd::PromptLimit, above })
    }

    /// For a sub-agent, whose requests count here too.
    pub(crate) fn for_agent(self: &Arc<Self>, most: u32) -> Arc<Budget> {
        let spent = AtomicU32::new(0);
        Arc::new(Budget { most: Some(most), spent, end: TurnEnd::AgentLimit, above: Some(self.clone()) })
    }

    /// Another prompt begins.
    pub(crate) fn renew(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }

    /// Takes one request, or says how the turn ends because there is none left.
    pub(crate) fn spend(&self) -> Result<(), TurnEnd> {
        if let Some(above) = &self.above {
            above.spend()?;
        }
        let more = |spent: u32| self.most.is_none_or(|most| spent < most).then(|| spent.saturating_add(1));
        if self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
            return Ok(());
        }
        let mut above = self.above.as_deref();
        while let Some(budget) = above {
            budget.spent.fetch_sub(1, Ordering::Relaxed);
            above = budget.above.as_deref();
        }
        Err((self.end)(self.most.unwrap_or_default()))
    }

    /// How many have been made.
    pub(crate) fn spent(&self) -> u32 {
        self.spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_spend_counts_above() {
        let prompt = Budget::new(Some(6), Some(4));
        let agent = prompt.for_agent(2);
        assert_eq!([agent.spend(), agent.spend()], [Ok(()), Ok(())]);
        assert_eq!(agent.spend(), Err(TurnEnd::AgentLimit(2)));
        assert_eq!([prompt.spend(), prompt.spend()], [Ok(()), Ok(())], "what was not made does not count");
        assert_eq!(prompt.spend(), Err(TurnEnd::PromptLimit(4)));
        assert_eq!(prompt.for_agent(9).spend(), Err(TurnEnd::PromptLimit(4)));
        prompt.renew();
        assert_eq!([prompt.spend(), prompt.spend()], [Ok(()), Ok(())]);
        assert_eq!(prompt.spend(), Err(TurnEnd::TurnLimit(6)), "the session's count goes on");
    }
}
