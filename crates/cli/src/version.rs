//! What the program calls itself: version, commit and platform.

/// `0.1.0 (1a2b3c4d5, linux x86_64)`; a build that does not know its commit leaves it out.
pub(crate) fn version_text() -> &'static str {
    use std::sync::LazyLock;
    static VERSION_TEXT: LazyLock<String> = LazyLock::new(|| {
        let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let known = option_env!("HOOKWRIGHT_COMMIT").map(str::trim).filter(|commit| !commit.is_empty());
        let commit = known.map(|commit| format!("{commit}, ")).unwrap_or_default();
        format!("{} ({commit}{platform})", env!("CARGO_PKG_VERSION"))
    });
    &VERSION_TEXT
}
