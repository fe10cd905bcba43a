//! The tables of `docs/compatibility.md` and `docs/security/attacks.md`: every row names tests that hold it, and they exist
//! and are not ignored. They run with all others, where the behaviour is; nothing is run or built here: the sources say
//! which tests exist.

use hookwright_testkit::fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn every_difference_names_tests_that_exist() {
    check_rows(&rows("compatibility.md", "pinned by"));
}

#[test]
fn every_attack_names_tests_that_exist() {
    check_rows(&rows("security/attacks.md", "test"));
}

fn check_rows(rows: &[CompatibilityRow]) {
    let existing = workspace_tests();
    assert!(existing.len() > 1000, "only {} tests were found", existing.len());
    for CompatibilityRow { text, tests } in rows {
        assert!(!tests.is_empty(), "no test is named: {text}");
        for name in tests {
            assert!(existing.contains(name), "there is no test {name}, or it is ignored: {text}");
        }
    }
}

/// A row of a table, and the tests that it names.
struct CompatibilityRow {
    text: String,
    tests: Vec<String>,
}

/// Returns the rows of a page's tables whose last column has this heading.
fn rows(page: &str, last: &str) -> Vec<CompatibilityRow> {
    let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
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
                rows.push(CompatibilityRow { text: line.to_owned(), tests });
            }
            Some(_) => {}
        }
    }
    assert!(rows.len() > 20, "only {} rows were found in {page}", rows.len());
    rows
}

/// Returns the names of all tests of the workspace that are not ignored.
fn workspace_tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for file in target_roots() {
        collect_tests(&file, true, &mut tests);
    }
    tests
}

/// Returns the root files of targets with tests: libraries, programs, and test programs.
fn target_roots() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for package in list(&root().join("crates")).into_iter().chain([root().join("conformance"), root().join("xtask")]) {
        files.extend(["src/lib.rs", "src/main.rs"].map(|file| package.join(file)));
        for entry in list(&package.join("tests")) {
            files.push(if entry.is_dir() { entry.join("main.rs") } else { entry });
        }
    }
    files.retain(|file| file.is_file());
    files
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Adds the tests of a file and of the modules that it declares in other files.
fn collect_tests(file: &Path, is_target_root: bool, tests: &mut BTreeSet<String>) {
    let text = fs::read_to_string(file).unwrap();
    tests.extend(active_tests(&text));
    let owns_folder = is_target_root || file.ends_with("mod.rs");
    let (beside, folder) = (file.parent().unwrap(), file.with_extension(""));
    let folder = if owns_folder { beside } else { &folder };
    for module in declared_modules(&text) {
        let places = match module {
            DeclaredModule::Named(names) => {
                vec![folder.join(names.with_extension("rs")), folder.join(names).join("mod.rs")]
            }
            DeclaredModule::At(path) => vec![beside.join(path)],
        };
        let found = places.iter().find(|place| place.is_file());
        let found = found.unwrap_or_else(|| panic!("{}: no file for {places:?}", file.display()));
        collect_tests(found, false, tests);
    }
}

/// A module in another file: found by its name, below those of the modules around it, or by its path.
#[derive(Debug, PartialEq)]
enum DeclaredModule<'t> {
    Named(PathBuf),
    At(&'t str),
}

fn declared_modules(text: &str) -> Vec<DeclaredModule<'_>> {
    let mut path = None;
    // The inline modules around a line, each with its indentation.
    let mut around: Vec<(usize, &str)> = Vec::new();
    let mut modules = Vec::new();
    for whole_line in text.lines() {
        let line = whole_line.trim();
        let indentation = whole_line.len() - whole_line.trim_start().len();
        if let Some(given) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            path = Some(given);
        } else if let Some(name) = line.strip_suffix(" {").and_then(module_name) {
            around.push((indentation, name));
        } else if line == "}" {
            around.pop_if(|(outer, _)| *outer == indentation);
        } else if let Some(name) = line.strip_suffix(';').and_then(module_name) {
            let names = around.iter().map(|(_, outer)| *outer).chain([name]).collect();
            modules.push(path.take().map_or(DeclaredModule::Named(names), DeclaredModule::At));
        }
    }
    modules
}

/// Parses `mod x`, `pub mod x` and `pub(crate) mod x` into `x`.
fn module_name(declaration: &str) -> Option<&str> {
    let (visibility, name) = declaration.split_once("mod ").filter(|(_, name)| is_name(name))?;
    (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
}

/// Returns the functions with the attribute `test` and without `ignore`.
fn active_tests(text: &str) -> Vec<String> {
    let mut attributes = Vec::new();
    let mut tests = Vec::new();
    for line in code_lines(text) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        let signature = line.strip_prefix("async ").unwrap_or(line);
        let name = signature.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
        let has = |starts: &[&str]| attributes.iter().any(|line| starts.iter().any(|start| line.starts_with(start)));
        if let Some(name) = name
            && has(&["#[test]", "#[tokio::test]", "#[tokio::test("])
            && !has(&["#[ignore", "#[cfg_attr"])
        {
            tests.push(name.to_owned());
        }
        attributes.clear();
    }
    tests
}

/// Returns the lines without indentation, blank lines and comment lines.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

fn is_name(text: &str) -> bool {
    text.chars().all(|char| char.is_alphanumeric() || char == '_')
}

#[test]
fn only_active_tests_of_declared_modules_count() {
    let text = "mod named;\nmod outer {\n    pub mod inner;\n}\n#[path = \"a/b.rs\"]\npub(super) mod elsewhere;\nmod inline {\n// mod comment;\n\
        #[test]\n/// Words.\n#[cfg(unix)]\nfn sync() {}\n#[tokio::test(flavor = \"x\")]\nasync fn later() {}\n\
        #[test]\n#[ignore = \"slow\"]\nfn ignored() {}\n#[cfg_attr(windows, ignore)]\n#[test]\nfn at_times() {}\n\
        #[test]\nstatic X: u8 = 0;\nfn helper() {}\n// #[test]\nfn comment() {}\n}\n";
    assert_eq!(active_tests(text), ["sync", "later"]);
    let expected = [
        DeclaredModule::Named("named".into()),
        DeclaredModule::Named("outer/inner".into()),
        DeclaredModule::At("a/b.rs"),
    ];
    assert_eq!(declared_modules(text), expected);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
