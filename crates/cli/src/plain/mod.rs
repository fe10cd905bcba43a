//! The session for screen readers and dumb terminals: lines in, lines out, nothing is ever drawn over.

mod hidden;
mod inquiry;

use std::io::{self, BufRead, IsTerminal, Write};

use hookwright_agent::session::{NO_HOOKS, Opened, Order, SessionHandle, Typed, View, When};
use hookwright_agent::{
    AgentEvent, ApprovalReply, ApprovalRequest, CallError, EndReason, EventStream, GuardChange, GuardReply,
};
use hookwright_tools::Display;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use crate::args::AgentArgs;
use crate::asked::{self, Difference};
use crate::choices::Choice;
use crate::farewell::Farewell;
use crate::past::{self, Past, PastCall};
use crate::signals::Signals;
use crate::stats::{self, Stats};
use crate::telemetry::Telemetry;
use crate::tui::card::{LiveCard, short_args};
use crate::tui::cards::{Cards, Whole};
use crate::tui::commands::nothing_to_open;
use crate::tui::diff;
use crate::tui::hooklog::{self, HookLog};
use crate::tui::text::{Line, clean};
use crate::tui::view::PLACEHOLDER;
use crate::{exit, out, replies, report, session, trace};

/// Runs a session in lines.
pub(crate) async fn converse(args: &AgentArgs, opened: Opened) -> anyhow::Result<u8> {
    let view = opened.view();
    let (telemetry, problems) = Telemetry::start(&view.loaded.settings.telemetry, &session::facts(&view, args));
    problems.iter().try_for_each(out::warn)?;
    let mut signals = Signals::listen()?;
    let (session, mut events, ended) = opened.start();
    signals.at_last({
        let session = session.clone();
        move || {
            hidden::restore();
            session.kill_everything();
        }
    });
    if let Some(prompt) = crate::tui::first_prompt(args) {
        session.order(Order::Prompt(prompt));
    }
    let mut lines = lines()?;
    let mut front = Front::new(session, telemetry);
    let begun = std::time::Instant::now();
    let left = front.converse(&mut events, &mut lines, &mut signals).await;
    let farewell = Farewell::of(&front.session.view());
    front.session.end(When::Now, front.reason);
    front.question = None;
    let mut told = Ok(());
    while let Some(event) = events.recv().await {
        // What can't be printed stops nothing else: the session is seen to its end.
        told = told.and(front.hear(event));
    }
    ended.await?;
    if matches!(left, Ok(exit::OK)) {
        told = told.and_then(|()| say(crate::tui::FAREWELL));
    }
    let last_words = farewell.lines(&front.stats, begun.elapsed());
    front.telemetry.shutdown().iter().try_for_each(out::warn)?;
    told?;
    // A terminal that is gone takes no farewell.
    let _ = last_words.iter().try_for_each(|line| say(line));
    // Somebody may have lost patience with the end.
    Ok(signals.heard().unwrap_or(left?))
}

const SHELL_MODE: &str = "every line is a shell command now; ! alone goes back to the agent";

/// Whether the session goes on after a line.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Leave,
}

/// What the next line answers.
enum Question {
    Call(oneshot::Sender<ApprovalReply>, Box<ApprovalRequest>),
    Guards(oneshot::Sender<GuardReply>),
    Inquiry(inquiry::Asked),
}

impl Question {
    /// Answers it, if anybody waits for that; nobody does where the turn is over. The question again, if the line was no
    /// answer, and whether the line was for it.
    fn answer(self, line: &str) -> io::Result<(Option<Question>, bool)> {
        match self {
            Question::Call(reply, request) => Ok((None, reply.send(reply_of(line, &request)).is_ok())),
            Question::Guards(reply) => {
                let word = if line == "trust" { GuardReply::Trust } else { GuardReply::Leave };
                Ok((None, reply.send(word).is_ok()))
            }
            Question::Inquiry(asked) => asked.hear(line).map(|(asked, heard)| (asked.map(Question::Inquiry), heard)),
        }
    }
}

/// What a session in lines keeps in mind.
struct Front {
    session: SessionHandle,
    telemetry: Telemetry,
    stats: Stats,
    log: HookLog,
    /// What the next line answers.
    question: Option<Question>,
    working: bool,
    /// What runs, and what can be shown whole.
    running: Vec<LiveCard>,
    cards: Cards,
    thought: String,
    /// The session ends because the user wants it to.
    left: bool,
    /// Why the session ends, as SessionEnd hooks are told.
    reason: EndReason,
    /// Whether every line is a command of the user's.
    shell_mode: bool,
}

