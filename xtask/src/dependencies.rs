//! Checks that dependencies are what `deny.toml` allows: licences, bans, duplicate versions, sources. cargo-deny checks
//! more, and for other platforms too; this needs cargo only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

/// Lists all dependencies with cargo, and returns an error with all problems.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let policy = read_policy(root)?;
    let (packages, shipped) = (all_packages(root)?, shipped_packages(root)?);
    ensure!(packages.len() > 50 && shipped.len() > 50, "{} packages, {} shipped", packages.len(), shipped.len());
    let mut problems = package_problems(&packages, &policy);
    problems.extend(duplicate_versions(shipped, &policy));
    problems.extend(server_feature_problems(root)?);
    if !problems.is_empty() {
        bail!("dependencies are not what they should be:\n  {}", problems.join("\n  "));
    }
    Ok(())
}

/// Returns the problems of single packages: licence, ban and source.
fn package_problems(packages: &[Value], policy: &toml::Table) -> Vec<String> {
    let banned = package_names(&policy["bans"]["deny"]);
    let mut problems = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let license = package["license"].as_str().unwrap_or("none");
        if !is_license_allowed(license, policy) {
            problems.push(format!("{name} has a licence that deny.toml does not allow: {license}"));
        }
        if banned.iter().any(|ban| ban == name) {
            problems.push(format!("{name} is banned in deny.toml"));
        }
        if let Some(source) = package["source"].as_str().filter(|source| source.starts_with("git+")) {
            problems.push(format!("{name} comes from {source}"));
        }
    }
    problems
}

/// Returns the packages that are shipped in more than one version without an exception in deny.toml.
fn duplicate_versions(shipped: BTreeSet<(String, String)>, policy: &toml::Table) -> Vec<String> {
    let may_be_double = package_names(&policy["bans"]["skip"]);
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in shipped {
        versions.entry(name).or_default().push(version);
    }
    versions.retain(|name, versions| versions.len() > 1 && !may_be_double.contains(name));
    versions.into_iter().map(|(name, versions)| format!("{name} has more than one version: {versions:?}")).collect()
}

/// Returns the features of the MCP library in the program that only test servers need.
fn server_feature_problems(root: &Path) -> anyhow::Result<Vec<String>> {
    let tree = run_cargo(root, &[&SHIPPED_TREE[..], &["--format", "{p} {f}"]].concat())?;
    let rmcp: Vec<&str> = tree.lines().filter(|line| line.starts_with("rmcp v")).collect();
    ensure!(rmcp.iter().any(|line| line.contains("client")), "rmcp is not in the tree as a client: {rmcp:?}");
    let servers = rmcp.into_iter().filter(|line| line.contains("server"));
    Ok(servers.map(|line| format!("the program has more of rmcp than a client: {line}")).collect())
}

fn read_policy(root: &Path) -> anyhow::Result<toml::Table> {
    let text = std::fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    text.parse().context("deny.toml")
}

/// Returns the names in a list of packages of deny.toml.
fn package_names(list: &toml::Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns whether every required part of a licence expression has an allowed alternative.
fn is_license_allowed(license: &str, policy: &toml::Table) -> bool {
    let allowed = policy["licenses"]["allow"].as_array().unwrap();
    let one =
        |choice: &str| allowed.iter().any(|license| license.as_str() == Some(choice.trim_matches([' ', '(', ')'])));
    license.replace('/', " OR ").split(" AND ").all(|part| part.split(" OR ").any(one))
}

/// The arguments of `cargo tree` for the program's dependencies without those of tests.
const SHIPPED_TREE: [&str; 7] = ["tree", "--package", "hookwright", "--edges", "normal,build", "--prefix", "none"];

/// Returns the packages that the program consists of or is built with, each with its version.
fn shipped_packages(root: &Path) -> anyhow::Result<BTreeSet<(String, String)>> {
    let tree = run_cargo(root, &SHIPPED_TREE)?;
    let words = tree.lines().map(|line| line.split(' '));
    Ok(words.filter_map(|mut words| Some((words.next()?.to_owned(), words.next()?.to_owned()))).collect())
}

/// Returns all packages that are built here, for tests too.
fn all_packages(root: &Path) -> anyhow::Result<Vec<Value>> {
    let about = run_cargo(root, &["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("cargo does not name its host")?;
    let metadata = run_cargo(root, &["metadata", "--format-version", "1", "--filter-platform", host])?;
    let mut metadata: Value = serde_json::from_str(&metadata).context("the output of cargo metadata")?;
    serde_json::from_value(metadata["packages"].take()).context("the packages of cargo metadata")
}

fn run_cargo(root: &Path, args: &[&str]) -> anyhow::Result<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let output = cargo.arg("--offline").args(args).current_dir(root).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("the output of cargo")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn license_is_allowed_if_every_part_is() {
        let policy = read_policy(&crate::root()).unwrap();
        for license in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND BSD-3-Clause"] {
            assert!(is_license_allowed(license, &policy), "{license}");
        }
        for license in ["none", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0"] {
            assert!(!is_license_allowed(license, &policy), "{license}");
        }
    }

    #[test]
    fn every_kind_of_problem_is_found() {
        let policy = read_policy(&crate::root()).unwrap();
        let packages = [
            json!({"name": "fine", "license": "MIT"}),
            json!({"name": "copyleft", "license": "GPL-3.0"}),
            json!({"name": "openssl-sys", "license": "MIT"}),
            json!({"name": "fork", "license": "MIT", "source": "git+https://localhost/fork"}),
        ];
        let problems = package_problems(&packages, &policy);
        let expected = ["copyleft has a licence", "openssl-sys is banned", "fork comes from git+"];
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        assert!(problems.iter().zip(expected).all(|(problem, start)| problem.starts_with(start)), "{problems:?}");
        let shipped = [("a", "v1.0.0"), ("b", "v1.0.0"), ("b", "v2.0.0"), ("syn", "v2.0.0"), ("syn", "v3.0.0")];
        let shipped = shipped.map(|(name, version)| (name.to_owned(), version.to_owned())).into();
        assert_eq!(duplicate_versions(shipped, &policy), ["b has more than one version: [\"v1.0.0\", \"v2.0.0\"]"]);
    }
}
