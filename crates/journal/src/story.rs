//! The story of one event in plain words: who asked for it, what it would do, which hooks were asked, what each said,
//! which answer counted and what became of it.

use std::collections::HashMap;

use hookwright_hooks::EventKind;
use serde::Serialize;
use serde_json::{Value, json};

use crate::content::truncate;
use crate::entry::{CallResult, Entry, EventEntry, HookEntry, JournalLine, PolicyEntry, Verdict};
use crate::query::Query;
use crate::reader::Reader;
use crate::segment::JournalError;

/// The characters of a text from outside, such as a command or a reason, that a story quotes.
const MAX_QUOTE_CHARS: usize = 400;
/// How many items of one kind of effect a story names.
const MAX_NAMED_EFFECTS: usize = 8;
/// How many later lines are searched for what became of a call.
const MAX_SEARCHED_LINES: usize = 2000;

/// What a part of a story is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryTopic {
    /// Who asked for what, and where.
    Request,
    /// What the call would do.
    Effects,
    /// Which hooks were asked, in what order, and what each said.
    Hooks,
    /// Which answer counted, and why.
    Decision,
    /// What a policy decided.
    Policy,
    /// What another agent was told, and what it can't do.
    Host,
    /// What became of it.
    Outcome,
}

impl StoryTopic {
    /// The heading of the part.
    pub fn heading(self) -> &'static str {
        match self {
            StoryTopic::Request => "asked",
            StoryTopic::Effects => "effects",
            StoryTopic::Hooks => "hooks",
            StoryTopic::Decision => "decision",
            StoryTopic::Policy => "policy",
            StoryTopic::Host => "told",
            StoryTopic::Outcome => "outcome",
        }
    }
}

/// A part of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoryPart {
    /// What it is about.
    pub topic: StoryTopic,
    /// Whole sentences.
    pub text: String,
    /// One line for each thing that the text announces, such as a hook.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// The story of one event. Its texts quote commands, hooks and files: they are for people, and never markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// The number of the event's line.
    pub line: u64,
    /// The decision and what it was about, in one sentence.
    pub title: String,
    /// The parts, in the order in which things happened.
    pub parts: Vec<StoryPart>,
}

impl Story {
    /// Tells the story of an event; `outcome` is the later line about the same call, if there is one.
    ///
    /// Returns `None` for a line that is not about an event.
    pub fn tell(line: &JournalLine, outcome: Option<&JournalLine>) -> Option<Story> {
        let event = line.event()?;
        let teller = Teller { line, event, content: line.content.as_ref().unwrap_or(&Value::Null) };
        let policy = outcome.and_then(|line| match &line.entry {
            Entry::Call(call) => call.policy.as_ref(),
            _ => None,
        });
        let parts = [
            Some(teller.request()),
            teller.effects(),
            Some(teller.hooks()),
            Some(teller.decision()),
            policy.map(policy_part),
            teller.host(),
            teller.outcome(outcome),
        ];
        let sentence = match policy {
            Some(policy) if policy.verdict == Verdict::Deny && event.verdict < Verdict::Deny => "Denied by a policy",
            _ => verdict_sentence(event.verdict),
        };
        let title = format!("{sentence}: {}", teller.subject());
        Some(Story { line: line.seq, title, parts: parts.into_iter().flatten().collect() })
    }

    /// The story as lines of plain text, for screens.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.title.clone()];
        for part in &self.parts {
            lines.push(format!("{}: {}", part.topic.heading(), part.text));
            lines.extend(part.details.iter().map(|detail| format!("  {detail}")));
        }
        lines
    }
}

