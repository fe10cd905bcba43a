//! Every property, checked with the stored inputs of the fuzzer (`fuzz/seeds`), small mutations of them, and deeply
//! nested inputs. Runs with a stable compiler; new inputs are for the fuzzer to find.

mod depth;
mod mutate;

use std::path::{Path, PathBuf};

use hookwright_properties::{PROPERTIES, Property};
use hookwright_testkit::fs;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the seeds of a target, in a stable order.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(fuzz_folder().join("seeds").join(target)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn property(target: &str) -> Property {
    PROPERTIES.iter().find(|(name, _)| *name == target).unwrap().1
}

/// Checks all seeds: every input that once failed, and starting points for mutation.
fn check_seeds(target: &str) {
    for (file, bytes) in seeds(target) {
        check_named_input(&file.display().to_string(), &bytes, property(target));
    }
}

/// Checks mutations of the seeds: the same ones every time, unless `PROPERTY_SEED` and `PROPERTY_ROUNDS` are set.
fn check_mutations(target: &str, rounds: usize) {
    let number =
        |name: &str, default: usize| std::env::var(name).ok().map_or(default, |value| value.parse().expect("a number"));
    let (rounds, seed) = (number("PROPERTY_ROUNDS", rounds), number("PROPERTY_SEED", 1));
    let seeds: Vec<Vec<u8>> = seeds(target).into_iter().map(|(_, bytes)| bytes).collect();
    let mut mutator = mutate::Mutator::new(seed as u64, &seeds);
    for _ in 0..rounds {
        let bytes = mutator.next_input();
        check_named_input("a change", &bytes, property(target));
    }
}

/// Checks an input, and names it if a property does not hold.
fn check_named_input(name: &str, bytes: &[u8], property: Property) {
    if let Err(panic) = std::panic::catch_unwind(|| property(bytes)) {
        let kept = std::env::temp_dir().join(format!("property-{}", std::process::id()));
        std::fs::write(&kept, bytes).unwrap();
        let text = String::from_utf8_lossy(bytes);
        let shown: String = text.chars().take(2000).collect();
        panic!("{name} (kept as {}): {}\n{shown:?}", kept.display(), panic_text(&*panic));
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

macro_rules! targets {
    ($($target:ident: $rounds:literal,)*) => {
        $(mod $target {
            #[test]
            fn holds_for_every_seed() {
                super::check_seeds(stringify!($target));
            }

            #[test]
            fn holds_for_small_changes() {
                super::check_mutations(stringify!($target), $rounds);
            }
        })*

        const TESTED_TARGETS: &[&str] = &[$(stringify!($target)),*];
    };
}

// As many rounds as take a second or two without optimisation.
targets! {
    settings: 3000,
    answer: 600,
    shell: 6000,
    effects: 3000,
    words: 10_000,
    sse: 4000,
    chunks: 10_000,
    replay: 10_000,
    policy: 800,
    template: 6000,
    transcript: 120,
}

/// The fuzzer, the properties and these tests have the same targets.
#[test]
fn every_target_is_fuzzed_and_tested() {
    let manifest: toml::Table = fs::read_to_string(fuzz_folder().join("Cargo.toml")).unwrap().parse().unwrap();
    let targets: Vec<&str> =
        manifest["bin"].as_array().unwrap().iter().map(|target| target["name"].as_str().unwrap()).collect();
    let properties: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(targets, properties);
    assert_eq!(TESTED_TARGETS, properties);
    let readme = fs::read_to_string(fuzz_folder().join("README.md")).unwrap();
    for target in targets {
        assert!(readme.contains(&format!("| `{target}` |")), "fuzz/README.md does not know {target}");
        let code = fs::read_to_string(fuzz_folder().join(format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(code.contains(&format!("hookwright_properties::{target}(input)")), "{target} is something else");
        let size: usize = seeds(target).iter().map(|(_, bytes)| bytes.len()).sum();
        assert!((1..200 * 1024).contains(&size) && seeds(target).len() <= 150, "the seeds of {target}");
    }
}
