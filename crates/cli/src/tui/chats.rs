//! Earlier and kept conversations: `/resume` and `/chat`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use hookwright_agent::{Interaction, transcript};

use super::block::Block;
use super::driver::Driver;
use super::place::place;
use super::text::{BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN};
use super::worker::Task;
use crate::args::AgentArgs;

impl Driver<'_> {
    pub(crate) fn resume(&mut self, which: &str) -> anyhow::Result<()> {
        let sessions = match transcript::list(&self.chats()) {
            Ok(sessions) => sessions,
            Err(error) => {
                self.app.tell(BAD, format!("error: {error}"));
                return Ok(());
            }
        };
        let own = self.services.hooks.session().transcript_path.clone();
        let others: Vec<_> = sessions.iter().filter(|one| one.path != own).cloned().collect();
        if which.is_empty() {
            if others.is_empty() {
                self.app.tell(DIM, "there are no earlier sessions of this project");
            }
            let lines = others.iter().map(|one| {
                let prompt = crate::out::shorten(one.first_prompt.as_deref().unwrap_or(""), 60);
                let time = one.updated.strftime("%Y-%m-%d %H:%M");
                Line::of(NOTE, format!("{:>4}  ", one.index)).with(DIM, format!("{time}  ")).with(PLAIN, prompt)
            });
            self.app.say(Block::Lines(lines.collect()));
            if !others.is_empty() {
                self.app.tell(DIM, "go on with one: /resume NUMBER");
            }
            return Ok(());
        }
        match transcript::find(&others, which) {
            Ok(found) => {
                let id = found.id.clone();
                self.go_on_with(&id);
            }
            Err(error) => self.app.tell(BAD, format!("error: {error}")),
        }
        Ok(())
    }

    /// Another conversation in this one's place.
    fn go_on_with(&mut self, id: &str) {
        if self.app.busy.is_some() {
            return self.app.tell(WARN, "not while the agent works; Esc cancels the turn");
        }
        let args = AgentArgs { resume: Some(id.to_owned()), session_id: None, ..self.args.clone() };
        let prepared =
            crate::session::prepare(&args, self.loaded.clone(), Interaction::Interactive, self.events.clone());
        match prepared {
            Err(error) => self.app.tell(BAD, format!("error: {error:#}")),
            Ok(ready) => {
                self.services = ready.agent.services().clone();
                self.services.approvals.set_mode(self.app.status.mode);
                let history = ready.agent.history().to_vec();
                self.app.status = super::app::Status {
                    model: ready.agent.model().to_owned(),
                    mode: self.app.status.mode,
                    hidden: self.app.status.hidden,
                    window: self.app.status.window,
                    hooks: self.services.hooks.registry().hooks().len(),
                    ..place(&self.loaded)
                };
                self.app.begin("Resuming", Instant::now());
                let cancel = self.fresh_cancel();
                self.task(Task::Replace(Box::new(ready.agent), cancel));
                self.show_history(&history);
            }
        }
    }

    fn checkpoints(&self) -> PathBuf {
        self.loaded.paths.project_temp_dir(&self.loaded.project.root).join("checkpoints")
    }

    pub(crate) fn chat(&mut self, line: &str) {
        let (word, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = name.trim();
        let plain = !name.is_empty()
            && name.chars().all(|char| char.is_alphanumeric() || "-_.".contains(char))
            && !name.starts_with('.');
        if !matches!(word, "list" | "") && !plain {
            return self.app.tell(WARN, format!("/chat {word} NAME: a name of letters, digits, `-`, `_` and `.`"));
        }
        let file = self.checkpoints().join(format!("{name}.jsonl"));
        let result = match word {
            "save" => self.save_chat(&file, name),
            "resume" | "load" => self.resume_chat(&file, name),
            "delete" => std::fs::remove_file(&file)
                .with_context(|| format!("there is no conversation `{name}`"))
                .map(|()| format!("deleted `{name}`")),
            "list" | "" => Ok(self.list_chats()),
            _ => Ok("/chat save|resume|delete NAME, or /chat list".to_owned()),
        };
        match result {
            Ok(text) => self.app.tell(PLAIN, text),
            Err(error) => self.app.tell(BAD, format!("error: {error:#}")),
        }
    }

    fn save_chat(&mut self, file: &std::path::Path, name: &str) -> anyhow::Result<String> {
        std::fs::create_dir_all(self.checkpoints())?;
        std::fs::copy(&self.services.hooks.session().transcript_path, file)
            .context("the conversation could not be copied")?;
        Ok(format!("kept this conversation as `{name}`"))
    }

    /// A copy under an id of its own, so that the kept one stays as it is.
    fn resume_chat(&mut self, file: &std::path::Path, name: &str) -> anyhow::Result<String> {
        let text = std::fs::read_to_string(file).with_context(|| format!("there is no conversation `{name}`"))?;
        let (first, rest) = text.split_once('\n').context("it is empty")?;
        let mut header: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(first).context("it is damaged")?;
        let id = uuid::Uuid::new_v4().to_string();
        header.insert("sessionId".to_owned(), id.clone().into());
        let path = self.chats().join(format!(
            "session-{}-{}.jsonl",
            jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M"),
            &id[..8]
        ));
        std::fs::create_dir_all(self.chats())?;
        std::fs::write(&path, format!("{}\n{rest}", serde_json::Value::Object(header)))?;
        self.go_on_with(&id);
        Ok(format!("going on with `{name}`"))
    }

    fn list_chats(&self) -> String {
        let entries = std::fs::read_dir(self.checkpoints()).into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| entry.path().file_stem().map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort();
        if names.is_empty() {
            "no conversation is kept; /chat save NAME keeps this one".to_owned()
        } else {
            names.join("\n")
        }
    }

    /// The end of an earlier conversation, for whoever goes on with it.
    pub(crate) fn show_history(&mut self, history: &[Arc<hookwright_model::Content>]) {
        const MOST: usize = 6;
        let said =
            |content: &&Arc<hookwright_model::Content>| content.parts.iter().any(|part| part.as_text().is_some());
        let messages: Vec<_> = history.iter().filter(said).collect();
        for content in &messages[messages.len().saturating_sub(MOST)..] {
            let text: String = content.parts.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n");
            match content.role {
                hookwright_model::Role::User => self
                    .app
                    .say(Block::line(Line::of(NOTE, "> ").with(BOLD, crate::out::shorten(&text, 200)).hanging(2))),
                hookwright_model::Role::Model => {
                    let mut stream = super::markdown::Stream::default();
                    let mut blocks = stream.push(&text);
                    blocks.extend(stream.finish());
                    blocks.into_iter().for_each(|block| self.app.say(block));
                }
            }
            self.app.say(Block::Gap);
        }
    }
}
