//! Applies a hook's messages to a request.
//!
//! The request then has exactly the hook's messages, in the hook's order. Pairing them with the original messages
//! decides what happens to the calls, results and media that hooks do not see.

use std::collections::HashMap;
use std::sync::Arc;

use hookwright_hooks::LlmMessage;
use hookwright_model::{Content, FunctionCall, FunctionResponse, ModelRequest, Part, Role};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::with_text;

/// The role and text of a message, which is all that hooks see of it.
type RoleAndText<'a> = (Role, &'a str);

/// Replaces the messages of a request with those of a hook, and returns a problem for each that was ambiguous.
pub(super) fn apply_messages(request: &mut ModelRequest, messages: &[LlmMessage]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut given: Vec<RoleAndText<'_>> = Vec::new();
    for message in messages {
        if message.role == "system" {
            let prompt = request.system.get_or_insert_default();
            prompt.push_str(if prompt.is_empty() { "" } else { "\n\n" });
            prompt.push_str(&message.content);
            continue;
        }
        given.push((parse_role(&message.role, &mut problems), &message.content));
    }
    let texts: Vec<String> = request.contents.iter().map(|content| content.text()).collect();
    let groups = message_groups(&texts);
    let had: Vec<RoleAndText<'_>> =
        groups.iter().map(|group| (request.contents[group.start].role, texts[group.start].as_str())).collect();
    let MessagePairing { pairs, uncertain: unsure } = pair_messages(&had, &given);
    let lost = unsure.iter().filter(|at| groups[**at].clone().any(|at| has_non_text_parts(&request.contents[at])));
    if lost.count() > 0 {
        let text = "it returned messages that can't be matched with those it got; calls, results and media of the missing ones are left out";
        problems.push(text.to_owned());
    }
    let in_order = pairs.iter().flatten().copied().eq(0..had.len());
    let before = &request.contents[..groups.first().map_or(request.contents.len(), |group| group.start)];
    let mut contents = before.to_vec();
    for ((role, text), pair) in given.iter().zip(&pairs) {
        match pair {
            Some(at) => {
                let group = &request.contents[groups[*at].clone()];
                // Unchanged messages keep all their parts.
                let same = had[*at] == (*role, *text);
                contents.push(if same { group[0].clone() } else { Arc::new(with_text(&group[0], text)) });
                contents.extend_from_slice(&group[1..]);
            }
            None => contents.push(Arc::new(Content { role: *role, parts: vec![Part::text(*text)] })),
        }
    }
    if !in_order {
        drop_unpaired_calls(&mut contents);
    }
    contents.retain(|content| !is_empty(content));
    request.contents = contents;
    problems
}

fn parse_role(word: &str, problems: &mut Vec<String>) -> Role {
    match word {
        "user" => Role::User,
        "model" | "assistant" => Role::Model,
        other => {
            problems.push(format!("a message has the unknown role `{other}`; it is sent as the user's"));
            Role::User
        }
    }
}

/// Returns groups of one message with text and the messages without text that follow it.
///
/// Calls and their results belong to the text before them and move with it.
fn message_groups(texts: &[String]) -> Vec<std::ops::Range<usize>> {
    let starts: Vec<usize> = (0..texts.len()).filter(|at| !texts[*at].is_empty()).collect();
    let ends = starts.iter().skip(1).copied().chain([texts.len()]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// The pairing of a hook's messages with the original ones.
struct MessagePairing {
    /// For each message of the hook, the index of the original message.
    pairs: Vec<Option<usize>>,
    /// The original messages that are left out although the hook may have meant to change them.
    uncertain: Vec<usize>,
}

/// Pairs messages by role and text first, in order and then anywhere, and the rest by their order between these.
fn pair_messages(had: &[RoleAndText<'_>], given: &[RoleAndText<'_>]) -> MessagePairing {
    let mut pairs: Vec<Option<usize>> = vec![None; given.len()];
    let mut taken = vec![false; had.len()];
    for op in capture_diff_slices(Algorithm::Myers, had, given) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                pairs[new_index + at] = Some(old_index + at);
                taken[old_index + at] = true;
            }
        }
    }
    let gaps = unpaired_gaps(&pairs, had.len());
    pair_moved(had, given, &mut pairs, &mut taken);
    let mut unsure = Vec::new();
    let last = gaps.len().saturating_sub(1);
    for (number, (old, new)) in gaps.into_iter().enumerate() {
        let old: Vec<usize> = old.filter(|at| !taken[*at]).collect();
        let new: Vec<usize> = new.filter(|at| pairs[*at].is_none()).collect();
        pair_changed(had, given, &old, &new, number == last, &mut pairs);
        let left = |at: &usize| !pairs.contains(&Some(*at));
        if new.iter().any(|at| pairs[*at].is_none()) {
            unsure.extend(old.into_iter().filter(left));
        }
    }
    MessagePairing { pairs, uncertain: unsure }
}

type UnpairedGap = (std::ops::Range<usize>, std::ops::Range<usize>);

