//! The outcomes of administrative actions as text, for sub-commands and for the front ends of a session.

use hookwright_agent::checkpoint::{RestoreReport, RestoreScope, RestoreSkip};
use hookwright_agent::session::Tone;
use hookwright_extensions::{ExtensionDiff, ExtensionUpdateReport};
use hookwright_settings::administration::{
    ActionError, ExtensionSwitchOutcome, GuardLoss, HookSwitchOutcome, HookSwitchRefusal, HookTrustOutcome,
    HookTrustRefusal, McpAccountReport, McpServerRefusal, NamedItem, PendingTrust, SkillSwitchOutcome, UnknownName,
    UntrustedFile, UntrustedHook,
};
use hookwright_settings::edit::Switch;
use hookwright_settings::skills::SkillState;
use hookwright_settings::{HookFinding, ServerSkipReason};

use super::{CommandStyle, Message};
use crate::output::{escape_invisible, one_line, sanitize, truncate_columns};

/// The most names that are listed one by one.
const MAX_LISTED_NAMES: usize = 5;
/// The width at which names are cut off.
const MAX_NAME_COLUMNS: usize = 60;
/// The most lines of other changed files that an update shows.
const MAX_OTHER_CHANGES: usize = 60;

pub(crate) fn error_messages(error: &ActionError) -> Vec<Message> {
    let hint = error.hint.iter().map(|hint| Message::aside(format!("hint: {hint}")));
    [Message::error(&error.message)].into_iter().chain(hint).collect()
}

/// Describes an unknown name, with the nearest one or the command that lists all.
pub(crate) fn unknown_name_text(unknown: &UnknownName, style: CommandStyle) -> String {
    let (kind, list) = match (unknown.kind, style) {
        (NamedItem::Hook, _) => ("hook", "hooks list"),
        (NamedItem::Extension, _) => ("extension", "extensions list"),
        (NamedItem::Skill, _) => ("skill", "skills list"),
        (NamedItem::SubAgent, _) => ("agent", "subagents list"),
        (NamedItem::McpServer, CommandStyle::Shell) => ("MCP server", "mcp list --no-connect"),
        (NamedItem::McpServer, CommandStyle::Slash) => ("MCP server", "mcp"),
        (NamedItem::Setting, _) => ("setting", "settings"),
        (NamedItem::SavedChat, _) => ("conversation", "chat list"),
        (NamedItem::Permission, _) => ("permission", "permissions"),
        (NamedItem::BackgroundCommand, _) => ("background command", "background"),
    };
    let help = match &unknown.near {
        Some(near) => format!("did you mean `{}`?", visible_name(near)),
        None => format!("{} shows them all", style.command(list)),
    };
    let name = visible_name(&unknown.name);
    match unknown.kind {
        NamedItem::Permission | NamedItem::BackgroundCommand => format!("no {kind} has the number {name}; {help}"),
        _ => format!("no {kind} is called `{name}`; {help}"),
    }
}

/// Formats a name, with invisible characters escaped.
pub(crate) fn visible_name(name: &str) -> String {
    truncate_columns(&escape_invisible(name), MAX_NAME_COLUMNS)
}

