//! The cost of the hook review at every start: the figures, and a limit of ten times those in docs/benchmarks.md.
//! `cargo test --release -p hookwright-settings --test main cost -- --ignored --nocapture`.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::SettingsFixture;
use hookwright_settings::trust::trust_hooks;

#[expect(clippy::disallowed_methods, reason = "a measurement is printed, whatever the harness keeps to itself")]
fn measure(what: &str, count: usize, command: impl Fn(usize) -> String, file: impl Fn(usize) -> (String, String)) {
    let place = SettingsFixture::trusted().with_variable("PATH", &std::env::var("PATH").unwrap());
    let hook = |at: usize| json!({"type": "command", "name": format!("h{at}"), "command": command(at)});
    let hooks: Vec<_> = (0..count).map(hook).collect();
    for at in 0..count {
        let (path, text) = file(at);
        place.write(&format!("project/{path}"), text);
    }
    place.write_project_settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}).to_string());
    let first = place.load();
    trust_hooks(&first.paths, &first.reviews).unwrap();
    let mut times: Vec<_> = (0..if count > 100 { 3 } else { 50 })
        .map(|_| {
            let since = Instant::now();
            assert!(place.load().reviews.is_empty());
            since.elapsed()
        })
        .collect();
    times.sort();
    let (fastest, median) = (times[0], times[times.len() / 2]);
    let record = std::fs::metadata(place.paths().trusted_hooks).unwrap().len();
    let line = format!("{what}: {count} hooks, load {fastest:?} at best, {median:?} (median), record {record} bytes\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    let bound = if count > 100 { Duration::from_secs(11) } else { Duration::from_millis(20) };
    assert!(cfg!(debug_assertions) || fastest < bound, "{line}");
    assert!(record < 1000 * (count as u64 + 1), "{line}");
}

const SHELL: &str = "#!/bin/sh\ninput=$(cat)\nfile=$(printf '%s' \"$input\" | jq -r .tool_input.file_path)\ncase \"$file\" in\n  *.env|*.pem) echo 'secret' >&2; exit 2 ;;\nesac\nif grep -q TODO \"$file\"; then\n  echo '{\"decision\": \"deny\"}'\nfi\nexit 0\n";
const PYTHON: &str = "import json, re, sys\n\ndata = json.load(sys.stdin)\nif re.search('secret', str(data)):\n    print('no', file=sys.stderr)\n    sys.exit(2)\n";
const NODE: &str = "const fs = require('fs');\nconst input = JSON.parse(fs.readFileSync(0, 'utf8'));\nif (/secret/.test(JSON.stringify(input))) process.exit(2);\n";

#[test]
#[ignore = "a measurement"]
fn the_cost_of_a_review() {
    for count in [20, 10_000] {
        measure("no files", count, |at| format!("echo {at}"), |at| (format!("x{at}"), String::new()));
        let path = |at: usize, end: &str| format!(".gemini/hooks/h{at}.{end}");
        measure(
            "shell, own scripts",
            count,
            |at| format!("sh {}", path(at, "sh")),
            |at| (path(at, "sh"), SHELL.into()),
        );
        measure(
            "shell, one script",
            count,
            |at| format!("sh {} {at}", path(0, "sh")),
            |_| (path(0, "sh"), SHELL.into()),
        );
        let python = |at: usize| (path(at, "py"), PYTHON.into());
        measure("python, own scripts", count, |at| format!("python3 {}", path(at, "py")), python);
        let node = |at: usize| (path(at, "js"), NODE.into());
        measure("node, own scripts", count, |at| format!("node {}", path(at, "js")), node);
        let unsure = |at: usize| (path(at, "py"), format!("import subprocess\n{PYTHON}"));
        measure("python, cannot be told", count, |at| format!("python3 {}", path(at, "py")), unsure);
    }
}
