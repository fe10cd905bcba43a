//! Suggests the name that a misspelt name most likely means.

/// The candidate that a misspelt name most likely means, if one is near enough.
///
/// ```
/// use hookwright_hooks::nearest_name;
///
/// assert_eq!(nearest_name("BeforTool", ["BeforeTool", "AfterTool"].into_iter()), Some("BeforeTool"));
/// assert_eq!(nearest_name("Stop", ["BeforeTool", "AfterTool"].into_iter()), None);
/// ```
pub fn nearest_name<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// The maximum length of a name: longer texts are not typed by hand, and comparing them takes long.
    const MAX_NAME_BYTES: usize = 200;
    if text.len() > MAX_NAME_BYTES {
        return None;
    }
    let text = text.to_lowercase();
    let length = text.chars().count();
    // Lengths are compared first, which is much quicker than the edit distance.
    let near = |candidate: &&str| {
        candidate.len() <= MAX_NAME_BYTES && candidate.chars().count().abs_diff(length) <= max_typos(candidate)
    };
    let scored = candidates
        .filter(near)
        .map(|candidate| (strsim::damerau_levenshtein(&text, &candidate.to_lowercase()), candidate));
    scored.filter(|(distance, candidate)| *distance <= max_typos(candidate)).min().map(|(_, candidate)| candidate)
}

/// The maximum number of typos with which a name is still recognised.
fn max_typos(name: &str) -> usize {
    name.len() / 3
}

/// Whether a name differs from another by at most this many typos: an added, missing or different character, or two
/// swapped ones.
pub fn is_within_typos(name: &str, known: &str, most: usize) -> bool {
    if name.chars().count().abs_diff(known.chars().count()) > most {
        return false;
    }
    if most != 1 {
        return strsim::damerau_levenshtein(name, known) <= most;
    }
    // Comparing only what is left after the common prefix and suffix takes a hundredth of the time.
    let same = |(one, other): &(char, char)| one == other;
    let begun: usize = name.chars().zip(known.chars()).take_while(same).map(|(char, _)| char.len_utf8()).sum();
    let (name, known) = (&name[begun..], &known[begun..]);
    let backwards = name.chars().rev().zip(known.chars().rev());
    let ended: usize = backwards.take_while(same).map(|(char, _)| char.len_utf8()).sum();
    let rest = |text: &str| text[..text.len() - ended].chars().collect::<Vec<_>>();
    match (&rest(name)[..], &rest(known)[..]) {
        ([], _) | (_, []) => true,
        ([a, b], [c, d]) => (a, b) == (d, c),
        (one, other) => one.len() == 1 && other.len() == 1,
    }
}

/// ``did you mean `x`?``, or another text if no candidate is near.
pub fn did_you_mean<'a>(text: &str, candidates: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    nearest_name(text, candidates).map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_within_typos_agrees_with_edit_distance(one in "[abé]{0,7}", other in "[abé]{0,7}", most in 0_usize..4) {
            prop_assert_eq!(is_within_typos(&one, &other, most), strsim::damerau_levenshtein(&one, &other) <= most);
        }
    }

    #[test]
    fn a_typo_is_suggested_and_an_unrelated_name_is_not() {
        let known = ["secret-scanner", "Audit", "g"];
        let near = |text: &str| nearest_name(text, known.into_iter());
        assert_eq!(near("secret-scaner"), Some("secret-scanner"));
        assert_eq!((near("audti"), near("audit"), near("aduti")), (Some("Audit"), Some("Audit"), None));
        assert_eq!((near("x"), near("g")), (None, Some("g")));
        assert_eq!(near(&"a".repeat(10_000)), None);
        assert_eq!(did_you_mean("auditt", known.into_iter(), "no"), "did you mean `Audit`?");
        assert_eq!(did_you_mean("zzz", known.into_iter(), "`x list` shows them"), "`x list` shows them");
    }
}