pub(crate) fn hook_switch_messages(outcome: &HookSwitchOutcome, style: CommandStyle) -> Vec<Message> {
    let refused = |refusal| {
        let tone = if outcome.is_for_all { Tone::Warning } else { Tone::Error };
        Message { tone, text: refusal_text(refusal, outcome.is_for_all, style) }
    };
    let mut messages: Vec<Message> = outcome.refusals.iter().map(refused).collect();
    let (verb, hooks) = (switched(outcome.switch), hooks_text(&outcome.hooks));
    if let Some(error) = &outcome.write_error {
        messages.push(Message::warning(format!("{verb} {hooks} for this session only: {error}")));
    }
    if let Some((file, error)) = &outcome.user_settings_error {
        messages.push(Message::warning(format!("can't look into {}: {error}", file.display())));
    }
    for (name, by) in &outcome.still_off {
        let layers: Vec<String> = by.iter().map(ToString::to_string).collect();
        let lasting = match style {
            CommandStyle::Shell => "",
            CommandStyle::Slash => "; a change made here lasts for this session at most",
        };
        let text = format!("hook `{}` is still switched off by the {} settings", one_line(name), layers.join(" and "));
        messages.push(Message::error(format!("{text}{lasting}")));
    }
    for guard in &outcome.disabled_guards {
        let text = format!("guard `{}` is off; unattended sessions no longer start here", one_line(guard));
        messages.push(Message::warning(text));
    }
    if outcome.hooks.is_empty() && !(outcome.is_for_all && outcome.refusals.is_empty()) {
        return messages;
    }
    match outcome.changed_files.as_slice() {
        _ if outcome.write_error.is_some() => {}
        [] if outcome.still_off.is_empty() => messages.push(Message::plain(format!("{hooks}: already {verb}"))),
        [] => {}
        files => messages.push(Message::plain(format!("{verb} {hooks} in {}", files_text(files)))),
    }
    messages
}

fn refusal_text(refusal: &HookSwitchRefusal, is_for_all: bool, style: CommandStyle) -> String {
    match refusal {
        HookSwitchRefusal::Unknown(unknown) => unknown_name_text(unknown, style),
        HookSwitchRefusal::FolderNotTrusted { name } => {
            let trust = style.folder_trust_command();
            let name = one_line(name);
            format!("hook `{name}` is not loaded, because this folder is not trusted; trust it first ({trust})")
        }
        HookSwitchRefusal::Locked { name } => {
            format!("hook `{}` is locked by the system settings and can't be switched off", one_line(name))
        }
        HookSwitchRefusal::ForeignGuard { name, layer } => format!(
            "hook `{}` is a guard of the {layer} settings; only those settings can switch it off",
            one_line(name)
        ),
        HookSwitchRefusal::NeedsConsent { name } => {
            let name = one_line(name);
            let command = match is_for_all {
                true => style.command("hooks disable-all --consent"),
                false => style.command(&format!("hooks disable {name} --consent")),
            };
            format!("hook `{name}` is a guard, and stays on; {command} switches it off all the same")
        }
    }
}

fn hooks_text(hooks: &[String]) -> String {
    let names: Vec<String> = hooks.iter().map(|name| format!("`{}`", one_line(name))).collect();
    match names.as_slice() {
        [name] => format!("hook {name}"),
        names if (1..=MAX_LISTED_NAMES).contains(&names.len()) => format!("hooks {}", names.join(", ")),
        names => format!("{} hooks", names.len()),
    }
}

/// Describes what can be trusted; the plain messages are the list itself.
pub(crate) fn pending_trust_messages(pending: &PendingTrust, style: CommandStyle) -> Vec<Message> {
    let mut lines = Vec::new();
    for UntrustedFile { path, change, diff } in &pending.files {
        lines.push(format!("{} ({change}, waits for trust)", one_line(path)));
        let diff = diff.as_deref().unwrap_or_default();
        lines.extend(diff.lines().map(|line| format!("    {}", sanitize(line))));
    }
    for UntrustedHook { hook, event, finding, held, summary } in &pending.hooks {
        let held = if *held { ", waits for trust" } else { "" };
        lines.push(format!("{} on {event} ({finding}{held})", one_line(hook)));
        lines.extend(summary.iter().map(|summary| format!("    runs {}", one_line(summary))));
    }
    let (one, all) = (style.command("hooks trust NAME"), style.command("hooks trust --all"));
    match lines.is_empty() {
        _ if pending.is_folder_untrusted => {
            vec![Message::error(untrusted_folder_text("its hooks are not loaded", style))]
        }
        true => vec![Message::aside("every hook is trusted already")],
        false => {
            vec![Message::plain(lines.join("\n")), Message::aside(format!("{one} trusts one hook, {all} everything"))]
        }
    }
}