impl Reader {
    /// Finds the event whose story a line belongs to: the line itself, or the event before a call's end.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn event_of(&self, line: JournalLine) -> Result<Option<JournalLine>, JournalError> {
        let Entry::Call(call) = &line.entry else { return Ok(Some(line)) };
        let mut query = session_query(&call.session, "event");
        query.until_line(line.seq);
        let mut found = self.select(&query, MAX_SEARCHED_LINES)?.lines;
        found.retain(|earlier| {
            earlier.event().is_some_and(|event| is_same_call(event, &call.agent, &call.session, &call.call))
        });
        // The event before the call decides about it.
        let position =
            found.iter().rposition(|line| line.event().is_some_and(|event| event.is_kind(EventKind::BeforeTool)));
        Ok(match position {
            Some(at) => Some(found.swap_remove(at)),
            None => found.pop(),
        })
    }

    /// Finds the line that says what became of an event's call: its end, or else the event after it.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn call_outcome(&self, line: &JournalLine) -> Result<Option<JournalLine>, JournalError> {
        let Some((event, call)) = line.event().and_then(|event| Some((event, event.call.as_deref()?))) else {
            return Ok(None);
        };
        let mut query = session_query(&event.session, "call,event");
        query.after_line(line.seq);
        let (mut after, mut searched) = (None, 0);
        self.for_each(&query, |_, later| {
            searched += 1;
            let is_end = match &later.entry {
                Entry::Call(end) => end.agent == event.agent && end.session == event.session && end.call == call,
                Entry::Event(one) => {
                    one.is_kind(EventKind::AfterTool) && is_same_call(one, &event.agent, &event.session, call)
                }
                _ => false,
            };
            let is_call = matches!(later.entry, Entry::Call(_));
            if is_end && (is_call || after.is_none()) {
                after = Some(later);
            }
            !(is_end && is_call) && searched < MAX_SEARCHED_LINES
        })?;
        Ok(after)
    }
}

/// What became of calls, by agent, session and call.
#[derive(Clone, Debug, Default)]
pub struct CallOutcomes(HashMap<(String, String, String), JournalLine>);

impl CallOutcomes {
    /// The line that says what became of an event's call: its end, or else the event after it.
    pub fn of(&self, line: &JournalLine) -> Option<&JournalLine> {
        let event = line.event()?;
        let outcome = self.0.get(&(event.agent.clone(), event.session.clone(), event.call.clone()?));
        outcome.filter(|outcome| outcome.seq > line.seq)
    }

    fn add(&mut self, line: JournalLine) {
        match &line.entry {
            Entry::Call(call) => {
                self.0.insert((call.agent.clone(), call.session.clone(), call.call.clone()), line);
            }
            Entry::Event(event) if event.is_kind(EventKind::AfterTool) => {
                let Some(call) = event.call.clone() else { return };
                let key = (event.agent.clone(), event.session.clone(), call);
                // A story tells of a result only whether it is an error.
                let error = line.content.as_ref().map(|content| content["input"]["tool_response"]["error"].clone());
                let content = error.map(|error| json!({"input": {"tool_response": {"error": error}}}));
                self.0.entry(key).or_insert(JournalLine { content, ..line });
            }
            _ => {}
        }
    }
}

impl Reader {
    /// Finds what became of the calls that the lines of a query are about.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn call_outcomes(&self, query: &Query) -> Result<CallOutcomes, JournalError> {
        let mut outcomes = CallOutcomes::default();
        let now = jiff::Timestamp::now();
        for term in ["kind=call", "event=AfterTool"] {
            let mut ends = query.clone();
            // The term has a known key.
            let _ = ends.add(term, now);
            self.for_each(&ends, |_, line| {
                outcomes.add(line);
                true
            })?;
        }
        Ok(outcomes)
    }
}

fn session_query(session: &str, kinds: &str) -> Query {
    let mut query = Query::default();
    let now = jiff::Timestamp::now();
    // A session whose id is no plain word is compared line by line.
    let is_plain = !session.is_empty() && !session.contains([',', '*']) && !session.contains(char::is_whitespace);
    for term in is_plain.then(|| format!("session={session}")).into_iter().chain([format!("kind={kinds}")]) {
        // Both terms have known keys.
        let _ = query.add(&term, now);
    }
    query
}

fn is_same_call(event: &EventEntry, agent: &str, session: &str, call: &str) -> bool {
    event.agent == agent && event.session == session && event.call.as_deref() == Some(call)
}

struct Teller<'a> {
    line: &'a JournalLine,
    event: &'a EventEntry,
    content: &'a Value,
}

