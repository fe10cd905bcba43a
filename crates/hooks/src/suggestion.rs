//! What somebody most likely meant by a name that there is not.

/// The candidate that a typo most likely meant.
pub fn nearest_name<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// A name nobody types by hand has no typos, and comparing long texts takes long.
    const MAX_NAME_BYTES: usize = 200;
    if text.len() > MAX_NAME_BYTES {
        return None;
    }
    let text = text.to_lowercase();
    let length = text.chars().count();
    // A letter more or less is a slip too, and lengths are compared much sooner than letters.
    let near = |candidate: &&str| {
        candidate.len() <= MAX_NAME_BYTES && candidate.chars().count().abs_diff(length) <= max_typos(candidate)
    };
    let scored = candidates
        .filter(near)
        .map(|candidate| (strsim::damerau_levenshtein(&text, &candidate.to_lowercase()), candidate));
    scored.filter(|(distance, candidate)| *distance <= max_typos(candidate)).min().map(|(_, candidate)| candidate)
}

/// The most slips that a name is still known by.
fn max_typos(name: &str) -> usize {
    name.len() / 3
}

/// Whether one name is another with so many slips at most: a letter more, a letter less, another one, or two that are swapped.
pub fn is_within_typos(name: &str, known: &str, most: usize) -> bool {
    if name.chars().count().abs_diff(known.chars().count()) > most {
        return false;
    }
    if most != 1 {
        return strsim::damerau_levenshtein(name, known) <= most;
    }
    // What is left between what both begin and end with, in a hundredth of the time.
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

/// ``did you mean `x`?``, or other words if nothing is near.
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
