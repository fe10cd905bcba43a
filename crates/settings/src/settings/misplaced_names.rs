//! Settings that stand under another name than the one that counts: older names, names in the wrong place, dotted names; and
//! those that nobody here knows.

use jsonc_parser::ast::Value as Node;

/// Names that settings had before, or that people look for in the wrong place: theirs, and the one that counts. What stands
/// there is read as if it stood in the right place, and that is said: a restriction must not be lost.
pub(super) const MISPLACED_NAMES: &[(&str, &str)] = &[
    ("allowMCPServers", "mcp.allowed"),
    ("allowedTools", "tools.allowed"),
    ("approvalMode", "general.defaultApprovalMode"),
    ("checkpointing", "general.checkpointing"),
    ("contextFileName", "context.fileName"),
    ("coreTools", "tools.core"),
    ("disableYoloMode", "security.disableYoloMode"),
    ("enableAgents", "experimental.enableAgents"),
    ("excludeMCPServers", "mcp.excluded"),
    ("excludeTools", "tools.exclude"),
    ("fileFiltering", "context.fileFiltering"),
    ("folderTrust", "security.folderTrust.enabled"),
    ("general.approvalMode", "general.defaultApprovalMode"),
    ("hideBanner", "ui.hideBanner"),
    ("hideFooter", "ui.hideFooter"),
    ("hideTips", "ui.hideTips"),
    ("includeDirectories", "context.includeDirectories"),
    ("maxSessionTurns", "model.maxSessionTurns"),
    ("model", "model.name"),
    ("preferredEditor", "general.preferredEditor"),
    ("protectedPaths", "security.protectedPaths"),
    ("theme", "ui.theme"),
    ("toolCallCommand", "tools.callCommand"),
    ("toolDiscoveryCommand", "tools.discoveryCommand"),
    ("vimMode", "general.vimMode"),
];

/// Parts of names that promise a restriction.
const RESTRICTION_WORDS: [&str; 11] = [
    "approval",
    "block",
    "deny",
    "disallow",
    "exclude",
    "forbid",
    "permission",
    "protect",
    "restrict",
    "sandbox",
    "safe",
];

/// The name that counts for a setting of this whole name, if that is another one.
pub(super) fn canonical_name(name: &str, value: &Node<'_>) -> Option<&'static str> {
    let (theirs, ours) = MISPLACED_NAMES.iter().find(|(theirs, _)| *theirs == name)?;
    // A name that has become a section's.
    let is_section = ours.strip_prefix(theirs).is_some_and(|rest| rest.starts_with('.')) && value.as_object().is_some();
    (!is_section).then_some(ours)
}

/// Whether somebody may think that a setting of this name guards something.
pub(super) fn suggests_restriction(name: &str, value: &Node<'_>) -> bool {
    let name = name.to_ascii_lowercase();
    let off = matches!(value, Node::BooleanLit(flag) if !flag.value);
    !off && RESTRICTION_WORDS.iter().any(|part| name.contains(part))
}

/// Whether a name is only a remark: `$schema`, `//`, `_comment`.
pub(super) fn is_comment_key(name: &str) -> bool {
    name.starts_with(['$', '/', '_', '#'])
}