/// Returns the gaps between paired messages, as ranges of the original and of the hook's messages.
fn unpaired_gaps(pairs: &[Option<usize>], had: usize) -> Vec<UnpairedGap> {
    let mut gaps = Vec::new();
    let (mut old, mut new) = (0, 0);
    let ends = pairs.iter().enumerate().filter_map(|(at, pair)| Some((at, (*pair)?)));
    for (new_end, old_end) in ends.chain([(pairs.len(), had)]) {
        gaps.push((old..old_end, new..new_end));
        (old, new) = (old_end + 1, new_end + 1);
    }
    gaps
}

/// Pairs messages that a hook moved.
fn pair_moved(had: &[RoleAndText<'_>], given: &[RoleAndText<'_>], pairs: &mut [Option<usize>], taken: &mut [bool]) {
    let mut free: HashMap<RoleAndText<'_>, Vec<usize>> = HashMap::new();
    for at in (0..had.len()).rev().filter(|at| !taken[*at]) {
        free.entry(had[at]).or_default().push(at);
    }
    for (at, pair) in pairs.iter_mut().enumerate().filter(|(_, pair)| pair.is_none()) {
        if let Some(old) = free.get_mut(&given[at]).and_then(Vec::pop) {
            *pair = Some(old);
            taken[old] = true;
        }
    }
}

/// Pairs messages that a hook changed.
///
/// If both sides have the same roles in the same order, they are paired in order. Otherwise similar messages are
/// paired, and at the end of the conversation the last one, as the calls of this turn belong to it.
fn pair_changed(
    had: &[RoleAndText<'_>],
    given: &[RoleAndText<'_>],
    old: &[usize],
    new: &[usize],
    is_last: bool,
    pairs: &mut [Option<usize>],
) {
    let roles = |all: &[RoleAndText<'_>], some: &[usize]| some.iter().map(|at| all[*at].0).collect::<Vec<_>>();
    if roles(had, old) == roles(given, new) {
        old.iter().zip(new).for_each(|(old, new)| pairs[*new] = Some(*old));
        return;
    }
    let mut rest = old;
    for at in new {
        let alike = |old: &usize| had[*old].0 == given[*at].0 && are_similar(had[*old].1, given[*at].1);
        if let Some(found) = rest.iter().position(alike) {
            pairs[*at] = Some(rest[found]);
            rest = &rest[found + 1..];
        }
    }
    if let (true, Some(old), Some(new)) = (is_last, rest.last(), new.last())
        && pairs[*new].is_none()
        && had[*old].0 == given[*new].0
    {
        pairs[*new] = Some(*old);
    }
}

/// Returns whether the common prefix and suffix of two texts make up at least half of the longer one.
fn are_similar(one: &str, other: &str) -> bool {
    let (shorter, longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let begins = shorter.bytes().zip(longer.bytes()).take_while(|(one, other)| one == other).count();
    let ends = shorter.bytes().rev().zip(longer.bytes().rev()).take_while(|(one, other)| one == other).count();
    !shorter.is_empty() && (begins + ends).min(shorter.len()) * 2 >= longer.len()
}

/// Removes calls without a result and results without a call, which no provider accepts.
fn drop_unpaired_calls(contents: &mut [Arc<Content>]) {
    let mut kept_results: Vec<usize> = Vec::new();
    for at in 0..contents.len() {
        let results: Vec<(usize, &FunctionResponse)> = match contents.get(at + 1) {
            Some(next) if next.role == Role::User => {
                let parts = next.parts.iter().enumerate();
                parts.filter_map(|(at, part)| Some((at, part.as_function_response()?))).collect()
            }
            _ => Vec::new(),
        };
        let (calls, answered) = matched_indices(&contents[at], &results);
        let keep = |place: usize, part: &Part| {
            (part.as_function_call().is_none() || calls.contains(&place))
                && (part.as_function_response().is_none() || kept_results.contains(&place))
        };
        retain_parts(&mut contents[at], keep);
        kept_results = answered;
    }
}

/// Returns the indices of the calls that have a result, and of the results that have a call.
fn matched_indices(content: &Content, results: &[(usize, &FunctionResponse)]) -> (Vec<usize>, Vec<usize>) {
    let answers = |call: &FunctionCall, result: &FunctionResponse| match (&call.id, &result.id) {
        (Some(call), Some(result)) => call == result,
        _ => call.name == result.name,
    };
    let (mut calls, mut answered) = (Vec::new(), Vec::new());
    for (place, part) in content.parts.iter().enumerate() {
        let Some(call) = part.as_function_call() else { continue };
        let free = results.iter().find(|(at, result)| !answered.contains(at) && answers(call, result));
        if let Some((at, _)) = free {
            calls.push(place);
            answered.push(*at);
        }
    }
    (calls, answered)
}

fn retain_parts(content: &mut Arc<Content>, keep: impl Fn(usize, &Part) -> bool) {
    if content.parts.iter().enumerate().all(|(place, part)| keep(place, part)) {
        return;
    }
    let parts = content.parts.iter().enumerate().filter(|(place, part)| keep(*place, part));
    *content = Arc::new(Content { role: content.role, parts: parts.map(|(_, part)| part.clone()).collect() });
}

fn has_non_text_parts(content: &Content) -> bool {
    content.parts.iter().any(|part| part.as_text().is_none() && part.as_thought().is_none())
}

fn is_empty(content: &Content) -> bool {
    content.parts.iter().all(|part| part.as_text().is_some_and(str::is_empty))
}

#[cfg(test)]
mod tests;
