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
    /// The later word of the list of choices wins: nobody takes back another's guard.
    Strictest,
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
}

const fn setting(key: &'static str, kind: Kind, by_project: ByProject) -> Known {
    combined(key, kind, Combine::Highest, by_project)
}

const fn combined(key: &'static str, kind: Kind, combine: Combine, by_project: ByProject) -> Known {
    Known { key, kind, combine, by_project, effect: Effect::Honoured }
}

/// A group of settings; what a project may do with those in it that this table does not know.
const fn section(key: &'static str, others: ByProject) -> Known {
    setting(key, Kind::Section, others)
}

/// A setting of Gemini CLI's that is read and changes nothing here.
const fn without_effect(key: &'static str, kind: Kind, by_project: ByProject, because: &'static str) -> Known {
    Known { key, kind, combine: Combine::Highest, by_project, effect: Effect::None(because) }
}

pub(super) const REVIEW_WORDS: &[&str] = &["announce", "ask", "block"];
const APPROVAL_WORDS: &[&str] = &["default", "auto_edit", "plan"];

const ONLY_TRUE: ByProject = ByProject::Stricter(Than::True);
const ONLY_FALSE: ByProject = ByProject::Stricter(Than::False);
const STRICTER_MODE: ByProject =
    ByProject::Stricter(Than::Words { words: &["auto_edit", "default", "plan"], default: "default" });
const STRICTER_REVIEW: ByProject = ByProject::Stricter(Than::Words { words: REVIEW_WORDS, default: "announce" });

/// The last column but one is the project's: a setting that opens, hides, sends or runs something is not its own to say.
pub(super) const KNOWN: &[Known] = {
    use ByProject::{Anything, Inside, Listed, ListedStricter, Nothing, Stricter};
    use Kind::{Flag, OneOf, Share, Text, TextOrTexts, Texts, Whole};
    &[
        combined(SERVERS, Kind::Section, Combine::Entries, ListedStricter(Than::Entries)),
        section("mcp", Nothing),
        combined("mcp.allowed", Texts, Combine::Shared, Listed),
        combined("mcp.excluded", Texts, Combine::Union, Listed),
        without_effect("mcp.serverCommand", Text, Nothing, "servers are named in `mcpServers`"),
        section("general", Anything),
        setting("general.defaultApprovalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE),
        without_effect("general.preferredEditor", Text, Nothing, "$VISUAL and $EDITOR name the editor"),
        without_effect("general.vimMode", Flag, Anything, "the composer has one set of keys"),
        section("general.checkpointing", Anything),
        setting("general.checkpointing.enabled", Flag, ONLY_TRUE),
        section("general.plan", Anything),
        setting("general.plan.directory", Text, Inside),
        setting("general.maxAttempts", Whole, Anything),
        section("ui", Anything),
        without_effect("ui.theme", Text, Anything, "the terminal's own colours are used"),
        setting("ui.hideBanner", Flag, Anything),
        setting("ui.hideTips", Flag, Anything),
        // The footer says whether guards are awake.
        setting("ui.hideFooter", Flag, ONLY_FALSE),
        section("ui.accessibility", Anything),
        setting("ui.accessibility.screenReader", Flag, Anything),
        section("model", Anything),
        setting("model.name", Text, Anything),
        setting("model.maxSessionTurns", Whole, Stricter(Than::Number { default: None })),
        setting("model.maxPromptTurns", Whole, Stricter(Than::Number { default: Some(MAX_PROMPT_TURNS) })),
        setting("model.compressionThreshold", Share, Anything),
        setting("model.disableLoopDetection", Flag, ONLY_FALSE),
        section("context", Anything),
        setting("context.fileName", TextOrTexts, Inside),
        combined("context.includeDirectories", Texts, Combine::Union, Inside),
        section("context.fileFiltering", Anything),
        setting("context.fileFiltering.respectGitIgnore", Flag, ONLY_TRUE),
        setting("context.fileFiltering.respectGeminiIgnore", Flag, ONLY_TRUE),
        section("tools", Anything),
        setting("tools.core", Texts, ListedStricter(Than::Tools)),
        setting("tools.allowed", Texts, Listed),
        combined("tools.exclude", Texts, Combine::Union, Listed),
        // An older name of `general.defaultApprovalMode`.
        setting("tools.approvalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE),
        without_effect("tools.discoveryCommand", Text, Nothing, "tools are built in, not discovered by a command"),
        without_effect("tools.callCommand", Text, Nothing, "tools are built in, not called by a command"),
        section("telemetry", Nothing),
        setting("telemetry.enabled", Flag, Nothing),
        setting("telemetry.target", OneOf(&["local", "gcp"]), Nothing),
        setting("telemetry.otlpEndpoint", Text, Nothing),
        setting("telemetry.otlpProtocol", OneOf(&["grpc", "http"]), Nothing),
        setting("telemetry.outfile", Text, Nothing),
        setting("telemetry.logPrompts", Flag, Nothing),
        without_effect("telemetry.traces", Flag, Nothing, "traces go to a collector whenever there is one"),
        section("security", Nothing),
        section("security.folderTrust", Nothing),
        combined("security.folderTrust.enabled", Flag, Combine::AnyTrue, ONLY_TRUE),
        section("security.hooks", Nothing),
        combined("security.hooks.review", OneOf(REVIEW_WORDS), Combine::Strictest, STRICTER_REVIEW),
        combined("security.disableYoloMode", Flag, Combine::AnyTrue, ONLY_TRUE),
        combined("security.protectedPaths", Kind::Globs, Combine::Union, Nothing),
        section("security.environmentVariableRedaction", Nothing),
        combined("security.environmentVariableRedaction.enabled", Flag, Combine::AnyTrue, ONLY_TRUE),
        combined("security.environmentVariableRedaction.allowed", Texts, Combine::Union, Nothing),
        combined("security.environmentVariableRedaction.blocked", Texts, Combine::Union, Anything),
        section("advanced", Nothing),
        // What a project's `.env` may not set is the user's to say.
        combined("advanced.excludedEnvVars", Texts, Combine::Union, Nothing),
        section("agents", Anything),
        combined("agents.overrides", Kind::Section, Combine::Entries, Stricter(Than::Entries)),
        section("experimental", Anything),
        setting("experimental.enableAgents", Flag, Stricter(Than::Off)),
        section("extensions", Nothing),
        // An extension may bring guards.
        combined("extensions.disabled", Texts, Combine::Union, Nothing),
        section("skills", Anything),
        combined("skills.enabled", Flag, Combine::AllTrue, Stricter(Than::Off)),
        combined("skills.disabled", Texts, Combine::Union, Anything),
        section("admin", Nothing),
        section("admin.skills", Nothing),
        combined("admin.skills.enabled", Flag, Combine::AllTrue, Nothing),
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
