//! Keeps the agent out of `secrets/`.

use std::process::ExitCode;

use hookwright_sdk::{BeforeTool, Hook, deny, pass};

fn main() -> ExitCode {
    Hook::new()
        .on(BeforeTool, |call| match call.tool_input.get("file_path").and_then(|path| path.as_str()) {
            Some(path) if path.contains("secrets/") => deny("secrets/ is off limits"),
            _ => pass(),
        })
        .run()
}
