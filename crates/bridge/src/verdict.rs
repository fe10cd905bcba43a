//! Combines the hooks' answers about each view into one verdict about the host's event.

use hookwright_hooks::{AnyEvent, Decision, EventKind, Hook, HookCapability, MergedAnswer};
use serde_json::{Map, Value};

use crate::dialect::{HostEvent, HostVerdict, Ruling, VerdictDowngrade};
use crate::tools;

impl HostVerdict {
    /// Combines the answers: a denial of any view denies the event, and texts are joined in the order of the views.
    pub fn from_merged(host_event: &HostEvent, merged: &[MergedAnswer]) -> HostVerdict {
        let mut verdict = HostVerdict::default();
        for (view, one) in host_event.views.iter().zip(merged) {
            match view.is_recheck {
                true => verdict.add_recheck(one),
                false => verdict.add_answer(one),
            }
            let kind = view.event.kind();
            if host_event.views.len() == 1 {
                verdict.engine_answer = one.to_json(kind);
            }
        }
        verdict.write_back_input(host_event, merged);
        verdict.approved_by = approvals(host_event, merged, &verdict);
        verdict.record_downgrades(host_event, merged);
        verdict
    }

    /// Approves a call whose only change is that it runs confined, if rules approve it as such.
    pub fn approve_confined(&mut self, host_event: &HostEvent, merged: &[MergedAnswer]) {
        let input = self.input.take();
        self.approved_by = approvals(host_event, merged, self);
        self.input = input;
    }

    /// Adds an answer to a permission request: only a denial counts, because the user is being asked and changes were
    /// made before.
    fn add_recheck(&mut self, merged: &MergedAnswer) {
        let (ruling, reason) = ruling_of(merged);
        if ruling >= Ruling::Deny {
            self.add_ruling(ruling, &reason);
        }
    }

    fn add_answer(&mut self, merged: &MergedAnswer) {
        let (ruling, reason) = ruling_of(merged);
        self.add_ruling(ruling, &reason);
        append_line(&mut self.context, merged.answer.additional_context.as_deref());
        append_line(&mut self.message, merged.answer.system_message.as_deref());
    }

    /// Adds a ruling. The stronger ruling wins; equal rulings keep both reasons.
    pub fn add_ruling(&mut self, ruling: Ruling, reason: &str) {
        if ruling == Ruling::Pass || ruling < self.ruling {
            return;
        }
        if ruling > self.ruling {
            self.reason.clear();
        }
        self.ruling = ruling;
        // Views of one call are often denied for the same reason.
        if !self.reason.lines().eq(reason.lines()) && !self.reason.contains(reason) {
            if !self.reason.is_empty() {
                self.reason.push('\n');
            }
            self.reason.push_str(reason);
        }
    }

    /// Writes changed arguments back under the host's keys. A change that can't be written denies the call, because the
    /// change may be what makes it safe.
    fn write_back_input(&mut self, host_event: &HostEvent, merged: &[MergedAnswer]) {
        let Some(tool) = &host_event.tool else { return };
        if self.ruling >= Ruling::Deny {
            return;
        }
        let mut changed = None;
        for (view, one) in host_event.views.iter().zip(merged) {
            let (AnyEvent::BeforeTool(event), Some(changes)) = (&view.event, &one.answer.tool_input) else { continue };
            if view.is_recheck {
                continue;
            }
            let mut whole: Map<String, Value> = event.tool_input.as_ref().clone();
            whole.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
            if whole == *event.tool_input {
                continue;
            }
            let written = if changed.is_some() {
                Err("it is one of several changes to one call".to_owned())
            } else {
                tools::write_back_arguments(host_event.host, &tool.name, &tool.input, view.write_back, &whole)
            };
            match written {
                Ok(input) => changed = Some(input),
                Err(why) => {
                    let title = host_event.host.title();
                    let reason = format!("a hook changes this call in a way that {title} does not support: {why}");
                    self.add_ruling(Ruling::Deny, &reason);
                    self.downgrades.push(VerdictDowngrade { requested: "rewrite", applied: "deny" });
                    return;
                }
            }
        }
        self.input = changed;
    }