impl Front {
    fn new(session: SessionHandle, telemetry: Telemetry) -> Self {
        let (stats, log) = (Stats::default(), HookLog::default());
        let (running, cards, thought) = (Vec::new(), Cards::default(), String::new());
        Front {
            session,
            telemetry,
            stats,
            log,
            question: None,
            working: true,
            running,
            cards,
            thought,
            left: false,
            reason: EndReason::Exit,
            shell_mode: false,
        }
    }

    /// Listens to the session and to the user, until one of them ends it; the exit code.
    async fn converse(
        &mut self,
        events: &mut EventStream,
        lines: &mut UnboundedReceiver<String>,
        signals: &mut Signals,
    ) -> io::Result<u8> {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.hear(event)?,
                    None if self.left => return Ok(exit::OK),
                    // Lost in a panic, which has been said.
                    None => return Ok(exit::ERROR),
                },
                line = lines.recv() => match line {
                    Some(line) if self.read(&line)? == Then::GoOn => {}
                    // A terminal that is gone is none any more.
                    None if !io::stdin().is_terminal() => return Ok(exit::HUNG_UP),
                    None => {
                        self.reason = EndReason::PromptInputExit;
                        return Ok(exit::OK);
                    }
                    Some(_) => return Ok(exit::OK),
                },
                code = signals.next() => {
                    // The first Ctrl-C only cancels the turn; a second one before that is done ends the program.
                    if code != exit::INTERRUPTED || !self.working {
                        return Ok(code);
                    }
                    self.session.order(Order::Cancel);
                }
            }
            if !self.working {
                signals.answered();
            }
        }
    }

    /// The session tells of something.
    fn hear(&mut self, event: AgentEvent) -> io::Result<()> {
        self.telemetry.record(&event);
        self.stats.count(&event);
        self.log.note(&event, std::time::Instant::now());
        self.keep(&event)?;
        if let AgentEvent::Approval(..) | AgentEvent::GuardsChanged(..) = &event {
            let loaded = self.session.view().loaded.clone();
            out::notify(loaded.settings.ui.notifications, &loaded.world, "a question waits for you")?;
        }
        match event {
            AgentEvent::Approval(request, reply) => {
                let asked = ask(&request);
                self.question = Some(Question::Call(reply, request));
                asked
            }
            AgentEvent::GuardsChanged(changes, reply) => {
                self.question = Some(Question::Guards(reply));
                ask_about_guards(&changes)
            }
            AgentEvent::Inquiry(inquiry, reply) => {
                self.question = inquiry::Asked::new(inquiry, reply)?.map(Question::Inquiry);
                Ok(())
            }
            AgentEvent::LoggedOut => {
                self.left = true;
                Ok(())
            }
            AgentEvent::Busy(_) => {
                self.working = true;
                Ok(())
            }
            AgentEvent::Idle { .. } => {
                self.working = false;
                say(&format!("{PLACEHOLDER}:"))
            }
            AgentEvent::Configured => {
                let loaded = self.session.view().loaded.clone();
                crate::log::learn_secrets(&loaded);
                self.stats.set_prices(&loaded.settings.model.prices);
                Ok(())
            }
            event => tell(&event),
        }
    }

    /// Keeps what can be shown whole; what a call printed before it was cancelled is said.
    fn keep(&mut self, event: &AgentEvent) -> io::Result<()> {
        /// So many lines of it.
        const MOST: usize = 12;
        match event {
            AgentEvent::Thought(text) => self.thought.push_str(text),
            AgentEvent::ToolStarted(start) => {
                self.running.push(LiveCard::new(start.clone(), std::time::Instant::now()));
            }
            AgentEvent::ToolOutput { call_id, text } => {
                self.running.iter_mut().filter(|card| card.call_id == *call_id).for_each(|card| card.output(text));
            }
            AgentEvent::ToolFinished(end) => {
                let at = self.running.iter().position(|card| card.call_id == end.call_id);
                let card = at.map(|at| self.running.remove(at));
                let title = || format!("{} {}", end.name, short_args(&end.args));
                let (title, live) = card.as_ref().map_or_else(|| (title(), ""), |card| (card.title(), card.so_far()));
                self.cards.keep(title, Whole::of(end, live), Some(&end.call_id));
                if end.error.as_ref().is_some_and(CallError::is_cancelled) {
                    let lines: Vec<&str> = live.lines().collect();
                    lines[lines.len().saturating_sub(MOST)..].iter().try_for_each(|line| say(line))?;
                }
            }
            AgentEvent::Text(_) | AgentEvent::TurnFinished(_) if !self.thought.is_empty() => {
                self.cards.keep("thought", Whole::Text(std::mem::take(&mut self.thought)), None);
            }
            _ => {}
        }
        Ok(())
    }

    /// The user wrote a line: the answer to a question, or something to do.
    fn read(&mut self, line: &str) -> io::Result<Then> {
        if let Some(question) = self.question.take() {
            let (again, heard) = question.answer(line.trim())?;
            self.question = again;
            if heard {
                return Ok(Then::GoOn);
            }
        }
        let command = self.shell_mode.then(|| format!("!{}", line.trim())).filter(|_| line.trim() != "!");
        match self.session.view().read(command.as_deref().unwrap_or(line)) {
            Typed::Blank => {}
            Typed::Order(Order::Theme(_)) => say("/theme is for the screen; lines have no colours")?,
            Typed::Order(Order::Vim) => say("/vim is for the screen's composer; here your terminal edits the line")?,
            Typed::View(View::ShellMode) if command.is_some() => {}
            Typed::View(View::ShellMode) => {
                self.shell_mode = !self.shell_mode;
                say(if self.shell_mode { SHELL_MODE } else { "lines go to the agent again" })?;
            }
            Typed::Order(order) => self.session.order(order),
            Typed::View(View::Quit) => return Ok(Then::Leave),
            Typed::View(view) => self.view(view)?,
            Typed::Misspelt(words) | Typed::Unknown(words) => say(&words)?,
        }
        Ok(Then::GoOn)
    }

    fn view(&self, view: View) -> io::Result<()> {
        match view {
            View::Help => {
                say(
                    "!command runs a shell command, ! alone makes every line one; other words go to the model. Commands:",
                )?;
                self.session.view().help().iter().try_for_each(|(name, about)| say(&format!("{name}: {about}")))
            }
            View::HooksPanel => match self.session.view().hooks().as_slice() {
                [] => say(NO_HOOKS),
                hooks => hooks.iter().try_for_each(|entry| say(&replies::hook(entry))),
            },
            View::HooksTrace => self.log.timeline().iter().try_for_each(|line| say(&out::unpainted(line))),
            View::Stats => {
                stats::lines(&self.stats).iter().try_for_each(|(name, text)| say(&format!("{name}: {text}")))
            }
            View::Expand(back) => match self.cards.back(back) {
                Some(card) => {
                    say(&card.title)?;
                    card.whole.lines().iter().try_for_each(|line| say(&line.plain()))
                }
                None => say(&nothing_to_open(back)),
            },
            View::Copy => say("there is nothing to copy with here; the answer stands above"),
            View::Quit | View::ShellMode => Ok(()),
        }
    }
}

