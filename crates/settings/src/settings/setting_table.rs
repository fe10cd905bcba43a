//! The table of settings that the program reads: the type of each, how layers merge, and what a project may set.
//!
//! A value of the wrong type is reported with its position and left out. Unknown keys are accepted, because other
//! programs read the same files and know more keys.

use serde_json::{Map, Value};

use super::MAX_PROMPT_TURNS;
use super::project_rule::{ProjectRule, StrictnessOrder};

/// Type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SettingKind {
    Section,
    Flag,
    Text,
    /// A whole number; negative where that has a meaning.
    Integer,
    /// A number from 0 to 1.
    Fraction,
    Texts,
    TextOrTexts,
    /// A list of path globs, each possibly after a `!`.
    Globs,
    OneOf(&'static [&'static str]),
}

/// How the values of several layers are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeRule {
    /// The highest layer's value is used.
    Highest,
    /// Lists are joined.
    Union,
    /// Names that are in every layer's list are kept, so that no layer adds to what another allows.
    Intersection,
    /// Entries of a table are replaced as a whole.
    Entries,
    /// True if any layer says so, so that no layer removes another's protection.
    AnyTrue,
    /// False if any layer says so, so that no layer enables what another has disabled.
    AllTrue,
    /// The later word in this ranking is used, so that no layer loosens another's value.
    Strictest(&'static [&'static str]),
}

/// Whether a setting has an effect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingEffect {
    Honoured,
    /// The setting is known but has no effect, for this reason.
    None(&'static str),
}

pub(super) struct SettingSpec {
    pub(super) key: &'static str,
    pub(super) kind: SettingKind,
    pub(super) merge_rule: MergeRule,
    pub(super) project_rule: ProjectRule,
    pub(super) effect: SettingEffect,
    /// Description for users; empty for sections.
    pub(super) description: &'static str,
    /// The value that counts if the setting is not set, as text.
    pub(super) default_text: Option<&'static str>,
}

impl SettingSpec {
    const fn describe(self, about: &'static str) -> SettingSpec {
        SettingSpec { description: about, ..self }
    }

    const fn with_default(self, default: &'static str) -> SettingSpec {
        SettingSpec { default_text: Some(default), ..self }
    }
}

const fn setting(key: &'static str, kind: SettingKind, by_project: ProjectRule) -> SettingSpec {
    merged_setting(key, kind, MergeRule::Highest, by_project)
}

const fn merged_setting(
    key: &'static str,
    kind: SettingKind,
    combine: MergeRule,
    by_project: ProjectRule,
) -> SettingSpec {
    SettingSpec {
        key,
        kind,
        merge_rule: combine,
        project_rule: by_project,
        effect: SettingEffect::Honoured,
        description: "",
        default_text: None,
    }
}

