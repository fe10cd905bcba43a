//! The examples of the program files: every command gives the effects that its file says.

mod common;

use hookwright_analysis::programs::Programs;
use toml::{Table, Value};

#[test]
#[allow(clippy::disallowed_methods, reason = "the files are part of the source")]
fn every_example_of_a_program_file_gives_what_it_says() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let table: Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let examples = table.get("example").and_then(Value::as_array).cloned().unwrap_or_default();
        assert!(!examples.is_empty(), "{} has no example", path.display());
        for example in examples {
            count += 1;
            let result = common::check_example(example.as_table().unwrap(), &Programs::BUILT_IN);
            wrong.extend(result.err().map(|difference| format!("{}: {difference}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_example_that_says_something_else_is_told() {
    let example: Table = "run = 'cat a'\nwrites = ['a']".parse().unwrap();
    let difference = common::check_example(&example, &Programs::BUILT_IN).unwrap_err();
    assert!(difference.contains("reads") && difference.contains("writes"), "{difference}");
}
