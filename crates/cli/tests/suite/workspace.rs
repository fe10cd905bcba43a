//! Rules of the workspace: crates in dependency order, one program, events spelt in tables only, one gateway to the
//! model.

use std::path::{Path, PathBuf};

use hookwright_hooks::EventKind;
use hookwright_testkit::fs;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn crates_use_only_those_above_them() {
    let order = [
        "disk",
        "process",
        "analysis",
        "hooks",
        "settings",
        "bridge",
        "model",
        "tools",
        "extensions",
        "agent",
        "trial",
        "cli",
    ];
    for (at, name) in order.iter().enumerate() {
        let text = fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        // The SDK is independent of the other crates.
        for below in order[at..].iter().chain(&["sdk"]) {
            assert!(!dependencies.contains_key(&format!("hookwright-{below}")), "{name} uses {below}");
        }
    }
    let sdk: toml::Table = fs::read_to_string(root().join("crates/sdk/Cargo.toml")).unwrap().parse().unwrap();
    let dependencies: Vec<_> = sdk["dependencies"].as_table().unwrap().keys().collect();
    assert_eq!(dependencies, ["serde", "serde_json"], "a hook's library brings nothing along");
    let hooks: toml::Table = fs::read_to_string(root().join("crates/hooks/Cargo.toml")).unwrap().parse().unwrap();
    let dependencies = hooks["dependencies"].as_table().unwrap();
    let ours: Vec<_> = dependencies.keys().filter(|name| name.starts_with("hookwright")).collect();
    assert_eq!(ours, ["hookwright-analysis", "hookwright-process"], "the engine stands on nothing else");
}

/// The README says `cargo run -- demo`: cargo must know which program that is.
#[test]
fn cargo_run_means_this_program() {
    let workspace: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    assert_eq!(workspace["workspace"]["default-members"].as_array().unwrap(), &["crates/*".into()]);
    let has_program = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        folder.join("src/main.rs").exists() || folder.join("src/bin").exists() || manifest.contains("[[bin]]")
    };
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(crates.filter(has_program).collect::<Vec<_>>(), [root().join("crates/cli")]);
}

/// Names of events come from the table. Other agents' events are spelt in the bridge's.
#[test]
fn events_are_spelt_in_one_file() {
    // The last one is generated from the first.
    let tables = ["hooks/src/event.rs", "bridge/src/host/events.rs", "sdk/src/events.rs"];
    let is_table = |path: &Path| tables.iter().any(|table| path.ends_with(table));
    for (path, code) in sources("crates").into_iter().filter(|(path, _)| !is_table(path)) {
        for kind in EventKind::all() {
            assert!(!code.contains(&format!("\"{kind}\"")), "{} spells {kind}", path.display());
        }
    }
}

/// A request that bypasses the gateway would bypass every hook.
#[test]
fn only_the_gateway_asks_a_model() {
    let asks = [".stream(", ".generate(", ".count_tokens(", ".stream_dyn(", ".generate_dyn(", ".count_tokens_dyn("];
    let ask_by_path = ["Model::stream", "Model::generate", "Model::count_tokens"];
    let mut gateways = Vec::new();
    for folder in ["crates/tools", "crates/settings", "crates/agent", "crates/cli"] {
        for (path, code) in sources(folder) {
            if asks.iter().chain(&ask_by_path).any(|ask| code.contains(ask)) {
                gateways.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    assert_eq!(gateways, [Path::new("crates/agent/src/model_gateway.rs")]);
}

/// Returns the sources below a folder, without tests and comments.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(name.as_str(), "tests" | "benches" | "examples" | "testkit") {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                found.push((path, code.collect()));
            }
        }
    }
    found
}
