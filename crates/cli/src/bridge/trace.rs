//! One line of JSON for each event that another agent brought: what it was, what was decided, what that agent can enforce,
//! who decided and how long it took. In a private file of the user's that never grows without bound.
//!
//! It needs no collector and is no log: arguments, prompts and results are not in it.

use std::time::Duration;

use hookwright_bridge::{Heard, Host, Loss, Ruling};
use hookwright_hooks::{Power, RunReport};
use hookwright_settings::{Paths, Secrets};
use serde_json::{Map, Value, json};

use super::{Call, Reply};
use crate::log::file::LogFile;

/// The most of a reason that is kept.
const LONGEST: usize = 400;

/// What is kept of one event.
#[derive(Default)]
pub(crate) struct Line {
    pub(super) ruling: Ruling,
    fields: Map<String, Value>,
}

impl Line {
    pub(crate) fn new(ruling: Ruling, why: String) -> Line {
        let mut line = Line { ruling, fields: Map::new() };
        line.say("verdict", ruling.as_str());
        if !why.is_empty() {
            line.say("why", why);
        }
        line
    }

    /// An event that the agent's own entry judges.
    pub(super) fn stood_down(other: Host) -> Line {
        let why = format!("{} reads these settings too, and its own entry judges", other.title());
        let mut line = Line::new(Ruling::Pass, why);
        line.say("stood_down_for", other.name());
        line
    }

    fn say(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    /// What the event was.
    pub(super) fn about(&mut self, heard: &Heard) {
        self.say("version", heard.version.clone());
        self.say("event", heard.event.as_str());
        self.say("as", heard.kind().map(|kind| kind.name()));
        if let Some(tool) = &heard.tool {
            self.say("tool", tool.name.as_str());
            self.say("known", tool.standing.as_str());
            if let Some(doubt) = &tool.doubt {
                self.say("doubt", doubt.as_str());
            }
        }
        self.say("session_id", heard.session.id.as_str());
        self.fields.extend(heard.keys.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())));
        if let Some(agent) = &heard.session.agent_id {
            self.say("agent_id", agent.as_str());
        }
        let powers = heard.row.map(|row| row.powers).unwrap_or_default();
        self.say("can_enforce", powers.iter().map(|power| power_word(*power).into()).collect::<Vec<Value>>());
        if heard.views.len() > 1 {
            self.say("views", heard.views.len());
        }
    }

    /// Which hooks would have judged, were the folder trusted.
    pub(super) fn left_out(&mut self, words: &[String]) {
        if !words.is_empty() {
            self.say("left_out", words);
        }
    }

    /// Who judged.
    pub(super) fn ran(&mut self, runs: &[&RunReport]) {
        let run = |run: &&RunReport| {
            json!({
                "hook": run.hook,
                "source": run.source.to_string(),
                "status": run.status,
                "exit_code": run.exit_code,
                "decision": run.decision(),
                "ms": millis(run.duration),
                "error": run.error.as_ref().filter(|_| !run.answer.suppress_output),
            })
        };
        self.say("hooks", runs.iter().map(run).collect::<Vec<_>>());
        if runs.iter().any(|run| run.answer.suppress_output) {
            self.fields.shift_remove("why");
        }
    }

    fn lost(&mut self, lost: &[Loss]) {
        if !lost.is_empty() {
            let lost = lost.iter().map(|loss| json!({"wanted": loss.wanted, "became": loss.became}));
            self.say("lost", lost.collect::<Vec<_>>());
        }
    }
}

fn power_word(power: Power) -> String {
    format!("{power:?}").chars().fold(String::new(), |mut word, char| {
        if char.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(char.to_lowercase());
        word
    })
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Keeps a line. One that can't be written is lost: a trace decides nothing.
pub(super) fn keep(paths: &Paths, call: &Call<'_>, reply: Reply) {
    let mut line = reply.line;
    line.lost(&reply.written.lost);
    // Most events have no words to hide anything in; then no key is looked for.
    let secrets = std::cell::LazyCell::new(|| Secrets::of_model(call.world, paths));
    for key in ["why", "doubt"] {
        if let Some(Value::String(text)) = line.fields.get_mut(key) {
            let short: String = text.chars().take(LONGEST).collect();
            *text = secrets.hide(&short);
        }
    }
    if let Some(Value::Array(hooks)) = line.fields.get_mut("hooks") {
        for hook in hooks {
            if let Some(Value::String(error)) = hook.get_mut("error") {
                *error = secrets.hide(&error.chars().take(LONGEST).collect::<String>());
            }
        }
    }
    let mut whole = Map::new();
    whole.insert("time".to_owned(), format!("{:.3}", jiff::Timestamp::now()).into());
    whole.insert("host".to_owned(), call.host.name().into());
    whole.extend(line.fields);
    whole.insert("exit".to_owned(), reply.written.exit.into());
    whole.insert("ms".to_owned(), millis(call.started.elapsed()).into());
    if let Ok(file) = LogFile::open(&paths.bridge_trace) {
        file.write(&format!("{}\n", Value::Object(whole)));
    }
}
