//! Sees to it that a release on Linux starts quickly, and tells a release which commit it is made of. Other builds are as
//! everybody's are: each commit would mean building the program anew.
//!
//! Another agent starts this program for each of its tool calls, and half of that time would be the loader's. What it saves is
//! in `docs/benchmarks.md`.

use std::path::Path;
use std::process::Command;

fn main() {
    // Else any file of the package would do, those that its tests write among them.
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    if !is("PROFILE", "release") {
        return;
    }
    tell_the_commit();
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        link_for_a_quick_start();
    }
}

/// From whoever builds, else from git; nothing where there is neither.
fn tell_the_commit() {
    println!("cargo::rerun-if-env-changed=HOOKWRIGHT_COMMIT");
    if std::env::var_os("HOOKWRIGHT_COMMIT").is_some() {
        return;
    }
    let Some(commit) = first_line("git", &["rev-parse", "--short=9", "HEAD"]) else { return };
    println!("cargo::rustc-env=HOOKWRIGHT_COMMIT={commit}");
    // What says that there is another commit.
    for name in ["HEAD", "logs/HEAD"] {
        let file = first_line("git", &["rev-parse", "--git-path", name]);
        if let Some(file) = file.filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

/// At a fixed address, so that the loader has none of some 50,000 addresses to write (heap, stack and libraries stay where
/// nobody knows), and with the unwinder inside, which would be a library of its own.
fn link_for_a_quick_start() {
    println!("cargo::rustc-link-arg-bins=-no-pie");
    if std::env::var_os("HOST") != std::env::var_os("TARGET") {
        return;
    }
    let Some(library) = first_line("cc", &["-print-file-name=libgcc_eh.a"]) else { return };
    if let Some(folder) = Path::new(library.trim()).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}

/// The first line of what a program says; nothing where there is none, or it fails.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}
