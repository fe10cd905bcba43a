//! Statistics of a session, counted from its events: requests, tokens, calls, hooks and cost.

use std::collections::BTreeMap;
use std::time::Duration;

use hookwright_hooks::Decision;
use hookwright_model::Usage;
use hookwright_settings::ModelPrice;
use hookwright_tools::ToolDisplay;
use serde::Serialize;

use crate::event::{AgentEvent, CallDecision, HookEvent, ModelEvent, ToolEvent, TurnEvent, serialize_millis};

/// The counts of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionStatistics {
    /// The number of prompts that hooks let pass.
    pub prompts: u64,
    /// The counts of each model, by its name.
    pub models: BTreeMap<String, ModelStatistics>,
    /// The counts of each tool, by its name.
    pub tools: BTreeMap<String, ToolStatistics>,
    /// The number of lines that edits added.
    pub lines_added: usize,
    /// The number of lines that edits removed.
    pub lines_removed: usize,
    /// The counts of hooks.
    pub hooks: HookStatistics,
    /// The part of the counts that belongs to sub-agents, by name.
    pub agents: BTreeMap<String, SubAgentStatistics>,
    /// The cost of all requests to models with a known price, or none if no price is known.
    pub cost: Option<f64>,
    /// Prices of models, by the beginnings of their names.
    #[serde(skip)]
    prices: Vec<(String, ModelPrice)>,
}

/// The counts of a sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubAgentStatistics {
    /// How often it was given an objective.
    pub runs: u64,
    /// The number of its requests.
    pub requests: u64,
    /// The number of its tool calls.
    pub calls: u64,
    /// The tokens of its requests.
    pub tokens: Usage,
}

/// The counts of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelStatistics {
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that failed.
    pub errors: u64,
    /// The time that the requests took.
    #[serde(rename = "latency_ms", serialize_with = "serialize_millis")]
    pub latency: Duration,
    /// The tokens of the requests.
    pub tokens: Usage,
}

/// The counts of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolStatistics {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that failed.
    pub failures: u64,
    /// The time that the calls took.
    #[serde(rename = "duration_ms", serialize_with = "serialize_millis")]
    pub duration: Duration,
    /// The number of calls by decision.
    pub decisions: BTreeMap<CallDecision, u64>,
}

/// The counts of hooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HookStatistics {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that failed.
    pub failures: u64,
    /// How often hooks denied.
    pub denials: u64,
    /// The time that the runs took.
    #[serde(rename = "duration_ms", serialize_with = "serialize_millis")]
    pub duration: Duration,
}

impl SessionStatistics {
    pub(crate) fn count(&mut self, event: &AgentEvent) {
        let (agent, event) = event.unwrap_subagent();
        if let Some(agent) = agent {
            self.agents.entry(agent.name.clone()).or_default().count(event);
        }
        match event {
            AgentEvent::Model(ModelEvent::Answered { model, usage, duration, .. }) => {
                let counts = self.models.entry(model.clone()).or_default();
                counts.requests += 1;
                counts.latency += *duration;
                if let Some(usage) = usage {
                    add_usage(&mut counts.tokens, usage);
                }
                self.cost = self.total_cost();
            }
            AgentEvent::Model(ModelEvent::Failed { model, duration, .. }) => {
                let counts = self.models.entry(model.clone()).or_default();
                counts.requests += 1;
                counts.errors += 1;
                counts.latency += *duration;
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
                let counts = self.tools.entry(end.name.clone()).or_default();
                counts.calls += 1;
                counts.failures += u64::from(end.error.is_some());
                counts.duration += end.duration;
                if let Some(decision) = end.decision {
                    *counts.decisions.entry(decision).or_default() += 1;
                }
                if let (ToolDisplay::Diff(diff), None) = (&end.display, &end.error) {
                    self.lines_added += diff.stat.added_lines;
                    self.lines_removed += diff.stat.removed_lines;
                }
            }
            AgentEvent::Turn(TurnEvent::Started { .. }) if agent.is_none() => self.prompts += 1,
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => {
                self.hooks.runs += 1;
                self.hooks.failures += u64::from(!report.succeeded());
                let denied = report.answer.stop || report.decision() == Some(Decision::Deny);
                self.hooks.denials += u64::from(denied);
                self.hooks.duration += report.duration;
            }
            _ => {}
        }
    }

    /// Sets the prices that the settings give for models.
    pub(crate) fn set_prices(&mut self, prices: &[(String, ModelPrice)]) {
        self.prices = prices.to_vec();
        self.cost = self.total_cost();
    }

    fn total_cost(&self) -> Option<f64> {
        let costs = self.models.iter().filter_map(|(name, counts)| self.cost_of(name, &counts.tokens));
        costs.reduce(|sum, cost| sum + cost)
    }

    fn cost_of(&self, model: &str, tokens: &Usage) -> Option<f64> {
        let fitting = self.prices.iter().filter(|(name, _)| model.starts_with(name.as_str()));
        let (_, price) = fitting.max_by_key(|(name, _)| name.len())?;
        let cached = tokens.cached.min(tokens.prompt);
        // Thoughts are paid for, and not all servers count them as part of the answer.
        let output = tokens.total.saturating_sub(tokens.prompt).saturating_sub(tokens.tool_use).max(tokens.candidates);
        let million = |count: u64, price: f64| count as f64 / 1e6 * price;
        let input = million(tokens.prompt - cached, price.input) + million(cached, price.cached);
        Some(input + million(output, price.output))
    }

    /// Returns the tokens of all requests.
    pub fn total_tokens(&self) -> Usage {
        let mut sum = Usage::default();
        self.models.values().for_each(|counts| add_usage(&mut sum, &counts.tokens));
        sum
    }

    /// Returns the counts of all tools together.
    pub fn all_tools(&self) -> ToolStatistics {
        let mut sum = ToolStatistics::default();
        for counts in self.tools.values() {
            sum.calls += counts.calls;
            sum.failures += counts.failures;
            sum.duration += counts.duration;
            for (decision, count) in &counts.decisions {
                *sum.decisions.entry(*decision).or_default() += count;
            }
        }
        sum
    }
}

impl SubAgentStatistics {
    fn count(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Model(ModelEvent::Answered { usage, .. }) => {
                self.requests += 1;
                add_usage(&mut self.tokens, &usage.unwrap_or_default());
            }
            AgentEvent::Model(ModelEvent::Failed { .. }) => self.requests += 1,
            AgentEvent::Tool(ToolEvent::Finished(_)) => self.calls += 1,
            AgentEvent::Turn(TurnEvent::Finished(_)) => self.runs += 1,
            _ => {}
        }
    }
}

fn add_usage(sum: &mut Usage, usage: &Usage) {
    sum.prompt = sum.prompt.saturating_add(usage.prompt);
    sum.candidates = sum.candidates.saturating_add(usage.candidates);
    sum.total = sum.total.saturating_add(usage.total);
    sum.thoughts = sum.thoughts.saturating_add(usage.thoughts);
    sum.cached = sum.cached.saturating_add(usage.cached);
    sum.tool_use = sum.tool_use.saturating_add(usage.tool_use);
}
