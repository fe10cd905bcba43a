//! What hooks said about each view → what is to be said to the host about its one event.

use hookwright_hooks::{AnyEvent, Decision, EventKind, Hook, Merged, Power};
use serde_json::{Map, Value};

use crate::dialect::{Heard, Loss, Ruling, Verdict};
use crate::tools;

impl Verdict {
    /// Any no is a no to all; words are joined in the order of the views.
    pub fn of(heard: &Heard, merged: &[Merged]) -> Verdict {
        let mut verdict = Verdict::default();
        for (view, one) in heard.views.iter().zip(merged) {
            match view.again {
                true => verdict.object(one),
                false => verdict.add(one),
            }
            let kind = view.event.kind();
            if heard.views.len() == 1 {
                verdict.ours = one.to_json(kind);
            }
        }
        verdict.put_back(heard, merged);
        verdict.note_lost(heard, merged);
        verdict
    }

    /// Of a second look only a no counts: the user is being asked, and changes were made at the first.
    fn object(&mut self, merged: &Merged) {
        let (ruling, reason) = ruling(merged);
        if ruling >= Ruling::Deny {
            self.rule(ruling, &reason);
        }
    }

    fn add(&mut self, merged: &Merged) {
        let (ruling, reason) = ruling(merged);
        self.rule(ruling, &reason);
        append(&mut self.context, merged.answer.additional_context.as_deref());
        append(&mut self.message, merged.answer.system_message.as_deref());
    }

    /// Adds a ruling; the stronger one stands, and of two that are equal both reasons.
    pub fn rule(&mut self, ruling: Ruling, reason: &str) {
        if ruling == Ruling::Pass || ruling < self.ruling {
            return;
        }
        if ruling > self.ruling {
            self.reason.clear();
        }
        self.ruling = ruling;
        // Views of one call are often refused for one reason.
        if !self.reason.lines().eq(reason.lines()) && !self.reason.contains(reason) {
            if !self.reason.is_empty() {
                self.reason.push('\n');
            }
            self.reason.push_str(reason);
        }
    }

    /// Changed arguments in the host's words. A change that can't be put back is a no: it may be what makes the call safe.
    fn put_back(&mut self, heard: &Heard, merged: &[Merged]) {
        let Some(tool) = &heard.tool else { return };
        if self.ruling >= Ruling::Deny {
            return;
        }
        let mut changed = None;
        for (view, one) in heard.views.iter().zip(merged) {
            let (AnyEvent::BeforeTool(event), Some(changes)) = (&view.event, &one.answer.tool_input) else { continue };
            if view.again {
                continue;
            }
            let mut whole: Map<String, Value> = event.tool_input.as_ref().clone();
            whole.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
            if whole == *event.tool_input {
                continue;
            }
            let told = if changed.is_some() {
                Err("it is one of several changes to one call".to_owned())
            } else {
                tools::put_back(heard.host, &tool.name, &tool.input, view.back, &whole)
            };
            match told {
                Ok(input) => changed = Some(input),
                Err(why) => {
                    let title = heard.host.title();
                    let reason = format!("a hook changes this call in a way that {title} can't be told: {why}");
                    self.rule(Ruling::Deny, &reason);
                    self.lost.push(Loss { wanted: "rewrite", became: "deny" });
                    return;
                }
            }
        }
        self.input = changed;
    }

    /// What the host has no power for and that is no ruling.
    fn note_lost(&mut self, heard: &Heard, merged: &[Merged]) {
        let can = |power| heard.row.is_some_and(|row| row.can(power));
        for one in merged {
            let answer = &one.answer;
            let wanted = [
                (answer.tail_call.is_some(), Power::TailCall, "tail call"),
                (answer.clear_context, Power::ClearContext, "clear the context"),
                (answer.redact_input, Power::RedactInput, "redact the arguments"),
                (answer.llm_request.is_some(), Power::RewriteRequest, "change the request"),
                (answer.tool_config.is_some(), Power::SelectTools, "select tools"),
            ];
            let lost = wanted.into_iter().filter(|(is_wanted, power, _)| *is_wanted && !can(*power));
            self.lost.extend(lost.map(|(_, _, wanted)| Loss { wanted, became: "nothing" }));
        }
    }
}

impl Heard {
    /// What our hooks are told it is.
    pub fn kind(&self) -> Option<EventKind> {
        self.views.iter().find(|view| !view.again).map(|view| view.event.kind())
    }

    /// Whether hooks of that kind are asked about it, be it once more.
    pub fn is_shown_as(&self, kind: EventKind) -> bool {
        self.views.iter().any(|view| view.event.kind() == kind)
    }

    /// Whether a hook is asked. A call about which the host asks once more is judged once more by guards alone: others
    /// have said what they had to say, and may do more than talk.
    pub fn asks(&self, hook: &Hook) -> bool {
        let again = self.views.iter().any(|view| view.again && view.event.kind() == hook.event);
        !again || hook.is_guard()
    }

    /// Whether a no to it can count there.
    pub fn is_gate(&self) -> bool {
        self.row.is_some_and(|row| row.is_gate())
    }
}

fn ruling(merged: &Merged) -> (Ruling, String) {
    match merged.answer.decision {
        _ if merged.answer.stop => (Ruling::Stop, merged.stop_text()),
        Some(Decision::Deny) => (Ruling::Deny, merged.reason_text()),
        Some(Decision::Ask) => (Ruling::Ask, merged.reason_text()),
        Some(Decision::Allow) | None => (Ruling::Pass, String::new()),
    }
}

fn append(joined: &mut Option<String>, text: Option<&str>) {
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
