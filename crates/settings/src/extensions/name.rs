//! What an extension may be called. Its name becomes a folder, a part of commands and a word on command lines. Pure.

/// Longer names are nobody's.
const MAX_EXTENSION_NAME_LEN: usize = 100;

/// Words that mean something else where a name of an extension is expected.
const RESERVED_NAMES: [&str; 3] = ["none", "all", "extension-enablement.json"];

/// Names that are devices on some systems, whatever stands behind a dot.
const DEVICE_NAMES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Why this can't be an extension's name, if it can't.
pub fn extension_name_problem(name: &str) -> Option<String> {
    let fine = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    let lower = name.to_ascii_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| rest.len() == 1 && rest.chars().all(|char| char.is_ascii_digit()))
    };
    if name.is_empty() {
        Some("it is empty".to_owned())
    } else if name.len() > MAX_EXTENSION_NAME_LEN {
        Some(format!("it is longer than {MAX_EXTENSION_NAME_LEN} characters"))
    } else if let Some(odd) = name.chars().find(|char| !fine(*char)) {
        Some(format!("{odd:?} is in it"))
    } else if name.starts_with(['.', '-']) || name.ends_with('.') {
        Some("it begins or ends with a dot, or begins with a dash".to_owned())
    } else if RESERVED_NAMES.contains(&lower.as_str()) {
        Some("the word means something else".to_owned())
    } else if DEVICE_NAMES.contains(&stem) || numbered("com") || numbered("lpt") {
        Some("it is a device on some systems".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folders_and_words() {
        for fine in ["a", "my-tool", "My_Tool.2", "console", "nulls", "com", "com10"] {
            assert_eq!(extension_name_problem(fine), None, "{fine}");
        }
        let long = "x".repeat(101);
        let wrong = [
            "",
            ".",
            "..",
            "../x",
            "/etc",
            "a/b",
            "a\\b",
            "a b",
            "a\nb",
            "ä",
            "-x",
            ".x",
            "x.",
            "none",
            "NONE",
            "all",
            "extension-enablement.json",
            "con",
            "NUL.txt",
            "com1",
            "lpt9",
            "$(x)",
            "a'b",
            "a\0",
            &long,
        ];
        for wrong in wrong {
            assert!(extension_name_problem(wrong).is_some(), "{wrong:?}");
        }
    }
}