/// The user's lines, read on a thread of their own.
fn lines() -> io::Result<UnboundedReceiver<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        // Ends when nobody listens any more.
        let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
    })?;
    Ok(receiver)
}

fn ask(request: &ApprovalRequest) -> io::Result<()> {
    // A model's own description of a long command is no substitute for the command.
    let command = request.args.get("command").and_then(serde_json::Value::as_str);
    let what = match (command, &request.preview) {
        (Some(command), _) => out::spelled(command),
        (None, Some(Display::Diff(file))) => {
            let lines = diff::lines(&diff::spelled_diff(file), usize::MAX);
            lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n").trim_start().to_owned()
        }
        (None, Some(Display::Text(text))) => out::spelled(&format!("{}\n{text}", request.description)),
        (None, _) => out::spelled(&request.description),
    };
    say(&format!("Allow {}?{} {what}", out::spelled(&request.title), asked::number(request)))?;
    if let Some(said) = asked::description(request) {
        say(&format!("the model says: {}", out::spelled(said)))?;
    }
    if let Some(path) = &request.protected {
        say(&format!("{path} is protected: guards are made of it"))?;
    }
    if let Some(asked) = &request.asked_by {
        say(&format!("hook {} wants you to decide: {}", asked.hooks.join(", "), asked.reason))?;
    }
    for change in asked::changes(request) {
        let words = match change.what {
            Difference::Short(before, after) => format!(": {before} → {after}"),
            Difference::Long(file) => {
                let body = file.unified.lines().skip_while(|line| !line.starts_with("@@"));
                format!(":\n{}", body.collect::<Vec<_>>().join("\n"))
            }
            Difference::Unsaid => String::new(),
        };
        say(&out::spelled(&format!("hooks changed {}{words}", change.name)))?;
    }
    say(&answers(request))
}

