//! Recognises settings under another name than their own: older names, names in the wrong place and dotted names; and
//! unknown names that suggest a restriction.

use jsonc_parser::ast::Value as Node;

/// Older or misplaced names, each with the right one. Their values are used, with a warning, so that no restriction
/// is lost.
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

/// Parts of names that suggest a restriction.
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

/// Returns the right name for a setting, if it differs from this one.
pub(super) fn canonical_name(name: &str, value: &Node<'_>) -> Option<&'static str> {
    let (theirs, ours) = MISPLACED_NAMES.iter().find(|(theirs, _)| *theirs == name)?;
    // The older name is now a section.
    let is_section = ours.strip_prefix(theirs).is_some_and(|rest| rest.starts_with('.')) && value.as_object().is_some();
    (!is_section).then_some(ours)
}

/// Whether a name makes the user expect a restriction.
pub(super) fn suggests_restriction(name: &str, value: &Node<'_>) -> bool {
    let name = name.to_ascii_lowercase();
    let off = matches!(value, Node::BooleanLit(flag) if !flag.value);
    !off && RESTRICTION_WORDS.iter().any(|part| name.contains(part))
}

/// Whether a key is only a comment: `$schema`, `//`, `_comment`.
pub(super) fn is_comment_key(name: &str) -> bool {
    name.starts_with(['$', '/', '_', '#'])
}
