//! The protocol's own conformance suite for clients, where it is installed: `HOOKWRIGHT_MCP_CONFORMANCE` names its
//! `node_modules`.

use std::path::Path;
use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{has_program, report_skipped};

/// The scenarios that must pass. Left out: elicitation (servers cannot ask the user), tokens without a user
/// (`client-credentials-*`) and tokens of another identity provider (`cross-app-access-complete-flow`).
const SCENARIOS: [&str; 22] = [
    "initialize",
    "tools_call",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
];

#[test]
fn the_protocols_own_conformance_suite_passes() {
    let name = "the_protocols_own_conformance_suite_passes";
    let Some(modules) = std::env::var_os("HOOKWRIGHT_MCP_CONFORMANCE").filter(|path| !path.is_empty()) else {
        return report_skipped(name, "HOOKWRIGHT_MCP_CONFORMANCE names none");
    };
    let suite = Path::new(&modules).join("@modelcontextprotocol/conformance/dist/index.js");
    if !suite.is_file() || !has_program("node") {
        return report_skipped(name, "the suite or node is not there");
    }
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp_session/conformance_client.mjs");
    let node = |words: &[&str]| {
        let mut node = Command::new("node");
        node.arg(&suite).args(words).env("HOOKWRIGHT_PROGRAM", env!("CARGO_BIN_EXE_hookwright"));
        node.output_in_time().expect("node starts")
    };
    // The suite needs a newer node than some machines have.
    if !node(&["list"]).status.success() {
        return report_skipped(name, "the suite does not start with this node");
    }
    let command = format!("node '{client}'");
    let failed = SCENARIOS.iter().filter_map(|scenario| {
        let run = node(&["client", "--command", &command, "--scenario", scenario, "--timeout", "60000"]);
        let told = || format!("{scenario}\n{}{}", text(&run.stdout), text(&run.stderr));
        (!run.status.success()).then(told)
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
