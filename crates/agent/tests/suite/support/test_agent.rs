//! An agent with hooks, tools and a scripted model, and a record of its events.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use hookwright_agent::transcript::{Transcript, TranscriptHeader};
use hookwright_agent::{
    Agent, AgentEvent, AgentNotice, Answer, ApprovalMode, ApprovalReply, ApprovalRequest, Approvals, EventSender,
    EventStream, HookEventForwarder, Interaction, ModelEvent, ModelGateway, Policy, Question, QuestionEvent,
    QuestionSubject, RequestBudget, Services, ToolEnd, ToolEvent, TurnEnd,
};
use hookwright_hooks::{HookEngine, Layer, Registry, Session, Severity, Source, parse_layer};
use hookwright_model::{AnyModel, Content, GenerationConfig};
use hookwright_settings::subagents::{SubAgents, check_definition};
use hookwright_tools::{Tool, ToolContext, ToolSet, WebSearchSupport, Workspace};
use tokio_util::sync::CancellationToken;

use super::scripted_model::contents_json;
use super::{HANG_TIMEOUT, ScriptedModel, TestProject};

/// The parts of an agent before it is built.
pub(crate) struct AgentSetup<'p> {
    pub(crate) project: &'p TestProject,
    pub(crate) script: ScriptedModel,
    pub(crate) interaction: Interaction,
    pub(crate) mode: ApprovalMode,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) agents: SubAgents,
    pub(crate) history: Vec<Content>,
    pub(crate) model: &'static str,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_prompt_turns: Option<u32>,
    pub(crate) compression_threshold: f64,
    pub(crate) compression_target: Option<u32>,
}

/// A running agent.
pub(crate) struct TestAgent {
    pub(crate) agent: Agent,
    pub(crate) script: ScriptedModel,
    /// Every event since the last prompt.
    pub(crate) events_seen: Vec<AgentEvent>,
    /// Every approval request since the start.
    pub(crate) approval_requests: Vec<ApprovalRequest>,
    /// The user's replies, one for each request.
    pub(crate) approval_replies: VecDeque<ApprovalReply>,
    pub(crate) events: EventStream,
}

impl TestProject {
    /// Sets up a headless agent in yolo mode.
    pub(crate) fn agent_setup(&self, script: ScriptedModel) -> AgentSetup<'_> {
        AgentSetup {
            project: self,
            script,
            interaction: Interaction::Headless,
            mode: ApprovalMode::Yolo,
            tools: Vec::new(),
            agents: SubAgents::default(),
            history: Vec::new(),
            model: "scripted",
            max_turns: None,
            max_prompt_turns: None,
            compression_threshold: 0.5,
            compression_target: None,
        }
    }

    /// Starts a headless agent in yolo mode.
    pub(crate) fn start_agent(&self, script: ScriptedModel) -> TestAgent {
        self.agent_setup(script).start()
    }
}

impl AgentSetup<'_> {
    pub(crate) fn with_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a sub-agent with more fields in its front matter; its system prompt contains its name.
    pub(crate) fn with_subagent(mut self, name: &str, fields: &str) -> Self {
        let text = format!("---\nname: {name}\ndescription: for tests\n{fields}\n---\nYou are {name}.\n");
        let (agent, problems) =
            check_definition(&self.project.write(&format!(".gemini/agents/{name}.md"), &text)).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        self.agents.list.push(agent.unwrap());
        self
    }

    /// Makes the agent interactive, with approval requests.
    pub(crate) fn interactive(self) -> Self {
        AgentSetup { interaction: Interaction::Interactive, mode: ApprovalMode::Default, ..self }
    }

    pub(crate) fn start(self) -> TestAgent {
        let (events, stream) = EventSender::channel();
        let root = self.project.project_dir();
        let mut tools = ToolSet::builtin(WebSearchSupport::Unavailable);
        self.tools.into_iter().for_each(|tool| tools.register(tool).unwrap());
        let mut tool_context = ToolContext::new(Workspace::new(&root, []).unwrap());
        tool_context.environment = self.project.environment().into();
        let transcript = create_transcript(self.project);
        let services = Services {
            checkpoints: std::sync::Arc::default(),
            tamper_watch: Arc::default(),
            model: ModelGateway::new(AnyModel::custom(self.script.clone()), Default::default()).into(),
            tools: Arc::new(tools.into()),
            subagents: Arc::default(),
            servers: hookwright_tools::mcp::McpServerSet::none(),
            tool_context,
            hooks: build_engine(self.project, &events, transcript.path()),
            approvals: Approvals::new(self.mode, Vec::new(), Policy::default()).into(),
            events,
            background_hooks: Arc::default(),
            question_lock: Arc::default(),
            interaction: self.interaction,
            generation: GenerationConfig::default(),
            loop_detection: true,
            budget: RequestBudget::new(self.max_turns, self.max_prompt_turns),
            compression_threshold: self.compression_threshold,
            compression_target: self.compression_target,
            journal: None,
            confiner: None,
        };
        services.subagents.set_definitions(self.agents, &services.tools);
        let history = self.history.into_iter().map(Arc::new).collect();
        let agent = Agent::new(services, self.model.to_owned(), "the rules".to_owned(), transcript, history);
        let (seen, asked, replies) = (Vec::new(), Vec::new(), VecDeque::new());
        TestAgent {
            agent,
            script: self.script,
            events_seen: seen,
            approval_requests: asked,
            approval_replies: replies,
            events: stream,
        }
    }
}