pub(crate) fn hook_trust_messages(outcome: &HookTrustOutcome, style: CommandStyle) -> Vec<Message> {
    let files = outcome
        .files
        .iter()
        .map(|file| Message::plain(format!("{} is trusted now, with the agent's changes", one_line(&file.path))));
    let hooks = outcome.hooks.iter().map(|UntrustedHook { hook, event, finding, .. }| {
        let hook = one_line(hook);
        Message::plain(match finding {
            HookFinding::SwitchOff => {
                format!("hook `{hook}` is now off in this project, as the project's settings say")
            }
            HookFinding::New | HookFinding::Changed { .. } => format!("hook `{hook}` on {event} is trusted now"),
        })
    });
    let refusal = outcome.refusal.iter().map(|refusal| match refusal {
        HookTrustRefusal::Unknown(unknown) => Message::error(unknown_name_text(unknown, style)),
        HookTrustRefusal::FolderNotTrusted => Message::error(untrusted_folder_text("its hooks are not loaded", style)),
        HookTrustRefusal::SharedFile(UntrustedFile { path, change, .. }) => {
            let (show, all) = (style.command("hooks trust"), style.command("hooks trust --all"));
            let text = format!("{} was {change} and declares more than this hook", one_line(path));
            Message::error(format!("{text}; {show} shows the change, {all} trusts it"))
        }
        HookTrustRefusal::TrustedAlready(Some(name)) => {
            Message::aside(format!("hook `{}` is trusted already", one_line(name)))
        }
        HookTrustRefusal::TrustedAlready(None) => Message::aside("every hook is trusted already"),
    });
    files.chain(hooks).chain(refusal).collect()
}

fn untrusted_folder_text(consequence: &str, style: CommandStyle) -> String {
    format!("this folder is not trusted, so {consequence}; trust it first ({})", style.folder_trust_command())
}

pub(crate) fn extension_switch_messages(outcome: &ExtensionSwitchOutcome, style: CommandStyle) -> Vec<Message> {
    match outcome {
        ExtensionSwitchOutcome::Switched { name, switch, folder, is_changed, is_still_off } => {
            let place = folder.as_ref().map_or("everywhere".to_owned(), |folder| format!("in {}", folder.display()));
            let already = if *is_changed { "is" } else { "was already" };
            let mut messages = vec![Message::plain(format!("`{name}` {already} {} {place}", switched(*switch)))];
            if *is_still_off {
                let text = format!("`{name}` is still switched off by `extensions.disabled` in settings");
                messages.push(Message::warning(text));
            }
            messages
        }
        ExtensionSwitchOutcome::NeedsConsent { name, guards } => {
            let mut messages = guard_loss_messages(name, guards);
            messages.extend(consent_hint(name, style));
            messages
        }
        ExtensionSwitchOutcome::ExpectedGuards { name, guards } => {
            guards.iter().map(Message::warning).chain(consent_hint(name, style)).collect()
        }
        ExtensionSwitchOutcome::Forgotten { name } => {
            vec![Message::plain(format!("the guards of `{name}` are no longer required"))]
        }
        ExtensionSwitchOutcome::Unknown(unknown) => vec![Message::error(unknown_name_text(unknown, style))],
    }
}

/// Returns how the user agrees to lose guards. A sub-command asks instead.
fn consent_hint(name: &str, style: CommandStyle) -> Option<Message> {
    let command = style.command(&format!("extensions disable {name} --consent"));
    (style == CommandStyle::Slash).then(|| Message::aside(format!("{command} disables it all the same")))
}

/// Describes the guards that go with an extension.
pub(crate) fn guard_loss_messages(extension: &str, guards: &[GuardLoss]) -> Vec<Message> {
    let messages = guards.iter().flat_map(|GuardLoss { hook, event, required_by }| {
        let loss = format!("guard `{hook}` on {event} belongs to `{extension}` and goes with it");
        let required = required_by.as_ref();
        let required =
            required.map(|place| format!("`{hook}` is required by {place}: sessions do not start without it"));
        [loss].into_iter().chain(required).map(Message::warning)
    });
    messages.collect()
}

