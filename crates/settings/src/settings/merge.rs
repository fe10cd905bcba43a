//! Laying one layer's settings over another's. Pure.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::known::{Combine, combine_of};

/// Lays a higher layer over a lower one.
pub fn lay_over(lower: &mut Map<String, Value>, higher: Map<String, Value>) {
    merge(lower, higher, "");
}

fn merge(lower: &mut Map<String, Value>, higher: Map<String, Value>, prefix: &str) {
    for (name, value) in higher {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match lower.get_mut(&name) {
            Some(old) => combine(combine_of(&key), old, value, &key),
            None => {
                lower.insert(name, value);
            }
        }
    }
}

fn combine(how: Combine, old: &mut Value, new: Value, key: &str) {
    match (how, old, new) {
        (Combine::Highest, Value::Object(old), Value::Object(new)) => merge(old, new, key),
        (Combine::Entries, Value::Object(old), Value::Object(new)) => old.extend(new),
        (Combine::Union, Value::Array(old), Value::Array(new)) => {
            for item in new {
                if !old.contains(&item) {
                    old.push(item);
                }
            }
        }
        (Combine::Shared, Value::Array(old), Value::Array(new)) => {
            let name = |value: &Value| value.as_str().unwrap_or_default().trim().to_lowercase();
            let wanted: HashSet<String> = new.iter().map(name).collect();
            old.retain(|item| wanted.contains(&name(item)));
        }
        (Combine::AnyTrue, Value::Bool(old), Value::Bool(new)) => *old |= new,
        (Combine::AllTrue, Value::Bool(old), Value::Bool(new)) => *old &= new,
        (Combine::Strictest(ranking), Value::String(old), Value::String(new)) => {
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

    /// What two layers' words for a key come to.
    fn combined(how: Combine, lower: &str, higher: &str) -> Value {
        let mut value = Value::from(lower);
        combine(how, &mut value, Value::from(higher), "any.key");
        value
    }

    #[test]
    fn the_strictest_word_counts_by_each_keys_own_ranking() {
        let review = combine_of("security.hooks.review");
        let network = Combine::Strictest(&["open", "local", "none"]);
        assert_eq!(combined(review, "announce", "block"), "block");
        assert_eq!(combined(review, "block", "announce"), "block");
        assert_eq!(combined(network, "open", "none"), "none");
        assert_eq!(combined(network, "none", "local"), "none");
    }
}
