//! The tables of `docs/compatibility.md` and `docs/security.md`: every row names tests that hold it, and they do. Not what
//! the tests say: they stand where the behaviour is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A program with tests, as cargo builds it.
struct Program {
    file: PathBuf,
    /// Where its tests expect to run.
    folder: PathBuf,
    /// The tests that are not ignored, with their modules.
    tests: BTreeSet<String>,
}

#[test]
fn every_difference_names_tests_that_pass() {
    let programs = programs();
    let wanted = wanted(&rows("compatibility.md", "pinned by"), &programs);
    std::thread::scope(|scope| {
        for (at, tests) in &wanted {
            scope.spawn(|| programs[*at].run(tests));
        }
    });
}

/// They run with all others; here it counts that none is missing or left out.
#[test]
fn every_attack_names_tests_that_there_are() {
    wanted(&rows("security.md", "test"), &programs());
}

/// The tests that rows name, by the program that they are in.
fn wanted(rows: &[Row], programs: &[Program]) -> BTreeMap<usize, BTreeSet<String>> {
    let mut wanted: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for Row { text, tests } in rows {
        assert!(!tests.is_empty(), "no test is named: {text}");
        for name in tests {
            let is_it = |test: &&String| test.rsplit("::").next() == Some(name);
            let found: Vec<_> = (programs.iter().enumerate())
                .flat_map(|(at, program)| program.tests.iter().filter(is_it).map(move |test| (at, test)))
                .collect();
            assert!(!found.is_empty(), "there is no test {name}, or it is ignored: {text}");
            for (at, test) in found {
                wanted.entry(at).or_default().insert(test.clone());
            }
        }
    }
    wanted
}

/// A row of a table, and the tests that it names.
struct Row {
    text: String,
    tests: Vec<String>,
}

/// The rows of a page's tables whose last column has this head.
fn rows(page: &str, last: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
    let mut columns = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match columns {
            _ if !line.starts_with('|') => columns = None,
            None => columns = Some((cells.len(), cells.last() == Some(&last))),
            Some((count, true)) if line.starts_with("| ") => {
                assert_eq!(cells.len(), count, "{line}");
                let tests = cells[count - 1].split('`').skip(1).step_by(2).map(str::to_owned).collect();
                rows.push(Row { text: line.to_owned(), tests });
            }
            Some(_) => {}
        }
    }
    assert!(rows.len() > 20, "only {} rows were found in {page}", rows.len());
    rows
}

/// All test programs of the workspace. They are built already where the whole workspace is tested.
fn programs() -> Vec<Program> {
    let mut cargo = cargo();
    cargo.args(["test", "--workspace", "--no-run", "--offline", "--message-format=json"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = built.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    messages.filter_map(|message: Value| Program::read(&message)).collect()
}

/// cargo, at the workspace's root.
pub(super) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root());
    // What cargo tells a test of its package would make build scripts run again, and these programs with them.
    let about_package =
        |name: &String| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "OUT_DIR";
    for (name, _) in std::env::vars_os() {
        if name.to_str().map(str::to_owned).as_ref().is_some_and(about_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

impl Program {
    fn read(message: &Value) -> Option<Program> {
        let file = message["profile"]["test"].as_bool()?.then(|| message["executable"].as_str())??;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let list = |which: &[&str]| -> BTreeSet<String> {
            let output = Command::new(file).args(["--list", "--format", "terse"]).args(which).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
        };
        let tests = &list(&[]) - &list(&["--ignored"]);
        Some(Program { file: file.into(), folder, tests })
    }

    fn run(&self, tests: &BTreeSet<String>) {
        let mut command = Command::new(&self.file);
        let run = command.arg("--exact").args(tests).current_dir(&self.folder).output().unwrap();
        let (said, trouble) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let passed = format!("test result: ok. {} passed; 0 failed; 0 ignored", tests.len());
        assert!(run.status.success() && said.contains(&passed), "{said}\n{trouble}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
