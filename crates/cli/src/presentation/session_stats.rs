//! Statistics of a session, counted from its events: requests, tokens, calls, hooks and cost.

use std::collections::BTreeMap;
use std::time::Duration;

use hookwright_agent::{AgentEvent, CallDecision, HookEvent, ModelEvent, ToolEvent, TurnEvent};
use hookwright_hooks::Decision;
use hookwright_model::Usage;
use hookwright_settings::ModelPrice;
use hookwright_tools::ToolDisplay;
use serde_json::{Value, json};

/// The counts of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionStats {
    models: BTreeMap<String, ModelStats>,
    tools: BTreeMap<String, ToolStats>,
    lines_added: usize,
    lines_removed: usize,
    prompts: u64,
    hooks: HookStats,
    /// The part of the counts that belongs to sub-agents, by name.
    agents: BTreeMap<String, AgentStats>,
    /// Prices of models, by the beginnings of their names.
    prices: Vec<(String, ModelPrice)>,
}

#[derive(Debug, Default)]
struct AgentStats {
    runs: u64,
    requests: u64,
    calls: u64,
    tokens: Usage,
}

#[derive(Debug, Default)]
struct ModelStats {
    requests: u64,
    errors: u64,
    latency: Duration,
    tokens: Usage,
}

#[derive(Debug, Default)]
struct ToolStats {
    calls: u64,
    failures: u64,
    duration: Duration,
    decisions: DecisionCounts,
}

/// The number of calls by decision.
type DecisionCounts = BTreeMap<CallDecision, u64>;

#[derive(Debug, Default)]
struct HookStats {
    runs: u64,
    failures: u64,
    denials: u64,
    duration: Duration,
}

/// The totals of a session.
pub(crate) struct SessionTotals {
    pub(crate) prompts: u64,
    pub(crate) requests: u64,
    pub(crate) tokens: u64,
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) hooks: u64,
    /// How often hooks denied.
    pub(crate) denials: u64,
}