pub(crate) fn extension_update_messages(report: &ExtensionUpdateReport, style: CommandStyle) -> Vec<Message> {
    use ExtensionUpdateReport as Report;
    let update = |name: &str| style.command(&format!("extensions update {name}"));
    vec![match report {
        Report::NoneUpdatable => Message::aside("no installed extension can be updated"),
        Report::Lookup { name } => Message::aside(format!("looking for an update of `{name}`")),
        Report::Current { name, version } => Message::plain(format!("`{name}` {version} is the newest")),
        Report::Linked { name, folder } => {
            Message::plain(format!("`{name}` is linked: {} is used as it is", folder.display()))
        }
        Report::Moved { name, to } => {
            let advice = "uninstall it and install it from there, if you trust that place";
            Message::plain(format!("`{name}` says that it has moved to {}; {advice}", one_line(to)))
        }
        Report::Difference { name, diff } => {
            let difference = Message::plain(difference_lines(name, diff).join("\n"));
            return [difference].into_iter().chain(downgrade_message(diff)).collect();
        }
        Report::AwaitsConsent { name } => {
            let command = update(&format!("{name} --consent"));
            Message::aside(format!("{command} installs it and trusts its new hooks"))
        }
        Report::NotShown { name } => {
            Message::error(format!("no update of `{name}` was shown yet; {} looks for one", update(name)))
        }
        Report::Newer { name } => {
            Message::aside(format!("there is a newer version of `{name}`; {} shows it", update(name)))
        }
        Report::Updated { name, version } => Message::plain(format!("`{name}` is at {version} now")),
    }]
}

/// Returns what an update changes: the versions, unified diffs of what runs or decides, and the names of other files.
pub(crate) fn difference_lines(name: &str, diff: &ExtensionDiff) -> Vec<String> {
    let (old, new) = &diff.versions;
    let mut lines = vec![format!("{name} {} → {}", one_line(old), one_line(new))];
    let diffs = diff.reviewed_diffs.iter().map(|(_, text)| text.as_str());
    lines.extend([diff.summary_diff.as_str()].into_iter().chain(diffs).flat_map(str::lines).map(one_line));
    lines.extend(diff.other_changes.iter().take(MAX_OTHER_CHANGES).map(|line| one_line(line)));
    match diff.other_changes.len().saturating_sub(MAX_OTHER_CHANGES) {
        0 => {}
        1 => lines.push("… and another file".to_owned()),
        more => lines.push(format!("… and {more} more files")),
    }
    lines
}

/// Warns of an update to a lower version.
pub(crate) fn downgrade_message(diff: &ExtensionDiff) -> Option<Message> {
    let (old, new) = &diff.versions;
    let text = || format!("version {} is lower than {}, which is installed", one_line(new), one_line(old));
    diff.is_downgrade.then(|| Message::warning(text()))
}