/// What can be answered, under the numbers that the screen has; only a command can be written anew in a line.
fn answers(request: &ApprovalRequest) -> String {
    let words = |(at, choice): (usize, Choice)| {
        let number = at + 1;
        Some(match choice {
            Choice::Once => format!("{number} or y: allow once."),
            Choice::Session => format!("{number}: allow for this session."),
            Choice::Server => {
                let server = request.server.as_ref().map_or("", |tool| tool.server.as_str());
                format!("{number}: allow all tools of MCP server {} for this session.", out::spelled(server))
            }
            Choice::Edit if request.name == "run_shell_command" => {
                format!("{number}, with another command: run that instead.")
            }
            Choice::Edit => return None,
            Choice::Deny => format!("{number} or n, with a word to the model if you like: deny."),
            Choice::Cancel => format!("{number}: cancel the turn."),
        })
    };
    let always = request.always.iter().enumerate();
    let always =
        always.map(|(at, words)| format!("a{}: always allow, in this project, {}.", at + 1, out::spelled(words)));
    Choice::of(request).into_iter().enumerate().filter_map(words).chain(always).collect::<Vec<_>>().join(" ")
}

fn ask_about_guards(changes: &[GuardChange]) -> io::Result<()> {
    say("The agent changed what your guards are made of:")?;
    for change in changes {
        say(&change.to_string())?;
        change.diff.as_deref().map_or(Ok(()), |diff| say(&out::spelled(diff)))?;
    }
    say(
        "trust: it counts from now on. Anything else: it stays distrusted, and hooks that depend on it deny what they can.",
    )
}

fn reply_of(line: &str, request: &ApprovalRequest) -> ApprovalReply {
    let choices = Choice::of(request);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let for_good = word.strip_prefix('a').and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
    if let Some(at) = for_good.filter(|at| *at < request.always.len()) {
        return ApprovalReply::Always(at);
    }
    let numbered = || word.parse::<usize>().ok()?.checked_sub(1).and_then(|at| choices.get(at).copied());
    let choice = match word {
        "y" | "yes" => Some(Choice::Once),
        "n" | "no" => Some(Choice::Deny),
        _ => numbered(),
    };
    match choice {
        Some(Choice::Once) => ApprovalReply::Once,
        Some(Choice::Session) => ApprovalReply::Session,
        Some(Choice::Server) => ApprovalReply::Server,
        Some(Choice::Deny) => ApprovalReply::Deny(Some(rest.trim().to_owned()).filter(|word| !word.is_empty())),
        Some(Choice::Edit) if request.name == "run_shell_command" && !rest.trim().is_empty() => {
            asked::with_text(request, rest.trim()).map_or(ApprovalReply::Cancel, ApprovalReply::Edited)
        }
        Some(Choice::Edit | Choice::Cancel) | None => ApprovalReply::Cancel,
    }
}