/// A choice between words, laxest first, that no layer and no project loosens.
const fn strictest(key: &'static str, ranking: &'static [&'static str], default: &'static str) -> SettingSpec {
    let by_project = ProjectRule::Stricter(StrictnessOrder::Words { words: ranking, default });
    merged_setting(key, SettingKind::OneOf(ranking), MergeRule::Strictest(ranking), by_project)
}

/// A group of settings; `others` is the project rule for settings in it that this table does not have.
const fn section(key: &'static str, others: ProjectRule) -> SettingSpec {
    setting(key, SettingKind::Section, others)
}

/// A setting of Gemini CLI's that is accepted and has no effect here.
const fn ineffective(
    key: &'static str,
    kind: SettingKind,
    by_project: ProjectRule,
    because: &'static str,
) -> SettingSpec {
    SettingSpec {
        key,
        kind,
        merge_rule: MergeRule::Highest,
        project_rule: by_project,
        effect: SettingEffect::None(because),
        description: "",
        default_text: None,
    }
}

const REVIEW_WORDS: &[&str] = &["announce", "ask", "block"];
const NOTIFICATION_WORDS: &[&str] = &["off", "bell", "desktop"];
/// The protocols of a telemetry collector: Gemini CLI's names, and those of `OTEL_EXPORTER_OTLP_PROTOCOL`.
pub(super) const OTLP_PROTOCOLS: &[&str] = &["grpc", "http", "http/json", "http/protobuf"];
const APPROVAL_WORDS: &[&str] = &["default", "auto_edit", "plan"];

/// The rule for a flag that a project may set to one value only; `default` is the value if it is not set.
const fn only_flag(strict: bool, default: bool) -> ProjectRule {
    ProjectRule::Stricter(StrictnessOrder::Flag { strict, default })
}

const STRICTER_APPROVAL_MODE: ProjectRule =
    ProjectRule::Stricter(StrictnessOrder::Words { words: &["auto_edit", "default", "plan"], default: "default" });

/// The settings. A setting that opens, hides, sends or runs something is not for a project to set.
pub(super) const SETTING_TABLE: &[SettingSpec] = {
    use ProjectRule::{Anything, Inside, Listed, ListedStricter, Nothing, Stricter};
    use SettingKind::{Flag, Fraction, Integer, OneOf, Text, TextOrTexts, Texts};
    &[
        merged_setting(SERVERS_KEY, SettingKind::Section, MergeRule::Entries, ListedStricter(StrictnessOrder::Entries))
            .describe("MCP servers by name; `hookwright mcp add` writes them"),
        section("mcp", Nothing),
        merged_setting("mcp.allowed", Texts, MergeRule::Intersection, Listed)
            .with_default("all servers")
            .describe("if set, the only MCP servers that are used"),
        merged_setting("mcp.excluded", Texts, MergeRule::Union, Listed).describe("MCP servers that are not used"),
        ineffective("mcp.serverCommand", Text, Nothing, "servers are named in `mcpServers`")
            .describe("a command that starts an MCP server"),
        section("general", Anything),
        setting("general.defaultApprovalMode", OneOf(APPROVAL_WORDS), STRICTER_APPROVAL_MODE)
            .with_default("default")
            .describe("which tool calls run unasked: those that only read, edits too, or only plans"),
        ineffective("general.preferredEditor", Text, Nothing, "$VISUAL and $EDITOR name the editor")
            .describe("the editor to open files with"),
        setting("general.vimMode", Flag, Anything)
            .with_default("false")
            .describe("vi's keys in the composer; /vim switches"),
        section("general.checkpointing", Anything),
        setting("general.checkpointing.enabled", Flag, only_flag(true, true))
            .with_default("true")
            .describe("keep files as they were before tools change them; /restore brings them back"),
        section("general.plan", Anything),
        setting("general.plan.directory", Text, Inside).describe("where plans go, inside the project"),
        setting("general.maxAttempts", Integer, Anything)
            .with_default("6")
            .describe("how often a failed request to the model is tried"),
        section("ui", Anything),
        setting("ui.theme", Text, Anything).with_default("terminal").describe(
            "the colours: auto, dark, light, high-contrast, or terminal for the terminal's own; /theme changes it",
        ),
        setting("ui.hideBanner", Flag, Anything).with_default("false").describe("no banner at the start"),
        setting("ui.hideTips", Flag, Anything).with_default("false").describe("no tips at the start"),
        // The footer shows whether guards are armed.
        setting("ui.hideFooter", Flag, only_flag(false, false))
            .with_default("false")
            .describe("no status line at the bottom"),
        setting("ui.hideWindowTitle", Flag, Anything)
            .with_default("false")
            .describe("leave the terminal's title alone"),
        setting("ui.showStatusInTitle", Flag, Anything)
            .with_default("false")
            .describe("show in the title what the agent does"),
        // Whether there are sounds and pop-ups is for the user to decide.
        setting("ui.notifications", OneOf(NOTIFICATION_WORDS), Nothing)
            .with_default("off")
            .describe("how you are told that the agent waits for you: off, by the terminal's bell, or on the desktop"),
        section("ui.accessibility", Anything),
        setting("ui.accessibility.screenReader", Flag, Anything)
            .with_default("false")
            .describe("print plain lines, for screen readers"),
        section("model", Anything),
        setting("model.name", Text, Anything).describe("the model to ask; /model changes it for a session"),
        setting("model.maxSessionTurns", Integer, Stricter(StrictnessOrder::Number { default: None }))
            .with_default("no limit")
            .describe("how many turns a session may have; a negative number means no limit"),
        setting("model.maxPromptTurns", Integer, Stricter(StrictnessOrder::Number { default: Some(MAX_PROMPT_TURNS) }))
            .with_default("500")
            .describe("how many requests one prompt may cost; a negative number means no limit"),
        setting("model.compressionThreshold", Fraction, Anything)
            .with_default("0.5")
            .describe("the share of the context window at which history is compressed, from 0 to 1"),
        setting("model.disableLoopDetection", Flag, only_flag(false, false))
            .with_default("false")
            .describe("do not stop a model that repeats itself"),
        // Prices are the user's.
        merged_setting("model.prices", SettingKind::Section, MergeRule::Entries, Nothing).describe(
            "what models cost per million tokens: `{\"NAME\": {\"input\": 1.25, \"cached\": 0.3, \"output\": 10}}`",
        ),
        section("contextCompression", Anything),
        setting("contextCompression.targetTokenCount", Integer, Anything)
            .describe("the number of tokens at which history is compressed, if that is reached before the share"),
        section("context", Anything),
        setting("context.fileName", TextOrTexts, Inside)
            .with_default("GEMINI.md")
            .describe("names of files with notes for the model, in addition to GEMINI.md"),
        merged_setting("context.includeDirectories", Texts, MergeRule::Union, Inside)
            .describe("more directories that tools may work in; /directory add does so for a session"),
        section("context.fileFiltering", Anything),
        setting("context.fileFiltering.respectGitIgnore", Flag, only_flag(true, true))
            .with_default("true")
            .describe("skip files that git ignores"),
        setting("context.fileFiltering.respectGeminiIgnore", Flag, only_flag(true, true))
            .with_default("true")
            .describe("skip files that .geminiignore names"),
        section("tools", Anything),
        setting("tools.core", Texts, ListedStricter(StrictnessOrder::Tools))
            .with_default("all tools")
            .describe("if set, the only built-in tools that are available"),
        setting("tools.allowed", Texts, Listed).describe("tools that run unasked"),
        merged_setting("tools.exclude", Texts, MergeRule::Union, Listed).describe("tools that are not available"),
        // The engine reads it with `hooksConfig`, layer by layer.
        setting("tools.enableHooks", Flag, Anything)
            .with_default("true")
            .describe("an older name of hooksConfig.enabled"),
        // An older name of `general.defaultApprovalMode`.
        setting("tools.approvalMode", OneOf(APPROVAL_WORDS), STRICTER_APPROVAL_MODE)
            .with_default("default")
            .describe("an older name of general.defaultApprovalMode"),
        ineffective("tools.discoveryCommand", Text, Nothing, "tools are built in, not discovered by a command")
            .describe("a command that prints tools"),
        ineffective("tools.callCommand", Text, Nothing, "tools are built in, not called by a command")
            .describe("a command that calls a discovered tool"),
        section("tools.shell", Anything),
        setting("tools.shell.enableInteractiveShell", Flag, only_flag(false, true))
            .with_default("true")
            .describe("run commands in a terminal of their own, if the session has a screen"),
        setting("tools.shell.showColor", Flag, Anything)
            .with_default("true")
            .describe("show the output of commands in colour"),
        // The value is a program that is run.
        setting("tools.shell.pager", Text, Nothing).describe("the value of PAGER for commands"),
        setting("tools.shell.inactivityTimeout", Integer, Nothing)
            .with_default("300")
            .describe("seconds without output after which a command is ended; 0 means never"),
        section("telemetry", Nothing),
        setting("telemetry.enabled", Flag, Nothing).with_default("false").describe("record telemetry"),
        setting("telemetry.target", OneOf(&["local", "gcp"]), Nothing)
            .with_default("local")
            .describe("where telemetry is sent"),
        setting("telemetry.otlpEndpoint", Text, Nothing).describe("the address of the telemetry collector"),
        setting("telemetry.otlpProtocol", OneOf(OTLP_PROTOCOLS), Nothing)
            .with_default("grpc")
            .describe("the protocol that telemetry is sent with"),
        setting("telemetry.outfile", Text, Nothing).describe("a file that telemetry is written to instead"),
        setting("telemetry.logPrompts", Flag, Nothing).with_default("true").describe("include prompts in telemetry"),
        ineffective("telemetry.traces", Flag, Nothing, "traces go to a collector whenever there is one")
            .describe("include traces in telemetry"),
        section("journal", Nothing),
        setting("journal.enabled", Flag, Nothing).with_default("true").describe("keep a record of what hooks decide"),
        setting("journal.content", OneOf(&["full", "redacted", "none"]), Nothing)
            .with_default("redacted")
            .describe("whether the record has arguments and output: all of it, all but secrets, or none"),
        setting("journal.maxMb", Integer, Nothing)
            .with_default("256")
            .describe("the size of the record in megabytes, above which its oldest part is removed"),
        setting("journal.keepDays", Integer, Nothing)
            .with_default("90")
            .describe("the age in days above which a part of the record is removed"),
        setting("journal.sync", OneOf(&["segment", "always"]), Nothing)
            .with_default("segment")
            .describe("when lines of the record are forced to the disk: with each full segment, or each one at once"),
        section("security", Nothing),
        section("security.folderTrust", Nothing),
        merged_setting("security.folderTrust.enabled", Flag, MergeRule::AnyTrue, only_flag(true, true))
            .with_default("true")
            .describe("ask whether you trust a folder before its own files are used"),
        section("security.hooks", Nothing),
        strictest("security.hooks.review", REVIEW_WORDS, "announce")
            .with_default("announce")
            .describe("what to do about a project's hook that is new or has changed"),
        section("security.auth", Nothing),
        setting("security.auth.enforcedType", Text, Nothing)
            .describe("the only permitted way to authenticate, such as gemini-api-key; no session starts with another"),
        merged_setting("security.disableYoloMode", Flag, MergeRule::AnyTrue, only_flag(true, false))
            .with_default("false")
            .describe("forbid the mode that runs every tool unasked"),
        merged_setting("security.protectedPaths", SettingKind::Globs, MergeRule::Union, Nothing)
            .describe("globs of more paths that no tool changes unasked; `!glob` makes an exception"),
        section("security.environmentVariableRedaction", Nothing),
        merged_setting(
            "security.environmentVariableRedaction.enabled",
            Flag,
            MergeRule::AnyTrue,
            only_flag(true, false),
        )
        .with_default("false")
        .describe("keep secrets out of the environment of hooks and tools"),
        merged_setting("security.environmentVariableRedaction.allowed", Texts, MergeRule::Union, Nothing)
            .describe("variables that are passed on nevertheless"),
        merged_setting("security.environmentVariableRedaction.blocked", Texts, MergeRule::Union, Anything)
            .describe("more variables that are not passed on"),
        section("advanced", Nothing),
        // Which variables a project's `.env` may not set is for the user to decide.
        merged_setting("advanced.excludedEnvVars", Texts, MergeRule::Union, Nothing)
            .describe("variables that a project's .env can't set"),
        section("agents", Anything),
        merged_setting(
            "agents.overrides",
            SettingKind::Section,
            MergeRule::Entries,
            Stricter(StrictnessOrder::Entries),
        )
        .describe("changes to sub-agents, by name"),
        section("experimental", Anything),
        setting("experimental.enableAgents", Flag, Stricter(StrictnessOrder::Off))
            .with_default("true")
            .describe("let the model delegate tasks to sub-agents"),
        section("extensions", Nothing),
        // An extension may contain guards.
        merged_setting("extensions.disabled", Texts, MergeRule::Union, Nothing)
            .describe("extensions that are switched off"),
        section("skills", Anything),
        merged_setting("skills.enabled", Flag, MergeRule::AllTrue, Stricter(StrictnessOrder::Off))
            .with_default("true")
            .describe("offer skills to the model"),
        merged_setting("skills.disabled", Texts, MergeRule::Union, Anything)
            .describe("skills that are not offered to the model"),
        section("admin", Nothing),
        section("admin.skills", Nothing),
        merged_setting("admin.skills.enabled", Flag, MergeRule::AllTrue, Nothing)
            .with_default("true")
            .describe("whether the administrator permits skills"),
    ]
};

pub(super) const SERVERS_KEY: &str = "mcpServers";

pub(super) fn find_setting(key: &str) -> Option<&'static SettingSpec> {
    SETTING_TABLE.iter().find(|known| known.key == key)
}

/// Returns how the layers' values of a key are merged.
pub(super) fn merge_rule_of(key: &str) -> MergeRule {
    find_setting(key).map_or(MergeRule::Highest, |known| known.merge_rule)
}

/// Returns the names of the settings that the trust prompt lists.
pub(crate) fn listed_names() -> impl Iterator<Item = &'static str> {
    SETTING_TABLE.iter().filter(|known| known.project_rule.is_listed()).map(|known| known.key)
}

/// Returns those of them that are set, with their values.
pub(crate) fn listed_values(values: &Map<String, Value>) -> Vec<(&'static str, &Value)> {
    listed_names().filter_map(|key| Some((key, super::DottedLookup(values).get(key)?))).collect()
}