pub(crate) fn mcp_account_messages(report: &McpAccountReport, style: CommandStyle) -> Vec<Message> {
    use McpAccountReport as Report;
    vec![match report {
        Report::Refused(McpServerRefusal::Unknown(unknown)) => Message::error(unknown_name_text(unknown, style)),
        Report::Refused(McpServerRefusal::NotUsed { name, reason }) => {
            let (name, why) = (visible_name(name), one_line(&reason.to_string()));
            let advice = format!("trust the folder with {}", style.folder_trust_command());
            let advice = (*reason == ServerSkipReason::Untrusted).then(|| Message::aside(advice));
            let refusal = Message::error(format!("MCP server `{name}` is not used here: {why}"));
            return [refusal].into_iter().chain(advice).collect();
        }
        Report::SignInPage { name, host, page } => {
            let (name, host, page) = (visible_name(name), one_line(host), one_line(page));
            Message::plain(format!("sign in to `{name}` at {host}, in a browser on this machine:\n{page}"))
        }
        Report::SignedIn { name } => {
            let more = if style == CommandStyle::Slash { "; it is being reconnected" } else { "" };
            Message { tone: Tone::News, text: format!("signed in to `{}`{more}", visible_name(name)) }
        }
        Report::NotSignedIn { name, error } => {
            let refusal = Message::error(format!("not signed in to `{}`: {error}", visible_name(name)));
            return [refusal].into_iter().chain(error.hint.as_ref().map(Message::aside)).collect();
        }
        Report::SignedOut { name } => Message::plain(format!(
            "forgot the token for `{}`; the server may still accept it until it expires",
            visible_name(name)
        )),
        Report::NoToken { name } => Message::error(format!("there is no token for `{}`", visible_name(name))),
    }]
}

/// Describes a restore. In a session the conversation speaks for itself.
pub(crate) fn restore_messages(report: &RestoreReport, scope: RestoreScope, style: CommandStyle) -> Vec<Message> {
    let mut messages = Vec::new();
    let files: Vec<String> = report.files.iter().map(|file| format!("brought back {}", one_line(file))).collect();
    match files.as_slice() {
        [] if scope.includes_files() => messages.push(Message::plain("no file had to be brought back")),
        [] => {}
        files => messages.push(Message::plain(files.join("\n"))),
    }
    if report.conversation_restored && style == CommandStyle::Shell {
        messages.push(Message::plain("the conversation goes on from before that prompt"));
    }
    let skipped = report.skipped.iter();
    messages.extend(skipped.map(|(file, why)| Message::warning(format!("{file} is left as it is: {why}"))));
    if report.skipped.iter().any(|(_, why)| *why == RestoreSkip::ChangedSince) {
        messages.push(Message::aside("--overwrite also brings back files that were changed since"));
    }
    let undo = match style {
        CommandStyle::Shell => style.command(&format!("checkpoints restore {}", report.undo_checkpoint)),
        CommandStyle::Slash => style.command(&format!("restore {}", report.undo_checkpoint)),
    };
    messages.push(Message::aside(format!("{undo} undoes this")));
    messages
}

pub(crate) fn skill_switch_messages(outcome: &SkillSwitchOutcome, style: CommandStyle) -> Vec<Message> {
    match outcome {
        SkillSwitchOutcome::Switched { name, switch, changed_files, still_off } => {
            let verb = switched(*switch);
            let text = match changed_files.as_slice() {
                [] => format!("skill `{name}`: already {verb}"),
                files => format!("{verb} skill `{name}` in {}", files_text(files)),
            };
            let still_off = still_off
                .iter()
                .map(|state| Message::warning(format!("skill `{name}` is still {}", skill_state_text(name, state))));
            [Message::plain(text)].into_iter().chain(still_off).collect()
        }
        SkillSwitchOutcome::Unknown(unknown) => vec![Message::error(unknown_name_text(unknown, style))],
        SkillSwitchOutcome::FolderNotTrusted => {
            vec![Message::error(untrusted_folder_text("its settings have no effect", style))]
        }
    }
}

/// Describes a skill's state.
pub(crate) fn skill_state_text(name: &str, state: &SkillState) -> String {
    match state {
        SkillState::Offered => "enabled".to_owned(),
        SkillState::UserOnly => format!("only you can use it: /{name}"),
        SkillState::Disabled => "disabled".to_owned(),
        SkillState::AllOff => "off, as settings switch all skills off".to_owned(),
        SkillState::Overridden(by) => format!("overridden by {}", by.display()),
    }
}

fn switched(switch: Switch) -> &'static str {
    match switch {
        Switch::Enable => "enabled",
        Switch::Disable => "disabled",
    }
}

fn files_text(files: &[std::path::PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
}