impl Teller<'_> {
    fn part(topic: StoryTopic, sentences: Vec<String>, details: Vec<String>) -> StoryPart {
        StoryPart { topic, text: sentences.join(" "), details }
    }

    /// The agent's name with its version.
    fn agent(&self) -> String {
        match &self.event.agent_version {
            Some(version) => format!("{} {version}", quote(&self.event.agent)),
            None => quote(&self.event.agent),
        }
    }

    /// Names the call, the prompt, or the event.
    fn subject(&self) -> String {
        let input = &self.content["input"];
        let tool = self.event.tool.as_deref().or(self.event.host_tool.as_deref());
        if let Some(tool) = tool {
            let args = &input["tool_input"];
            let keys = ["command", "file_path", "path", "absolute_path", "dir_path", "url", "pattern", "query"];
            let about = keys.iter().find_map(|key| args[*key].as_str());
            return match about {
                Some(about) => format!("{} `{}`", quote(tool), quote(about)),
                None => quote(tool),
            };
        }
        match input["prompt"].as_str() {
            Some(prompt) => format!("the prompt \"{}\"", quote(prompt)),
            None => format!("the event {}", self.event_name()),
        }
    }

    fn event_name(&self) -> String {
        match (&self.event.host_event, self.event.event.as_str()) {
            (Some(host), "") => quote(host),
            (Some(host), own) if host != own => format!("{own} ({} in {})", quote(host), quote(&self.event.agent)),
            (_, own) => own.to_owned(),
        }
    }

    fn request(&self) -> StoryPart {
        let time = self.line.time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
        let who = match (&self.event.subagent, self.content["input"]["requested_by"].as_str()) {
            (_, Some("user")) => "the user".to_owned(),
            (Some(agent), _) => format!("the sub-agent {}", quote(agent)),
            (None, Some("command")) => "a custom command".to_owned(),
            (None, Some("hook")) => "a hook (tail call)".to_owned(),
            (None, _) => "the model".to_owned(),
        };
        let agent = self.agent();
        let first = match EventKind::from_name(&self.event.event) {
            Some(EventKind::BeforeTool) => format!("{time} UTC: in {agent}, {who} asked for {}.", self.subject()),
            Some(EventKind::AfterTool) => {
                format!("{time} UTC: in {agent}, {} had run, as {who} had asked.", self.subject())
            }
            Some(EventKind::BeforeAgent) => format!("{time} UTC: in {agent}, the user sent {}.", self.subject()),
            _ => format!("{time} UTC: {agent} fired {}.", self.event_name()),
        };
        let mut details = vec![format!("event {}", self.event_name())];
        let mut add = |name: &str, value: Option<&str>| {
            details.extend(value.filter(|text| !text.is_empty()).map(|text| format!("{name} {}", quote(text))));
        };
        add("project", Some(&self.event.project));
        add("working directory", self.content["input"]["cwd"].as_str().filter(|cwd| *cwd != self.event.project));
        add("session", Some(&self.event.session));
        add("turn", self.event.turn.as_deref());
        add("call", self.event.call.as_deref());
        let mut sentences = vec![first];
        match (&self.event.withheld, &self.line.content) {
            (Some(why), _) => sentences.push(format!("Its content is not on record: {}.", quote(why))),
            (None, None) => sentences.push("Its content is not on record.".to_owned()),
            (None, Some(content)) => {
                let omitted = content["omitted"].as_str();
                sentences.extend(omitted.map(|why| format!("Its content is not on record: it is {}.", quote(why))));
            }
        }
        Self::part(StoryTopic::Request, sentences, details)
    }

    fn effects(&self) -> Option<StoryPart> {
        let effects = self.content.get("effects").filter(|effects| effects.is_object())?;
        let mut sentences: Vec<String> = [
            ("commands", "It would run"),
            ("reads", "It would read"),
            ("writes", "It would change"),
            ("deletes", "It would delete"),
            ("network", "It would reach the network"),
            ("repository", "It would change the repository"),
            ("services", "It would use services"),
            ("processes", "It would act on processes"),
            ("privileged", "It would use privileges"),
            ("flows", "It would pass data on"),
        ]
        .into_iter()
        .filter_map(|(key, words)| Some(format!("{words}: {}.", named_items(&effects[key])?)))
        .collect();
        match (sentences.is_empty(), effects["certain"].as_bool()) {
            (true, Some(true) | None) => sentences.push("It has no effect.".to_owned()),
            (_, Some(false)) => {
                let unsure = named_items(&effects["unsure"]).map(|items| format!(": {items}")).unwrap_or_default();
                sentences.push(format!("Not all of its effects are known{unsure}."));
            }
            _ => {}
        }
        Some(Self::part(StoryTopic::Effects, sentences, Vec::new()))
    }

    fn hooks(&self) -> StoryPart {
        let hooks = &self.event.hooks;
        let order = if self.event.sequential { "one after another" } else { "at the same time" };
        let mut sentences = vec![match hooks.len() {
            0 => "No hook was asked.".to_owned(),
            1 => "One hook was asked.".to_owned(),
            many => format!("{many} hooks were asked, {order}, in this order."),
        }];
        let mut details: Vec<String> = hooks.iter().enumerate().map(|(at, hook)| self.hook_line(at, hook)).collect();
        if !self.event.left_out.is_empty() {
            sentences.push(format!("{} did not run.", count(self.event.left_out.len(), "other hook")));
            details.extend(self.event.left_out.iter().map(|note| quote(note)));
        }
        if !self.event.unarmed.is_empty() {
            sentences.push(format!("{} should have been asked.", count(self.event.unarmed.len(), "guard")));
            details.extend(self.event.unarmed.iter().map(|note| quote(note)));
        }
        if let Some(other) = &self.event.stood_down_for {
            sentences.push(format!("{} asks the hooks itself.", quote(other)));
        }
        Self::part(StoryTopic::Hooks, sentences, details)
    }

    fn hook_line(&self, at: usize, hook: &HookEntry) -> String {
        let run = &self.content["runs"][at];
        let mut kind = vec![quote(&hook.hook_type), format!("{} settings", quote(&hook.source))];
        for (is_so, word) in
            [(hook.guard, "guard"), (is_shadow(hook), "in shadow"), (hook.background, "in the background")]
        {
            kind.extend(is_so.then(|| word.to_owned()));
        }
        let failed = hook.failure.is_some() || !matches!(hook.status.as_str(), "ok" | "blocked");
        let decision = hook.decision.as_deref();
        let said = match (decision, is_shadow(hook)) {
            (Some(word), true) => format!("would have said {word}, which counted for nothing"),
            (Some(word), false) => format!("said {word}"),
            (None, _) if failed => "gave no answer".to_owned(),
            (None, _) => "had no objection".to_owned(),
        };
        let mut text = format!("{}. {} ({}) {said}", at + 1, quote(&hook.hook), kind.join(", "));
        if let Some(reason) = run["reason"].as_str() {
            text += &format!(": {}", quote(reason));
        }
        if failed {
            let cause = hook.failure.as_deref().unwrap_or(&hook.status);
            let error = run["error"].as_str().map(|error| format!(": {}", quote(error))).unwrap_or_default();
            text += &format!("; it failed ({cause}{error})");
        }
        let matched = run["matched"].as_str().or(hook.matched.as_deref());
        match (hook.matched.as_deref(), matched) {
            (Some("uncertain"), Some(why)) if why != "uncertain" => {
                text += &format!("; it was asked because not all effects are known: {}", quote(why));
            }
            (Some("uncertain"), _) => text += "; it was asked because not all effects are known",
            (Some(_), Some(what)) => text += &format!("; it was asked because of {}", quote(what)),
            _ => {}
        }
        text + &format!("; {} ms", hook.ms)
    }

    fn decision(&self) -> StoryPart {
        let event = self.event;
        let verdict = event.verdict;
        let by: Vec<String> = event.decided_by.iter().map(|name| quote(name)).collect();
        let reason = self.content["reason"].as_str().map(quote);
        let mut sentences = Vec::new();
        match (verdict, by.as_slice()) {
            (Verdict::Pass, _) => sentences.push("No hook objected, so that hooks let it pass.".to_owned()),
            (Verdict::Allow, names) => sentences.push(format!(
                "{} approved it in the user's place, and no hook objected.",
                if names.is_empty() { "A rule".to_owned() } else { names.join(", ") }
            )),
            (_, []) => {
                let why = event.refusal.map(|refusal| format!(": {}", refusal.description())).unwrap_or_default();
                sentences.push(format!("The decision was {}, without the answer of a hook{why}.", verdict.as_str()));
            }
            (_, names) => sentences.push(format!("The decision was {}, by {}.", verdict.as_str(), names.join(", "))),
        }
        if let Some(reason) = reason.filter(|_| verdict != Verdict::Pass) {
            sentences.push(format!("Reason: {reason}."));
        }
        let weaker: Vec<String> = event
            .hooks
            .iter()
            .filter(|hook| !is_shadow(hook) && !hook.background && !event.decided_by.contains(&hook.hook))
            .filter_map(|hook| Some((hook, Verdict::from_word(hook.decision.as_deref()?)?)))
            .filter(|(_, word)| *word < verdict && *word > Verdict::Allow)
            .map(|(hook, word)| format!("{} of {}", word.as_str(), quote(&hook.hook)))
            .collect();
        if verdict > Verdict::Allow && event.hooks.len() > 1 {
            let over = if weaker.is_empty() { String::new() } else { format!(", here over {}", weaker.join(", ")) };
            sentences.push(format!("The strongest answer counts (stop > deny > ask > confine > allow){over}."));
        }
        let shadow: Vec<String> = event
            .hooks
            .iter()
            .filter(|hook| is_shadow(hook) && hook.decision.as_deref().is_some_and(|word| word != "allow"))
            .map(|hook| quote(&hook.hook))
            .collect();
        if !shadow.is_empty() {
            sentences.push(format!("In shadow, so that it decided nothing: {}.", shadow.join(", ")));
        }
        let mut details = Vec::new();
        if let Some(changes) = self.content["changes"].as_object() {
            details.extend(
                changes.iter().map(|(key, value)| {
                    format!("hooks changed the argument {} to {}", quote(key), quote(&plain(value)))
                }),
            );
        }
        let texts = [("context", "hooks added context for the model"), ("message", "hooks told the user")];
        for (key, words) in texts {
            details.extend(self.content[key].as_str().map(|text| format!("{words}: {}", quote(text))));
        }
        if !event.confined.is_empty() {
            let limits: Vec<String> = event.confined.iter().map(|limit| quote(limit)).collect();
            details.push(format!("the call was kept to limits: {}", limits.join("; ")));
        }
        Self::part(StoryTopic::Decision, sentences, details)
    }

    fn host(&self) -> Option<StoryPart> {
        let told = self.event.told.as_ref()?;
        let agent = quote(&self.event.agent);
        let mut sentences = vec![format!("{agent} was told {} (exit code {}).", quote(&told.verdict), told.exit)];
        for lost in &self.event.lost {
            let (wanted, became) = (quote(&lost.wanted), quote(&lost.became));
            sentences.push(format!("It can't do {wanted} here, so that it became {became}."));
        }
        Some(Self::part(StoryTopic::Host, sentences, Vec::new()))
    }

    fn outcome(&self, outcome: Option<&JournalLine>) -> Option<StoryPart> {
        self.event.call.as_ref().filter(|_| self.event.is_kind(EventKind::BeforeTool))?;
        let text = match outcome.map(|line| (line, &line.entry)) {
            Some((line, Entry::Call(call))) => {
                let how = match call.result {
                    CallResult::Ran => "The call ran".to_owned(),
                    CallResult::Failed => "The call ran and failed".to_owned(),
                    CallResult::Refused => {
                        let by = call.refused_by.as_deref().map(|by| format!(": refused by {}", quote(by)));
                        format!("The call did not run{}", by.unwrap_or_default())
                    }
                    CallResult::Cancelled => "The user cancelled the call".to_owned(),
                };
                let exit = call.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
                let error = line.content.as_ref().and_then(|content| content["error"].as_str());
                let error = error.map(|error| format!(" ({})", quote(error))).unwrap_or_default();
                let time = if call.ms > 0.0 { format!(", in {} ms", call.ms) } else { String::new() };
                format!("{how}{exit}{error}{time}. That is line {}.", line.seq)
            }
            Some((line, _)) => {
                let failed = line.content.as_ref().is_some_and(|content| {
                    content["input"]["tool_response"].get("error").is_some_and(|error| !error.is_null())
                });
                let how = if failed { "ran and failed" } else { "ran" };
                format!("The call {how}: its AfterTool event is line {}.", line.seq)
            }
            None if self.event.verdict >= Verdict::Deny => "Nothing on record says that the call ran.".to_owned(),
            None => "What became of the call is not on record.".to_owned(),
        };
        Some(Self::part(StoryTopic::Outcome, vec![text], Vec::new()))
    }
}

