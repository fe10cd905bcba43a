//! A guard for tests with agents: it denies, fails and adds context.

use std::process::ExitCode;

use hookwright_sdk::{BeforeAgent, BeforeTool, Hook, context, deny, pass};

fn main() -> ExitCode {
    Hook::new()
        .try_on(BeforeTool, |call| match call.tool_input.get("file_path").and_then(|path| path.as_str()) {
            Some(path) if path.contains("secret") => Ok(deny("off limits")),
            Some(path) if path.contains("broken") => Err("broken"),
            _ => Ok(pass()),
        })
        .on(BeforeAgent, |_| context("said by a library"))
        .run()
}
