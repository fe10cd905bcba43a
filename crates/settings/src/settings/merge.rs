//! Merges one layer's settings over another's.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::setting_table::{MergeRule, merge_rule_of};

/// Merges a higher layer into a lower one.
pub fn overlay(lower: &mut Map<String, Value>, higher: Map<String, Value>) {
    merge_maps(lower, higher, "");
}

fn merge_maps(lower: &mut Map<String, Value>, higher: Map<String, Value>, prefix: &str) {
    for (name, value) in higher {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match lower.get_mut(&name) {
            Some(old) => merge_value(merge_rule_of(&key), old, value, &key),
            None => {
                lower.insert(name, value);
            }
        }
    }
}

fn merge_value(how: MergeRule, old: &mut Value, new: Value, key: &str) {
    match (how, old, new) {
        (MergeRule::Highest, Value::Object(old), Value::Object(new)) => merge_maps(old, new, key),
        (MergeRule::Entries, Value::Object(old), Value::Object(new)) => old.extend(new),
        (MergeRule::Union, Value::Array(old), Value::Array(new)) => {
            for item in new {
                if !old.contains(&item) {
                    old.push(item);
                }
            }
        }
        (MergeRule::Intersection, Value::Array(old), Value::Array(new)) => {
            let name = |value: &Value| value.as_str().unwrap_or_default().trim().to_lowercase();
            let wanted: HashSet<String> = new.iter().map(name).collect();
            old.retain(|item| wanted.contains(&name(item)));
        }
        (MergeRule::AnyTrue, Value::Bool(old), Value::Bool(new)) => *old |= new,
        (MergeRule::AllTrue, Value::Bool(old), Value::Bool(new)) => *old &= new,
        (MergeRule::Strictest(ranking), Value::String(old), Value::String(new)) => {
            let rank = |word: &str| ranking.iter().position(|known| *known == word);
            if rank(&new) > rank(old) {
                *old = new;
            }
        }
        (_, old, new) => *old = new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges two layers' words for a key.
    fn merge_words(how: MergeRule, lower: &str, higher: &str) -> Value {
        let mut value = Value::from(lower);
        merge_value(how, &mut value, Value::from(higher), "any.key");
        value
    }

    #[test]
    fn strictest_word_wins_by_each_keys_ranking() {
        let review = merge_rule_of("security.hooks.review");
        let network = MergeRule::Strictest(&["open", "local", "none"]);
        assert_eq!(merge_words(review, "announce", "block"), "block");
        assert_eq!(merge_words(review, "block", "announce"), "block");
        assert_eq!(merge_words(network, "open", "none"), "none");
        assert_eq!(merge_words(network, "none", "local"), "none");
    }
}
