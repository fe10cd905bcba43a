//! THE table of settings that the program reads: what each may hold, how layers combine, and what a project may say.
//!
//! A value of the wrong kind is reported with its place and left out; everything else passes, known or not, because the
//! same files are read by other programs that know more keys.

use serde_json::{Map, Value};

use super::MAX_PROMPT_TURNS;
use super::by_project::{ByProject, Than};

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Section,
    Flag,
    Text,
    /// A whole number; below zero where that means something.
    Whole,
    /// A number from 0 to 1.
    Share,
    Texts,
    TextOrTexts,
    /// A list of globs of paths, each perhaps behind a `!`.
    Globs,
    OneOf(&'static [&'static str]),
}

/// How the values of several layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// The highest layer's counts.
    Highest,
    /// Lists are joined.
    Union,
    /// Of lists of names, those that stand in each: nobody adds to what another allows.
    Shared,
    /// Entries are replaced whole.
    Entries,
    /// One `true` is enough: nobody takes back another's guard.
    AnyTrue,
    /// One `false` is enough: nobody switches on what another has switched off.
    AllTrue,
    /// The word that stands later in this ranking counts: no layer loosens another one's.
    Strictest(&'static [&'static str]),
}

/// Whether a setting does anything here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Honoured,
    /// It is understood and changes nothing, because of this.
    None(&'static str),
}

pub(super) struct Known {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    pub(super) combine: Combine,
    pub(super) by_project: ByProject,
    pub(super) effect: Effect,
    /// What it is for; nothing for groups.
    pub(super) about: &'static str,
}

impl Known {
    const fn about(self, about: &'static str) -> Known {
        Known { about, ..self }
    }
}

const fn setting(key: &'static str, kind: Kind, by_project: ByProject) -> Known {
    combined(key, kind, Combine::Highest, by_project)
}

const fn combined(key: &'static str, kind: Kind, combine: Combine, by_project: ByProject) -> Known {
    Known { key, kind, combine, by_project, effect: Effect::Honoured, about: "" }
}