fn build_engine(project: &TestProject, events: &EventSender, transcript: &Path) -> HookEngine {
    let declared =
        parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), &project.settings().to_string()));
    let errors: Vec<_> = declared.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let session = Session {
        id: "session-1".to_owned(),
        transcript_path: transcript.to_owned(),
        cwd: project.project_dir(),
        project_dir: project.project_dir(),
        plans_dir: project.project_dir().join("plans"),
    };
    HookEngine::builder(Registry::new(vec![declared]))
        .session(session)
        .environment(project.environment())
        .observer(Arc::new(HookEventForwarder(events.clone())))
        .build()
}

fn create_transcript(project: &TestProject) -> Transcript {
    let header = TranscriptHeader {
        branch: None,
        session_id: "session-1".to_owned(),
        project: project.project_dir(),
        model: "scripted".to_owned(),
        version: "0".to_owned(),
        started: "2026-01-02T03:04:05Z".parse().unwrap(),
    };
    Transcript::create_in(&project.home_dir().join("chats"), &header).unwrap()
}

impl TestAgent {
    /// Runs a prompt.
    pub(crate) async fn prompt(&mut self, prompt: &str) -> TurnEnd {
        self.prompt_observed(prompt, |_, _| {}).await
    }

    /// Runs a prompt, with an observer that sees each event and may cancel the turn.
    pub(crate) async fn prompt_observed(
        &mut self,
        prompt: &str,
        mut look: impl FnMut(&AgentEvent, &CancellationToken),
    ) -> TurnEnd {
        self.events_seen.clear();
        let cancel = CancellationToken::new();
        let TestAgent { agent, events, events_seen: seen, approval_requests: asked, approval_replies: replies, .. } =
            self;
        let answers = agent.services().events.clone();
        let mut take = |event: AgentEvent| {
            look(&event, &cancel);
            match event {
                AgentEvent::Question(QuestionEvent::Asked(Question {
                    id,
                    subject: QuestionSubject::Approval(request),
                })) => {
                    let reply = replies.pop_front().unwrap_or_else(|| panic!("no reply is left for {request:?}"));
                    asked.push(*request);
                    answers.answer(id, Answer::Approval(reply));
                }
                event => seen.push(event),
            }
        };
        let turn = agent.prompt(prompt, &cancel);
        tokio::pin!(turn);
        let work = async {
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => take(event),
                    end = &mut turn => return end,
                }
            }
        };
        let end = tokio::time::timeout(HANG_TIMEOUT, work).await.unwrap_or_else(|_| panic!("the turn never ends"));
        while let Some(event) = events.try_recv() {
            take(event);
        }
        end
    }

    /// Reads the events outside of a prompt.
    pub(crate) fn drain(&mut self) {
        self.events_seen.clear();
        while let Some(event) = self.events.try_recv() {
            self.events_seen.push(event);
        }
    }

    /// Returns the answer's text as it was shown.
    pub(crate) fn answer_text(&self) -> String {
        self.filter_events(|event| match event {
            AgentEvent::Model(ModelEvent::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .concat()
    }

    /// Returns the finished tool calls.
    pub(crate) fn finished_calls(&self) -> Vec<&ToolEnd> {
        self.filter_events(|event| match event {
            AgentEvent::Tool(ToolEvent::Finished(end)) => Some(&**end),
            _ => None,
        })
    }

    /// Returns the warnings to the user.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.filter_events(|event| match event {
            AgentEvent::Notice(AgentNotice::Warning(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the events that the function picks.
    pub(crate) fn filter_events<'s, T>(&'s self, pick: impl Fn(&'s AgentEvent) -> Option<T>) -> Vec<T> {
        self.events_seen.iter().filter_map(pick).collect()
    }

    /// Returns the position of the first event that matches.
    #[track_caller]
    pub(crate) fn position_of(&self, is_it: impl Fn(&AgentEvent) -> bool) -> usize {
        self.events_seen.iter().position(is_it).unwrap_or_else(|| panic!("it was never told: {:#?}", self.events_seen))
    }

    /// Returns the history as JSON, as the model would get it.
    pub(crate) fn history_json(&self) -> String {
        contents_json(self.agent.history())
    }

    pub(crate) fn message_texts(&self) -> Vec<String> {
        self.agent.history().iter().map(|content| content.text()).collect()
    }

    /// Returns the results of the model's calls, in order: `output` or `error`, and the text.
    pub(crate) fn call_results(&self) -> Vec<(String, String)> {
        let parts = self.agent.history().iter().flat_map(|content| &content.parts);
        let responses = parts.filter_map(|part| part.as_function_response());
        let entry = |(key, value): (&String, &serde_json::Value)| (key.clone(), value.as_str().unwrap().to_owned());
        responses.flat_map(|response| response.response.iter().map(entry)).collect()
    }
}
