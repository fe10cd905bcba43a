//! Sees to it that a release on Linux starts quickly, and tells a release which commit it is made of. Other builds are as
//! everybody's are: each commit would mean building the program anew.
//!
//! Another agent starts this program for each of its tool calls, and half of that time would be the loader's. What it saves is
//! in `docs/benchmarks.md`.

#![expect(clippy::disallowed_methods, reason = "a build waits for its compiler as long as that takes")]

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
        put_together_what_is_used_together();
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

/// What a turn runs lies in one place of the file and not all over it, so that a quarter of the code is read and not two thirds:
/// `first.ld` lists it. Linkers that do not understand that, and there are some, are not bothered with it.
fn put_together_what_is_used_together() {
    println!("cargo::rerun-if-changed=first.ld");
    let (Ok(package), Some(out)) = (std::env::var("CARGO_MANIFEST_DIR"), std::env::var_os("OUT_DIR")) else { return };
    let link_arg = format!("-Wl,-T,{package}/first.ld");
    // It is no path that can be written there.
    if std::env::var_os("HOST") != std::env::var_os("TARGET") || package.contains(',') {
        return;
    }
    if links(Path::new(&out), &link_arg) {
        println!("cargo::rustc-link-arg-bins={link_arg}");
    }
}

/// Whether the smallest program can be linked with an argument, the way this one will be, and then runs.
fn links(out: &Path, argument: &str) -> bool {
    let (source, program) = (out.join("trial.rs"), out.join("trial"));
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(["-C", "link-arg=-no-pie", "-C"])
        .arg(format!("link-arg={argument}"));
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        let mut named = std::ffi::OsString::from("linker=");
        named.push(linker);
        rustc.arg("-C").arg(named);
    }
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    let done = |mut command: Command| command.output().is_ok_and(|output| output.status.success());
    done(rustc) && done(Command::new(program))
}

/// The first line of what a program says; nothing where there is none, or it fails.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}
