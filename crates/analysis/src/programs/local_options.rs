//! Options that a wildcard of a program file must not stand for.

/// Whether the name of an option that no file lists says that its value is a file, an address or a program of this machine.
///
/// Of clients whose values are text unless they begin like an address (`file://`), only names that end so count.
pub(super) fn names_local(option: &str, values_are_text: bool) -> bool {
    const FILES: &str = "file files filename filenames filepath dir dirs directory directories folder folders kubeconfig browser editor pager";
    const OTHERS: &str = "path paths output out input config configuration template script scripts manifest manifests endpoint \
        proxy exec plugin open web save download upload destination dest src cert certificate";
    // Behind these words it is something else that has such a name: `--file-system-id`, `--output-format`.
    const NAMES_OF_OTHERS: &str = "id ids system type version format prefix only arn";
    let holds = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let mut words: Vec<String> = vec![String::new()];
    for char in option.chars() {
        if !char.is_alphanumeric() || char.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_alphanumeric()) {
            word.push(char.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).map(String::as_str);
        let is_file = FILES.split(' ').any(|file| word.ends_with(file)) && !word.ends_with("profile");
        match values_are_text {
            true => is_file && next.is_none(),
            false => (is_file || holds(OTHERS, word)) && next.is_none_or(|next| !holds(NAMES_OF_OTHERS, next)),
        }
    })
}