fn policy_part(policy: &PolicyEntry) -> StoryPart {
    let said = match policy.verdict {
        Verdict::Deny | Verdict::Stop => "It was denied",
        Verdict::Ask => "The user was to be asked",
        Verdict::Pass | Verdict::Allow | Verdict::Confine => "It was allowed",
    };
    let text = format!("After the hooks, policies were asked. {said}, by {}.", quote(&policy.by));
    StoryPart { topic: StoryTopic::Policy, text, details: Vec::new() }
}

fn is_shadow(hook: &HookEntry) -> bool {
    hook.mode.as_deref() == Some("shadow")
}

fn verdict_sentence(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "No hook objected",
        Verdict::Allow => "Approved by a rule",
        Verdict::Confine => "Confined",
        Verdict::Ask => "The user was to be asked",
        Verdict::Deny => "Denied",
        Verdict::Stop => "Stopped",
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns the text on one line, shortened, and with no control characters.
fn quote(text: &str) -> String {
    let shown: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    truncate(&words.join(" "), MAX_QUOTE_CHARS).into_owned()
}

/// Returns a string without its quotes, and other values as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the items of a list of effects; `None` if there are none.
fn named_items(list: &Value) -> Option<String> {
    let items = list.as_array().filter(|items| !items.is_empty())?;
    let named = |item: &Value| match item {
        Value::Object(fields) => fields.values().map(plain).collect::<Vec<_>>().join(" "),
        // A command is a list of words.
        Value::Array(words) => words.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => plain(other),
    };
    let quoted = |item: &Value| format!("`{}`", quote(&named(item)));
    let mut names: Vec<String> = items.iter().take(MAX_NAMED_EFFECTS).map(quoted).collect();
    if items.len() > MAX_NAMED_EFFECTS {
        names.push(format!("and {} more", items.len() - MAX_NAMED_EFFECTS));
    }
    Some(names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(entry: &Value) -> JournalLine {
        let mut whole = json!({"seq": 7, "prev": "0", "time": "2026-11-18T16:02:03.120Z", "kind": "event"});
        whole.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    fn push() -> Value {
        json!({"agent": "claude", "agent_version": "2.1", "project": "/p", "session": "s", "call": "c1",
            "event": "BeforeTool", "host_event": "PreToolUse", "tool": "run_shell_command", "verdict": "deny",
            "decided_by": ["no-push"], "ms": 3.4,
            "hooks": [
                {"hook": "no-push", "source": "project", "type": "rule", "guard": true, "status": "ok",
                    "decision": "deny", "matched": "commands", "ms": 0.03},
                {"hook": "careful", "source": "user", "type": "command", "status": "ok", "decision": "ask", "ms": 4.0},
                {"hook": "new", "source": "user", "type": "rule", "mode": "shadow", "status": "ok", "decision": "stop",
                    "ms": 0.01},
                {"hook": "slow", "source": "user", "type": "command", "status": "timed_out", "failure": "timeout",
                    "ms": 50.0}],
            "told": {"verdict": "deny", "exit": 2}, "lost": [{"wanted": "ask", "became": "deny"}],
            "content": {"input": {"tool_input": {"command": "git push\u{1b}[31m --force"}, "cwd": "/p/sub"},
                "effects": {"commands": [["git", "push", "--force"]], "network": ["origin"], "certain": false,
                    "unsure": ["the remote"]},
                "reason": "shared history",
                "runs": [{"reason": "shared history", "matched": "commands: git push"}, {"reason": "sure?"},
                    {"reason": "x"}, {"error": "took longer than 50 ms"}]}})
    }

    #[test]
    fn a_denied_call_is_told_whole() {
        let story = Story::tell(&line(&push()), None).unwrap();
        let text = story.lines().join("\n");
        assert!(!text.contains('\u{1b}'), "{text}");
        for words in [
            "Denied: run_shell_command `git push [31m --force`",
            "2026-11-18 16:02:03 UTC: in claude 2.1, the model asked for",
            "working directory /p/sub",
            "It would run: `git push --force`. It would reach the network: `origin`.",
            "Not all of its effects are known: `the remote`.",
            "4 hooks were asked, at the same time",
            "1. no-push (rule, project settings, guard) said deny: shared history; it was asked because of commands: git push; 0.03 ms",
            "2. careful (command, user settings) said ask: sure?; 4 ms",
            "3. new (rule, user settings, in shadow) would have said stop, which counted for nothing",
            "4. slow (command, user settings) gave no answer; it failed (timeout: took longer than 50 ms)",
            "The decision was deny, by no-push. Reason: shared history. The strongest answer counts (stop > deny > ask > confine > allow), here over ask of careful.",
            "In shadow, so that it decided nothing: new.",
            "claude was told deny (exit code 2). It can't do ask here, so that it became deny.",
            "Nothing on record says that the call ran.",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn an_event_without_content_says_so() {
        let mut entry = push();
        entry.as_object_mut().unwrap().remove("content");
        entry["withheld"] = json!("forgotten");
        let text = Story::tell(&line(&entry), None).unwrap().lines().join("\n");
        assert!(text.contains("Its content is not on record: forgotten."), "{text}");
        assert!(!text.contains("effects:"), "{text}");
    }

    #[test]
    fn what_became_of_a_call_is_told() {
        let mut entry = push();
        entry["verdict"] = json!("pass");
        entry["decided_by"] = json!([]);
        let told = |outcome: Value| {
            let text = Story::tell(&line(&entry), Some(&line(&outcome))).unwrap().lines().join("\n");
            text.lines().last().unwrap().to_owned()
        };
        let call = |result: &str| {
            json!({"kind": "call", "seq": 9, "agent": "claude", "session": "s", "call": "c1", "tool": "t",
                "result": result, "refused_by": "policy", "ms": 12.5, "exit_code": 1})
        };
        assert_eq!(told(call("ran")), "outcome: The call ran with exit code 1, in 12.5 ms. That is line 9.");
        assert!(told(call("refused")).contains("did not run: refused by policy"));
        assert!(told(call("cancelled")).contains("The user cancelled the call"));
        let after = json!({"seq": 8, "event": "AfterTool", "agent": "claude", "session": "s", "call": "c1",
            "verdict": "pass", "ms": 1.0, "content": {"input": {"tool_response": {"error": {"message": "x"}}}}});
        assert!(told(after).contains("ran and failed: its AfterTool event is line 8"));
    }

    #[test]
    fn a_policy_and_a_sleeping_guard_are_told() {
        let mut entry = push();
        entry["verdict"] = json!("pass");
        entry["decided_by"] = json!([]);
        entry["unarmed"] = json!(["guard `g` is not armed: the user settings switch it off"]);
        let call = json!({"kind": "call", "seq": 9, "agent": "claude", "session": "s", "call": "c1", "tool": "t",
            "result": "refused", "refused_by": "policy",
            "policy": {"verdict": "deny", "by": "the rule at /p.toml:3 (user, priority 5)", "file": "/p.toml", "line": 3}});
        let text = Story::tell(&line(&entry), Some(&line(&call))).unwrap().lines().join("\n");
        for words in [
            "Denied by a policy: run_shell_command",
            "1 guard should have been asked.",
            "guard `g` is not armed",
            "policy: After the hooks, policies were asked. It was denied, by the rule at /p.toml:3 (user, priority 5).",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn a_refusal_of_the_bridge_is_told() {
        let entry = json!({"agent": "codex", "event": "BeforeTool", "verdict": "deny", "refusal": "unknown_tool",
            "ms": 1.0, "content": {"reason": "guard `g` does not know the tool `x`"}});
        let text = Story::tell(&line(&entry), None).unwrap().lines().join("\n");
        assert!(
            text.contains("without the answer of a hook: a guard does not know the tool. Reason: guard `g`"),
            "{text}"
        );
        let later = json!({"agent": "codex", "event": "BeforeTool", "verdict": "deny", "refusal": "of_a_later_version", "ms": 1.0});
        assert!(Story::tell(&line(&later), None).is_some());
    }

    #[test]
    fn other_lines_have_no_story() {
        let start = line(&json!({"kind": "start", "version": "1"}));
        assert!(Story::tell(&start, None).is_none());
    }
}
