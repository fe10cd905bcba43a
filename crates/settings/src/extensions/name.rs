//! Checks names of extensions, which become folders, prefixes of commands and words on command lines.

/// Longest name of an extension, in bytes.
const MAX_EXTENSION_NAME_LEN: usize = 100;

/// Words that have another meaning where an extension's name is expected.
const RESERVED_NAMES: [&str; 3] = ["none", "all", "extension-enablement.json"];

/// Names of devices on some systems, with any file extension.
const DEVICE_NAMES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Returns why a text can't be an extension's name, or `None` if it can.
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
        Some(format!("it contains {odd:?}"))
    } else if name.starts_with(['.', '-']) || name.ends_with('.') {
        Some("it begins or ends with a dot, or begins with a dash".to_owned())
    } else if RESERVED_NAMES.contains(&lower.as_str()) {
        Some("it is a reserved word".to_owned())
    } else if DEVICE_NAMES.contains(&stem) || numbered("com") || numbered("lpt") {
        Some("some systems use it as the name of a device".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_be_valid_folder_names() {
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
