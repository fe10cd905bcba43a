//! What somebody most likely meant by a name that there is not.

/// The candidate that a typo most likely meant.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// A name nobody types by hand has no typos, and comparing long texts takes long.
    const LONGEST: usize = 200;
    let text = text.to_lowercase();
    let short = |candidate: &&str| candidate.len() <= LONGEST && text.len() <= LONGEST;
    let scored = candidates
        .filter(short)
        .map(|candidate| (strsim::damerau_levenshtein(&text, &candidate.to_lowercase()), candidate));
    scored.filter(|(distance, candidate)| *distance <= candidate.len() / 3).min().map(|(_, candidate)| candidate)
}

/// ``did you mean `x`?``, or other words if nothing is near.
pub fn did_you_mean<'a>(text: &str, candidates: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(text, candidates).map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let known = ["secret-scanner", "Audit", "g"];
        let near = |text: &str| nearest(text, known.into_iter());
        assert_eq!(near("secret-scaner"), Some("secret-scanner"));
        assert_eq!((near("audti"), near("audit"), near("aduti")), (Some("Audit"), Some("Audit"), None));
        assert_eq!((near("x"), near("g")), (None, Some("g")));
        assert_eq!(near(&"a".repeat(10_000)), None);
        assert_eq!(did_you_mean("auditt", known.into_iter(), "no"), "did you mean `Audit`?");
        assert_eq!(did_you_mean("zzz", known.into_iter(), "`x list` shows them"), "`x list` shows them");
    }
}