impl SessionStats {
    pub(crate) fn count(&mut self, event: &AgentEvent) {
        let (agent, event) = event.unwrap_subagent();
        if let Some(agent) = agent {
            self.agents.entry(agent.name.clone()).or_default().count(event);
        }
        match event {
            AgentEvent::Model(ModelEvent::Answered { model, usage, duration, .. }) => {
                let stats = self.models.entry(model.clone()).or_default();
                stats.requests += 1;
                stats.latency += *duration;
                if let Some(usage) = usage {
                    add_usage(&mut stats.tokens, usage);
                }
            }
            AgentEvent::Model(ModelEvent::Failed { model, duration, .. }) => {
                let stats = self.models.entry(model.clone()).or_default();
                stats.requests += 1;
                stats.errors += 1;
                stats.latency += *duration;
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
                let stats = self.tools.entry(end.name.clone()).or_default();
                stats.calls += 1;
                stats.failures += u64::from(end.error.is_some());
                stats.duration += end.duration;
                if let Some(decision) = end.decision {
                    *stats.decisions.entry(decision).or_default() += 1;
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

    pub(crate) fn totals(&self) -> SessionTotals {
        SessionTotals {
            prompts: self.prompts,
            requests: self.models.values().map(|stats| stats.requests).sum(),
            tokens: self.models.values().map(|stats| stats.tokens.total).sum(),
            calls: self.tools.values().map(|stats| stats.calls).sum(),
            failures: self.tools.values().map(|stats| stats.failures).sum(),
            hooks: self.hooks.runs,
            denials: self.hooks.denials,
        }
    }

    /// Sets the prices that the settings give for models.
    pub(crate) fn set_prices(&mut self, prices: &[(String, ModelPrice)]) {
        self.prices = prices.to_vec();
    }

    /// Returns the cost of all requests to models with a known price, or none if no price is known.
    pub(crate) fn cost(&self) -> Option<f64> {
        let costs = self.models.iter().filter_map(|(name, stats)| self.cost_of(name, &stats.tokens));
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

    /// Returns the counts for machine-readable output.
    pub(crate) fn to_json(&self) -> Value {
        let models: BTreeMap<_, _> = self.models.iter().map(|(name, stats)| (name, model_json(stats))).collect();
        let by_name: BTreeMap<_, _> = self.tools.iter().map(|(name, stats)| (name, tool_json(stats))).collect();
        let calls: u64 = self.tools.values().map(|stats| stats.calls).sum();
        let failures: u64 = self.tools.values().map(|stats| stats.failures).sum();
        let duration: Duration = self.tools.values().map(|stats| stats.duration).sum();
        let mut decisions = DecisionCounts::new();
        for (decision, count) in self.tools.values().flat_map(|stats| &stats.decisions) {
            *decisions.entry(*decision).or_default() += count;
        }
        let mut counts = json!({
            "models": models,
            "tools": {
                "totalCalls": calls,
                "totalSuccess": calls - failures,
                "totalFail": failures,
                "totalDurationMs": millis(duration),
                "totalDecisions": decisions_json(&decisions),
                "byName": by_name,
            },
            "files": {"totalLinesAdded": self.lines_added, "totalLinesRemoved": self.lines_removed},
            "hooks": self.hooks_json(),
        });
        self.add_agents(&mut counts);
        self.add_cost(&mut counts);
        counts
    }

    /// Adds the counts of sub-agents if any ran; readers made for Gemini CLI do not expect the field.
    fn add_agents(&self, counts: &mut Value) {
        if !self.agents.is_empty() {
            let agents: BTreeMap<_, _> = self.agents.iter().map(|(name, stats)| (name, stats.to_json())).collect();
            counts["agents"] = json!(agents);
        }
    }

    /// Adds the cost, if a price is known.
    fn add_cost(&self, counts: &mut Value) {
        if let Some(cost) = self.cost() {
            counts["cost"] = json!(cost);
        }
    }

    /// Returns the counts in the shorter form that ends a stream of JSON lines.
    pub(crate) fn to_short_json(&self, elapsed: Duration) -> Value {
        let models: BTreeMap<_, _> =
            self.models.iter().map(|(name, stats)| (name, tokens_json(&stats.tokens))).collect();
        let mut sum = Usage::default();
        self.models.values().for_each(|stats| add_usage(&mut sum, &stats.tokens));
        let mut short = tokens_json(&sum);
        short["duration_ms"] = json!(millis(elapsed));
        short["tool_calls"] = json!(self.tools.values().map(|stats| stats.calls).sum::<u64>());
        short["models"] = json!(models);
        short["hooks"] = self.hooks_json();
        self.add_agents(&mut short);
        self.add_cost(&mut short);
        short
    }

    fn hooks_json(&self) -> Value {
        json!({
            "runs": self.hooks.runs,
            "failures": self.hooks.failures,
            "denials": self.hooks.denials,
            "totalDurationMs": millis(self.hooks.duration),
        })
    }
}

impl AgentStats {
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

    fn to_json(&self) -> Value {
        json!({
            "runs": self.runs,
            "requests": self.requests,
            "toolCalls": self.calls,
            "tokens": {"prompt": self.tokens.prompt, "candidates": self.tokens.candidates, "total": self.tokens.total},
        })
    }
}

fn tokens_json(usage: &Usage) -> Value {
    json!({
        "total_tokens": usage.total,
        "input_tokens": usage.prompt,
        "output_tokens": usage.candidates,
        "cached": usage.cached,
        "input": usage.prompt.saturating_sub(usage.cached),
    })
}

fn decisions_json(decisions: &DecisionCounts) -> Value {
    let count = |one: CallDecision| (one.as_str().to_owned(), json!(decisions.get(&one).copied().unwrap_or_default()));
    Value::Object(CallDecision::ALL.map(count).into_iter().collect())
}

fn model_json(stats: &ModelStats) -> Value {
    let Usage { prompt, candidates, total, thoughts, cached, tool_use } = stats.tokens;
    json!({
        "api": {
            "totalRequests": stats.requests,
            "totalErrors": stats.errors,
            "totalLatencyMs": millis(stats.latency),
        },
        "tokens": {
            "input": prompt.saturating_sub(cached),
            "prompt": prompt,
            "candidates": candidates,
            "total": total,
            "cached": cached,
            "thoughts": thoughts,
            "tool": tool_use,
        },
    })
}

fn tool_json(stats: &ToolStats) -> Value {
    json!({
        "count": stats.calls,
        "success": stats.calls - stats.failures,
        "fail": stats.failures,
        "durationMs": millis(stats.duration),
        "decisions": decisions_json(&stats.decisions),
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn add_usage(sum: &mut Usage, usage: &Usage) {
    sum.prompt = sum.prompt.saturating_add(usage.prompt);
    sum.candidates = sum.candidates.saturating_add(usage.candidates);
    sum.total = sum.total.saturating_add(usage.total);
    sum.thoughts = sum.thoughts.saturating_add(usage.thoughts);
    sum.cached = sum.cached.saturating_add(usage.cached);
    sum.tool_use = sum.tool_use.saturating_add(usage.tool_use);
}

/// Returns the counts as rows of a name and a text.
pub(crate) fn summary_rows(stats: &SessionStats) -> Vec<(&'static str, String)> {
    let tools = stats.tools.values();
    let (calls, failures) = tools.fold((0, 0), |sum, one| (sum.0 + one.calls, sum.1 + one.failures));
    let hooks = &stats.hooks;
    let mut lines = vec![
        ("Tools", format!("{calls} calls, {failures} failed")),
        (
            "Hooks",
            format!(
                "{} runs, {} failed, {} denials, {} ms",
                hooks.runs,
                hooks.failures,
                hooks.denials,
                millis(hooks.duration)
            ),
        ),
    ];
    lines.extend(stats.models.iter().map(|(name, model)| {
        let ModelStats { requests, errors, tokens, .. } = model;
        let (sent, received) = (tokens.prompt, tokens.candidates);
        ("Model", format!("{name}: {requests} requests, {errors} errors, {sent} tokens in, {received} out"))
    }));
    lines.extend(stats.cost().map(|cost| ("Cost", format!("{cost:.4}, at the prices of your settings"))));
    lines.extend(stats.agents.iter().map(|(name, agent)| {
        let AgentStats { runs, requests, calls, tokens } = agent;
        let (sent, received) = (tokens.prompt, tokens.candidates);
        let spent = format!("{requests} requests, {calls} calls, {sent} tokens in, {received} out");
        ("Agent", format!("{name}: {runs} runs, {spent}"))
    }));
    lines
}
