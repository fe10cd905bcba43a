//! Dependencies are what `deny.toml` allows: licences, bans, doubles, sources. cargo-deny knows more, and other platforms;
//! this needs nothing but cargo, and so always runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn dependencies_are_what_deny_toml_allows() {
    let policy = policy();
    let names = |list: &toml::Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|ban| ban["name"].as_str().unwrap().to_owned()).collect()
    };
    let (banned, may_be_double) = (names(&policy["bans"]["deny"]), names(&policy["bans"]["skip"]));
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (packages, shipped) = (packages(), shipped());
    assert!(packages.len() > 50 && shipped.len() > 50, "{} packages, {} shipped", packages.len(), shipped.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let license = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(license, &policy), "{name} has a licence that deny.toml does not allow: {license}");
        assert!(!banned.iter().any(|ban| ban == name), "{name} is banned in deny.toml");
        let source = package["source"].as_str();
        assert!(source.is_none_or(|source| !source.starts_with("git+")), "{name} comes from {source:?}");
    }
    for (name, version) in shipped {
        versions.entry(name).or_default().push(version);
    }
    versions.retain(|name, versions| versions.len() > 1 && !may_be_double.contains(name));
    assert!(versions.is_empty(), "more than one version: {versions:?}");
}

/// What tests serve with is no part of the program.
#[test]
fn the_program_has_no_more_of_the_sdk_than_a_client() {
    let features = ["tree", "--package", "hookwright", "--edges", "normal,build", "--prefix", "none", "-f", "{p} {f}"];
    let tree = cargo(&features);
    let sdk: Vec<&str> = tree.lines().filter(|line| line.starts_with("rmcp v")).collect();
    assert!(!sdk.is_empty() && sdk.iter().all(|line| line.contains("client") && !line.contains("server")), "{sdk:?}");
}

#[test]
fn a_licence_is_allowed_if_all_of_it_is() {
    let policy = policy();
    for license in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND BSD-3-Clause"] {
        assert!(is_allowed(license, &policy), "{license}");
    }
    for license in ["none", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0"] {
        assert!(!is_allowed(license, &policy), "{license}");
    }
}

fn policy() -> toml::Table {
    std::fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

/// Every part that is demanded has an allowed choice.
fn is_allowed(license: &str, policy: &toml::Table) -> bool {
    let allowed = policy["licenses"]["allow"].as_array().unwrap();
    let one =
        |choice: &str| allowed.iter().any(|license| license.as_str() == Some(choice.trim_matches([' ', '(', ')'])));
    license.replace('/', " OR ").split(" AND ").all(|part| part.split(" OR ").any(one))
}

/// What the program is made of and built with, without what is there for tests only: names, each with its version.
fn shipped() -> BTreeSet<(String, String)> {
    let tree = cargo(&["tree", "--package", "hookwright", "--edges", "normal,build", "--prefix", "none"]);
    let words = tree.lines().map(|line| line.split(' '));
    words.filter_map(|mut words| Some((words.next()?.to_owned(), words.next()?.to_owned()))).collect()
}

/// Everything that is built here, for tests too.
fn packages() -> Vec<Value> {
    let about = cargo(&["-vV"]);
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = cargo(&["metadata", "--format-version", "1", "--filter-platform", host]);
    let mut metadata: Value = serde_json::from_str(&metadata).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

fn cargo(args: &[&str]) -> String {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let output = cargo.arg("--offline").args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
