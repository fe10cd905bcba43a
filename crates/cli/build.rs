//! Sees to it that a release on Linux starts quickly: another agent starts this program for each of its tool calls, and half
//! of that time would be the loader's. Other builds are as everybody's are. What it saves is in `docs/benchmarks.md`.

use std::path::Path;
use std::process::Command;

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        link_for_a_quick_start();
    }
}

/// At a fixed address, so that the loader has none of some 50,000 addresses to write (heap, stack and libraries stay where
/// nobody knows), and with the unwinder inside, which would be a library of its own.
fn link_for_a_quick_start() {
    println!("cargo::rustc-link-arg-bins=-no-pie");
    if std::env::var_os("HOST") != std::env::var_os("TARGET") {
        return;
    }
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let Some(library) = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok()) else { return };
    if let Some(folder) = Path::new(library.trim()).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}
