//! Compiles the program files under `programs/` into the table that the crate embeds.

#[path = "build/compiler.rs"]
#[allow(unreachable_pub, reason = "shared with an example")]
mod compiler;
#[path = "src/programs/spec.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the crate")]
mod spec;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

type Failure = Box<dyn std::error::Error>;

#[allow(clippy::disallowed_methods, reason = "the files are part of the source")]
fn main() -> Result<(), Failure> {
    println!("cargo::rerun-if-changed=programs");
    println!("cargo::rerun-if-changed=build/compiler.rs");
    println!("cargo::rerun-if-changed=src/programs/spec.rs");
    let mut files = Vec::new();
    for entry in fs::read_dir("programs")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    files.sort();
    let compiled = compiler::compile(&files).map_err(|errors| errors.join("\n"))?;
    let mut blob = Vec::new();
    let mut index: Vec<(String, usize, usize)> = Vec::new();
    for program in &compiled.programs {
        let start = blob.len();
        let mut nameless = program.clone();
        nameless.names.clear();
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(serde_json::to_string(&nameless)?.as_bytes())?;
        blob.extend(packed.finish()?);
        index.extend(program.names.iter().map(|name| (name.clone(), start, blob.len())));
    }
    index.sort();
    let mut code = String::from("static INDEX: &[(&str, u32, u32)] = &[\n");
    for (name, start, end) in &index {
        writeln!(code, "    ({name:?}, {start}, {end}),")?;
    }
    code.push_str("];\n");
    let services: Vec<String> = compiled
        .services
        .iter()
        .map(|one| {
            format!(
                "    ServiceInfo {{ name: {:?}, about: {:?}, peer: {:?} }},\n",
                one.name,
                one.about,
                one.peer.as_deref()
            )
        })
        .collect();
    writeln!(code, "static SERVICES: &[ServiceInfo] = &[\n{}];", services.concat())?;
    code.push_str("static RUNNERS: &[(&str, &[&str])] = &[\n");
    for (name, files) in &compiled.runners {
        writeln!(code, "    ({name:?}, &{files:?}),")?;
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("programs.bin"), blob)?;
    fs::write(out.join("index.rs"), code)?;
    Ok(())
}
