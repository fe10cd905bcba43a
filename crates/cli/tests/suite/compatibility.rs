//! `docs/compatibility.md`: every row names tests that are there.

use std::path::{Path, PathBuf};

#[test]
fn every_row_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/compatibility.md")).unwrap();
    let sources: String =
        sources(&root.join("crates")).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 5, "{row}");
        let names: Vec<&str> = cells[4].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            assert!(sources.contains(&format!("fn {name}(")), "there is no test {name}: {row}");
        }
        count += 1;
    }
    assert!(count > 30, "only {count} rows were found");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => vec![path],
            _ if path.is_dir() => sources(&path),
            _ => Vec::new(),
        })
        .collect()
}
