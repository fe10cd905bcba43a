//! A session's statistics as text and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use hookwright_agent::CallDecision;
use hookwright_agent::session::{ModelStatistics, SessionStatistics, SubAgentStatistics, ToolStatistics};
use hookwright_model::Usage;
use serde_json::{Value, json};

/// Returns the counts for machine-readable output.
pub(crate) fn statistics_json(stats: &SessionStatistics) -> Value {
    let models: BTreeMap<_, _> = stats.models.iter().map(|(name, counts)| (name, model_json(counts))).collect();
    let by_name: BTreeMap<_, _> = stats.tools.iter().map(|(name, counts)| (name, tool_json(counts))).collect();
    let all = stats.all_tools();
    let mut counts = json!({
        "models": models,
        "tools": {
            "totalCalls": all.calls,
            "totalSuccess": all.calls - all.failures,
            "totalFail": all.failures,
            "totalDurationMs": millis(all.duration),
            "totalDecisions": decisions_json(&all),
            "byName": by_name,
        },
        "files": {"totalLinesAdded": stats.lines_added, "totalLinesRemoved": stats.lines_removed},
        "hooks": hooks_json(stats),
    });
    add_agents_and_cost(stats, &mut counts);
    counts
}

/// Returns the counts in the shorter form that ends a stream of JSON lines.
pub(crate) fn short_statistics_json(stats: &SessionStatistics, elapsed: Duration) -> Value {
    let models: BTreeMap<_, _> =
        stats.models.iter().map(|(name, counts)| (name, tokens_json(&counts.tokens))).collect();
    let mut short = tokens_json(&stats.total_tokens());
    short["duration_ms"] = json!(millis(elapsed));
    short["tool_calls"] = json!(stats.all_tools().calls);
    short["models"] = json!(models);
    short["hooks"] = hooks_json(stats);
    add_agents_and_cost(stats, &mut short);
    short
}

/// Adds the counts of sub-agents if any ran, and the cost if a price is known; readers made for Gemini CLI expect neither.
fn add_agents_and_cost(stats: &SessionStatistics, counts: &mut Value) {
    if !stats.agents.is_empty() {
        let agents: BTreeMap<_, _> = stats.agents.iter().map(|(name, counts)| (name, agent_json(counts))).collect();
        counts["agents"] = json!(agents);
    }
    if let Some(cost) = stats.cost {
        counts["cost"] = json!(cost);
    }
}

fn hooks_json(stats: &SessionStatistics) -> Value {
    json!({
        "runs": stats.hooks.runs,
        "failures": stats.hooks.failures,
        "denials": stats.hooks.denials,
        "totalDurationMs": millis(stats.hooks.duration),
    })
}

fn agent_json(counts: &SubAgentStatistics) -> Value {
    let SubAgentStatistics { runs, requests, calls, tokens } = counts;
    json!({
        "runs": runs,
        "requests": requests,
        "toolCalls": calls,
        "tokens": {"prompt": tokens.prompt, "candidates": tokens.candidates, "total": tokens.total},
    })
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

fn decisions_json(tool: &ToolStatistics) -> Value {
    let count =
        |one: CallDecision| (one.as_str().to_owned(), json!(tool.decisions.get(&one).copied().unwrap_or_default()));
    Value::Object(CallDecision::ALL.map(count).into_iter().collect())
}

fn model_json(counts: &ModelStatistics) -> Value {
    let Usage { prompt, candidates, total, thoughts, cached, tool_use } = counts.tokens;
    json!({
        "api": {
            "totalRequests": counts.requests,
            "totalErrors": counts.errors,
            "totalLatencyMs": millis(counts.latency),
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

fn tool_json(counts: &ToolStatistics) -> Value {
    json!({
        "count": counts.calls,
        "success": counts.calls - counts.failures,
        "fail": counts.failures,
        "durationMs": millis(counts.duration),
        "decisions": decisions_json(counts),
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the counts as rows of a name and a text.
pub(crate) fn summary_rows(stats: &SessionStatistics) -> Vec<(&'static str, String)> {
    let (tools, hooks) = (stats.all_tools(), &stats.hooks);
    let ms = millis(hooks.duration);
    let mut lines = vec![
        ("Tools", format!("{} calls, {} failed", tools.calls, tools.failures)),
        ("Hooks", format!("{} runs, {} failed, {} denials, {ms} ms", hooks.runs, hooks.failures, hooks.denials)),
    ];
    lines.extend(stats.models.iter().map(|(name, model)| {
        let ModelStatistics { requests, errors, tokens, .. } = model;
        let (sent, received) = (tokens.prompt, tokens.candidates);
        ("Model", format!("{name}: {requests} requests, {errors} errors, {sent} tokens in, {received} out"))
    }));
    lines.extend(stats.cost.map(|cost| ("Cost", format!("{cost:.4}, at the prices of your settings"))));
    lines.extend(stats.agents.iter().map(|(name, agent)| {
        let SubAgentStatistics { runs, requests, calls, tokens } = agent;
        let (sent, received) = (tokens.prompt, tokens.candidates);
        let spent = format!("{requests} requests, {calls} calls, {sent} tokens in, {received} out");
        ("Agent", format!("{name}: {runs} runs, {spent}"))
    }));
    lines
}