fn tell(event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Text(text) => {
            let mut stdout = out::stdout();
            for (at, line) in text.split('\n').enumerate() {
                write!(stdout, "{}{}", if at == 0 { "" } else { "\n" }, clean(line))?;
            }
            stdout.flush()
        }
        AgentEvent::ToolStarted(start) => {
            let rewritten = if start.rewritten.is_empty() {
                String::new()
            } else {
                format!(" (hooks changed {})", start.rewritten.join(", "))
            };
            say(&format!("runs {} {}{rewritten}", start.name, start.description))
        }
        AgentEvent::ToolFinished(end) => match &end.error {
            Some(error) if error.is_cancelled() => say(&format!("{}: Cancelled", end.name)),
            Some(error) => say(&format!("{} failed: {}", end.name, error.message)),
            None => {
                let how = end.failed_command().map_or_else(|| "done".to_owned(), |why| format!("failed, {why}"));
                say(&format!("{} {how}: {}", end.name, end.display.summary()))
            }
        },
        AgentEvent::HookFinished { report, .. } => match hooklog::line(report) {
            Some(_) => {
                say(&format!("hook {} ({}, {}) {}", report.hook, report.source, report.event, trace::deed(report)))
            }
            None => Ok(()),
        },
        AgentEvent::HookMessage { hook, text, .. } => say(&format!("hook {hook} says: {text}")),
        AgentEvent::HookWarning { hook, text, .. } => say(&format!("warning: hook {hook} {text}")),
        AgentEvent::Warning(text) => say(&format!("warning: {text}")),
        AgentEvent::Note(text) | AgentEvent::ModelRetry(text) => say(text),
        AgentEvent::Compressed { before, after, .. } => {
            say(&format!("Chat history compressed from {before} to {after} tokens."))
        }
        AgentEvent::Reply(reply) => reply_lines(reply),
        AgentEvent::History(messages) => tell_past(messages),
        AgentEvent::Cleared => say("the conversation is cleared"),
        AgentEvent::Rewound(prompt) => say(&format!("the conversation goes on from before: {prompt}")),
        AgentEvent::Waiting(prompts) if !prompts.is_empty() => say(&format!("{} wait their turn", prompts.len())),
        AgentEvent::GivenBack(prompts) => say(&format!("not begun: {}", prompts.join("; "))),
        AgentEvent::Within { agent, event, .. } => tell_of_agent(&agent.name, event),
        AgentEvent::TurnFinished(end) => {
            say(&end.words().map(|words| format!("\n{words}")).unwrap_or_default())?;
            end.hint().map_or(Ok(()), |hint| say(&format!("hint: {hint}")))
        }
        _ => Ok(()),
    }
}

/// The end of an earlier conversation.
fn tell_past(messages: &[std::sync::Arc<hookwright_model::Content>]) -> io::Result<()> {
    for past in past::of(messages) {
        match past {
            Past::User(text) => say(&format!("you said: {}", out::shorten(&text, 200)))?,
            Past::Model(text) => say(&text)?,
            Past::Call(PastCall { name, args, result }) => {
                let came = match &result {
                    Some(Ok(text)) => format!("done: {}", out::shorten(text.trim(), 80)),
                    Some(Err(text)) => format!("failed: {}", out::shorten(text.trim(), 80)),
                    None => "did not end".to_owned(),
                };
                say(&format!("{name} {} {came}", short_args(&args)))?;
            }
        }
    }
    Ok(())
}

/// What a sub-agent does, in short.
fn tell_of_agent(name: &str, event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::PromptStarted { .. } => say(&format!("agent {name} begins")),
        AgentEvent::ToolStarted(start) => say(&format!("agent {name} runs {} {}", start.name, start.description)),
        AgentEvent::ToolFinished(end) => match &end.error {
            Some(error) => say(&format!("agent {name}: {} failed: {}", end.name, error.message)),
            None => {
                end.failed_command().map_or(Ok(()), |why| say(&format!("agent {name}: {} failed, {why}", end.name)))
            }
        },
        AgentEvent::Warning(text) => say(&format!("warning: agent {name}: {text}")),
        AgentEvent::TurnFinished(_) => say(&format!("agent {name} is done")),
        _ => Ok(()),
    }
}

fn reply_lines(reply: &hookwright_agent::session::Reply) -> io::Result<()> {
    use hookwright_agent::session::{Reply, Tone};
    match (replies::answer(reply), reply) {
        (Some(text), _) => say(&text),
        (None, Reply::Text(Tone::Warning, text)) => say(&format!("warning: {text}")),
        (None, Reply::Text(Tone::Error, text)) => say(&format!("error: {text}")),
        (None, Reply::Text(_, text)) => say(text),
        (None, Reply::Notice(notice)) => say(&notice.to_string()),
        (None, Reply::Diagnostic(diagnostic)) => say(&out::unpainted(&report::draw(diagnostic))),
        (None, _) => Ok(()),
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut stdout = out::stdout();
    text.split('\n').try_for_each(|line| writeln!(stdout, "{}", clean(line)))
}