    /// Records the requested effects, other than rulings, that the host has no capability for.
    fn record_downgrades(&mut self, host_event: &HostEvent, merged: &[MergedAnswer]) {
        let can = |power| host_event.info.is_some_and(|row| row.can(power));
        for one in merged {
            let answer = &one.answer;
            if answer.decision == Some(Decision::Confine) {
                self.downgrades.push(VerdictDowngrade { requested: "confine", applied: "ask" });
            }
            let wanted = [
                (answer.tail_call.is_some(), HookCapability::TailCall, "tail call"),
                (answer.clear_context, HookCapability::ClearContext, "clear the context"),
                (answer.redact_input, HookCapability::RedactInput, "redact the arguments"),
                (answer.llm_request.is_some(), HookCapability::RewriteRequest, "change the request"),
                (answer.tool_config.is_some(), HookCapability::SelectTools, "select tools"),
            ];
            let lost = wanted.into_iter().filter(|(is_wanted, power, _)| *is_wanted && !can(*power));
            self.downgrades
                .extend(lost.map(|(_, _, wanted)| VerdictDowngrade { requested: wanted, applied: "nothing" }));
        }
    }
}

impl HostEvent {
    /// Returns the event that hooks receive.
    pub fn kind(&self) -> Option<EventKind> {
        self.views.iter().find(|view| !view.is_recheck).map(|view| view.event.kind())
    }

    /// Returns whether hooks of that event run for it, for the first time or again.
    pub fn has_view_of(&self, kind: EventKind) -> bool {
        self.views.iter().any(|view| view.event.kind() == kind)
    }

    /// Returns whether a hook runs. For a permission request about a call that was already judged only guards run:
    /// other hooks have already run, and may have side effects.
    pub fn should_run_hook(&self, hook: &Hook) -> bool {
        let again = self.views.iter().any(|view| view.is_recheck && view.event.kind() == hook.event);
        !again || hook.is_guard()
    }

    /// Returns whether a denial takes effect at this event.
    pub fn is_gate(&self) -> bool {
        self.info.is_some_and(|row| row.is_gate())
    }
}

/// The rules that approve a call as the host runs it: every view must be approved, and no argument changed.
fn approvals(host_event: &HostEvent, merged: &[MergedAnswer], verdict: &HostVerdict) -> Vec<String> {
    let is_approved = |one: &MergedAnswer| !one.approved_by.is_empty();
    let can_approve = host_event.info.is_some_and(|row| row.can(HookCapability::Approve))
        && host_event.tool.is_some()
        && host_event.views.len() == merged.len()
        && host_event.views.iter().all(|view| !view.is_recheck && view.event.kind() == EventKind::BeforeTool);
    let stands = verdict.ruling == Ruling::Pass && verdict.input.is_none() && merged.iter().all(is_approved);
    if !can_approve || !stands {
        return Vec::new();
    }
    let mut names: Vec<String> = merged.iter().flat_map(|one| one.approved_by.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn ruling_of(merged: &MergedAnswer) -> (Ruling, String) {
    match merged.answer.decision {
        _ if merged.answer.stop => (Ruling::Stop, merged.stop_text()),
        Some(Decision::Deny) => (Ruling::Deny, merged.reason_text()),
        // What is still to be confined here could not be: the user decides whether it runs without.
        Some(Decision::Ask | Decision::Confine) => (Ruling::Ask, merged.reason_text()),
        Some(Decision::Allow) | None => (Ruling::Pass, String::new()),
    }
}

fn append_line(joined: &mut Option<String>, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    match joined {
        Some(joined) if joined.contains(text) => {}
        Some(joined) => {
            joined.push('\n');
            joined.push_str(text);
        }
        None => *joined = Some(text.to_owned()),
    }
}
