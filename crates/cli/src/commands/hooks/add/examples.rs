//! The shipped examples, each with its settings, its script and its tests, as they are under `examples/hooks`. A test
//! compares this table with that folder.

/// An example hook and its files.
pub(crate) struct ExampleHook {
    pub(crate) name: &'static str,
    /// The settings that declare the hook.
    pub(crate) settings: &'static str,
    /// The other files, by their paths within the example's folder.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal: $($file:literal),*) => {
        ExampleHook {
            name: $name,
            settings: include_str!(concat!("../../../../../../examples/hooks/", $name, "/settings.json")),
            files: &[$(($file, include_str!(concat!("../../../../../../examples/hooks/", $name, "/", $file)))),*],
        }
    };
}

pub(crate) const EXAMPLES: &[ExampleHook] = &[
    example!("audit-log": "audit-log.hooktest.toml", "audit-log.mjs"),
    example!("dangerous-commands": "dangerous-commands.hooktest.toml", "dangerous-commands.py"),
    example!("format-after-edit": "format-after-edit.hooktest.toml", "format-after-edit.sh", "testing/prettier"),
    example!("git-context": "git-context.hooktest.toml", "git-context.sh", "outside-a-repository.hooktest.toml"),
    example!("model-router": "model-router.hooktest.toml", "model-router.mjs"),
    example!("notifier": "notifier.hooktest.toml", "notifier.sh"),
    example!("pii-redactor": "pii-redactor.hooktest.toml", "pii-redactor.py"),
    example!("protected-paths": "protected-paths.hooktest.toml", "protected-paths.py"),
    example!("response-checker": "response-checker.hooktest.toml", "response-checker.py"),
    example!("rule-agents-settings": "rule-agents-settings.hooktest.toml"),
    example!("rule-forbidden-commands": "rule-forbidden-commands.hooktest.toml"),
    example!("rule-no-force-push": "rule-no-force-push.hooktest.toml"),
    example!("rule-no-interactive-interpreters": "rule-no-interactive-interpreters.hooktest.toml"),
    example!("rule-protected-paths": "rule-protected-paths.hooktest.toml"),
    example!("safe-delete": "safe-delete.hooktest.toml", "safe-delete.py"),
    example!("secret-scanner": "secret-scanner.hooktest.toml", "secret-scanner.sh"),
    example!("tool-filter": "tool-filter.hooktest.toml", "tool-filter.mjs"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn files(folder: &Path, into: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, into);
            } else {
                into.insert(path);
            }
        }
    }

    #[test]
    fn every_example_is_shipped_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks");
        let mut on_disk = BTreeSet::new();
        files(&root, &mut on_disk);
        on_disk.remove(&root.join("README.md"));
        let named = EXAMPLES.iter().flat_map(|example| {
            let folder = root.join(example.name);
            let files: Vec<PathBuf> = example.files.iter().map(|(name, _)| folder.join(name)).collect();
            files.into_iter().chain([folder.join("settings.json")])
        });
        assert_eq!(named.collect::<BTreeSet<_>>(), on_disk);
    }
}