/// A group of settings; what a project may do with those in it that this table does not know.
/// A choice between words, laxest first, that no layer and no project loosens.
const fn strictest(key: &'static str, ranking: &'static [&'static str], default: &'static str) -> Known {
    let by_project = ByProject::Stricter(Than::Words { words: ranking, default });
    combined(key, Kind::OneOf(ranking), Combine::Strictest(ranking), by_project)
}

const fn section(key: &'static str, others: ByProject) -> Known {
    setting(key, Kind::Section, others)
}

/// A setting of Gemini CLI's that is read and changes nothing here.
const fn without_effect(key: &'static str, kind: Kind, by_project: ByProject, because: &'static str) -> Known {
    Known { key, kind, combine: Combine::Highest, by_project, effect: Effect::None(because), about: "" }
}

const REVIEW_WORDS: &[&str] = &["announce", "ask", "block"];
const NOTIFICATION_WORDS: &[&str] = &["off", "bell", "desktop"];
const APPROVAL_WORDS: &[&str] = &["default", "auto_edit", "plan"];

/// A flag that a project may set to one value only, and what counts where it is not set.
const fn only(strict: bool, default: bool) -> ByProject {
    ByProject::Stricter(Than::Flag { strict, default })
}

const STRICTER_MODE: ByProject =
    ByProject::Stricter(Than::Words { words: &["auto_edit", "default", "plan"], default: "default" });

/// The last column but one is the project's: a setting that opens, hides, sends or runs something is not its own to say.
pub(super) const KNOWN: &[Known] = {
    use ByProject::{Anything, Inside, Listed, ListedStricter, Nothing, Stricter};
    use Kind::{Flag, OneOf, Share, Text, TextOrTexts, Texts, Whole};
    &[
        combined(SERVERS, Kind::Section, Combine::Entries, ListedStricter(Than::Entries))
            .about("MCP servers by name; `hookwright mcp add` writes them"),
        section("mcp", Nothing),
        combined("mcp.allowed", Texts, Combine::Shared, Listed)
            .about("the only MCP servers that are used, if some are named"),
        combined("mcp.excluded", Texts, Combine::Union, Listed).about("MCP servers that are not used"),
        without_effect("mcp.serverCommand", Text, Nothing, "servers are named in `mcpServers`")
            .about("a command that starts an MCP server"),
        section("general", Anything),
        setting("general.defaultApprovalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE)
            .about("which tool calls run unasked: those that only look, edits too, or only plans"),
        without_effect("general.preferredEditor", Text, Nothing, "$VISUAL and $EDITOR name the editor")
            .about("the editor to open files with"),
        setting("general.vimMode", Flag, Anything).about("vi's keys in the composer; /vim switches"),
        section("general.checkpointing", Anything),
        setting("general.checkpointing.enabled", Flag, only(true, true))
            .about("keep files as they were before tools change them; /restore brings them back"),
        section("general.plan", Anything),
        setting("general.plan.directory", Text, Inside).about("where plans go, inside the project"),
        setting("general.maxAttempts", Whole, Anything).about("how often a request to the model is tried"),
        section("ui", Anything),
        setting("ui.theme", Text, Anything).about(
            "the colours: auto, dark, light, high-contrast, or terminal for the terminal's own; /theme changes it",
        ),
        setting("ui.hideBanner", Flag, Anything).about("no banner at the start"),
        setting("ui.hideTips", Flag, Anything).about("no tips at the start"),
        // The footer says whether guards are awake.
        setting("ui.hideFooter", Flag, only(false, false)).about("no line at the foot"),
        setting("ui.hideWindowTitle", Flag, Anything).about("leave the terminal's title alone"),
        setting("ui.showStatusInTitle", Flag, Anything).about("say in the title what the agent does"),
        // A sound or a pop-up is the user's own to want.
        setting("ui.notifications", OneOf(NOTIFICATION_WORDS), Nothing)
            .about("how you are told that it waits for you: off, by the terminal's bell, or on the desktop"),
        section("ui.accessibility", Anything),
        setting("ui.accessibility.screenReader", Flag, Anything).about("plain lines instead of a screen"),
        section("model", Anything),
        setting("model.name", Text, Anything).about("the model to ask; /model changes it for a session"),
        setting("model.maxSessionTurns", Whole, Stricter(Than::Number { default: None }))
            .about("how many turns a session may have; below zero, any number"),
        setting("model.maxPromptTurns", Whole, Stricter(Than::Number { default: Some(MAX_PROMPT_TURNS) }))
            .about("how many requests one prompt may cost; below zero, any number"),
        setting("model.compressionThreshold", Share, Anything)
            .about("the share of the context window at which history is compressed, from 0 to 1"),
        setting("model.disableLoopDetection", Flag, only(false, false)).about("let a model go on that repeats itself"),
        // What is shown as spent is the user's own business.
        combined("model.prices", Kind::Section, Combine::Entries, Nothing).about(
            "what models cost per million tokens: `{\"NAME\": {\"input\": 1.25, \"cached\": 0.3, \"output\": 10}}`",
        ),
        section("contextCompression", Anything),
        setting("contextCompression.targetTokenCount", Whole, Anything)
            .about("the tokens at which history is compressed, if that comes before its share of the window"),
        section("context", Anything),
        setting("context.fileName", TextOrTexts, Inside)
            .about("names of files with notes for the model, beside GEMINI.md"),
        combined("context.includeDirectories", Texts, Combine::Union, Inside)
            .about("more directories that tools may work in; /directory add does so for a session"),
        section("context.fileFiltering", Anything),
        setting("context.fileFiltering.respectGitIgnore", Flag, only(true, true))
            .about("leave out files that git ignores"),
        setting("context.fileFiltering.respectGeminiIgnore", Flag, only(true, true))
            .about("leave out files that .geminiignore names"),
        section("tools", Anything),
        setting("tools.core", Texts, ListedStricter(Than::Tools))
            .about("the only built-in tools there are, if some are named"),
        setting("tools.allowed", Texts, Listed).about("tools that run unasked"),
        combined("tools.exclude", Texts, Combine::Union, Listed).about("tools there are not"),
        // The engine reads it with `hooksConfig`, layer by layer.
        setting("tools.enableHooks", Flag, Anything).about("an older name of hooksConfig.enabled"),
        // An older name of `general.defaultApprovalMode`.
        setting("tools.approvalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE)
            .about("an older name of general.defaultApprovalMode"),
        without_effect("tools.discoveryCommand", Text, Nothing, "tools are built in, not discovered by a command")
            .about("a command that prints tools"),
        without_effect("tools.callCommand", Text, Nothing, "tools are built in, not called by a command")
            .about("a command that calls one of those"),
        section("tools.shell", Anything),
        setting("tools.shell.enableInteractiveShell", Flag, only(false, true))
            .about("commands have a terminal of their own, where there is a screen"),
        setting("tools.shell.showColor", Flag, Anything).about("show what commands draw in colour"),
        // A program that is run.
        setting("tools.shell.pager", Text, Nothing).about("what PAGER is for commands"),
        setting("tools.shell.inactivityTimeout", Whole, Nothing)
            .about("after so many seconds without output a command is ended; 0 is never"),
        section("telemetry", Nothing),
        setting("telemetry.enabled", Flag, Nothing).about("record what happens"),
        setting("telemetry.target", OneOf(&["local", "gcp"]), Nothing).about("who receives the record"),
        setting("telemetry.otlpEndpoint", Text, Nothing).about("the receiver's address"),
        setting("telemetry.otlpProtocol", OneOf(&["grpc", "http"]), Nothing).about("how it is sent"),
        setting("telemetry.outfile", Text, Nothing).about("a file that is written instead"),
        setting("telemetry.logPrompts", Flag, Nothing).about("record prompts too"),
        without_effect("telemetry.traces", Flag, Nothing, "traces go to a collector whenever there is one")
            .about("record traces too"),
        section("security", Nothing),
        section("security.folderTrust", Nothing),
        combined("security.folderTrust.enabled", Flag, Combine::AnyTrue, only(true, true))
            .about("ask whether a folder is trusted before its own files count"),
        section("security.hooks", Nothing),
        strictest("security.hooks.review", REVIEW_WORDS, "announce")
            .about("what happens to a project's hook that is new or has changed"),
        section("security.auth", Nothing),
        setting("security.auth.enforcedType", Text, Nothing)
            .about("the only way to authenticate, such as gemini-api-key; with another one no session starts"),
        combined("security.disableYoloMode", Flag, Combine::AnyTrue, only(true, false))
            .about("nobody runs everything unasked"),
        combined("security.protectedPaths", Kind::Globs, Combine::Union, Nothing)
            .about("globs of more paths that no tool changes unasked; `!glob` for those that one may"),
        section("security.environmentVariableRedaction", Nothing),
        combined("security.environmentVariableRedaction.enabled", Flag, Combine::AnyTrue, only(true, false))
            .about("keep secrets out of the environment of hooks and tools"),
        combined("security.environmentVariableRedaction.allowed", Texts, Combine::Union, Nothing)
            .about("variables that are passed on all the same"),
        combined("security.environmentVariableRedaction.blocked", Texts, Combine::Union, Anything)
            .about("more variables that are kept back"),
        section("advanced", Nothing),
        // What a project's `.env` may not set is the user's to say.
        combined("advanced.excludedEnvVars", Texts, Combine::Union, Nothing)
            .about("variables that a project's .env does not set"),
        section("agents", Anything),
        combined("agents.overrides", Kind::Section, Combine::Entries, Stricter(Than::Entries))
            .about("what is changed about sub-agents, by name"),
        section("experimental", Anything),
        setting("experimental.enableAgents", Flag, Stricter(Than::Off)).about("sub-agents can be delegated to"),
        section("extensions", Nothing),
        // An extension may bring guards.
        combined("extensions.disabled", Texts, Combine::Union, Nothing).about("extensions that do not count"),
        section("skills", Anything),
        combined("skills.enabled", Flag, Combine::AllTrue, Stricter(Than::Off))
            .about("skills are offered to the model"),
        combined("skills.disabled", Texts, Combine::Union, Anything).about("skills that are not"),
        section("admin", Nothing),
        section("admin.skills", Nothing),
        combined("admin.skills.enabled", Flag, Combine::AllTrue, Nothing).about("the administrator's word on skills"),
    ]
};

pub(super) const SERVERS: &str = "mcpServers";

pub(super) fn known(key: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.key == key)
}

/// How a key's values combine.
pub(super) fn combine_of(key: &str) -> Combine {
    known(key).map_or(Combine::Highest, |known| known.combine)
}

/// The names of the settings that the question of trust lists.
pub(crate) fn listed_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(|known| known.by_project.is_listed()).map(|known| known.key)
}

/// Those that a project sets, with their values.
pub(crate) fn listed(values: &Map<String, Value>) -> Vec<(&'static str, &Value)> {
    listed_names().filter_map(|key| Some((key, super::Layered(values).at(key)?))).collect()
}
