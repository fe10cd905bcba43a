use super::*;
use hookwright_model::Part;
use serde_json::{Map, Value};

fn call() -> Arc<Content> {
    Arc::new(Content::model(vec![Part::function_call(None, "glob", Map::new())]))
}

fn result(size: usize) -> Arc<Content> {
    let response = Map::from_iter([("output".to_owned(), Value::String("x".repeat(size)))]);
    Arc::new(Content::user(vec![Part::function_response(None, "glob", response)]))
}

fn user(text: &str) -> Arc<Content> {
    Arc::new(Content::user_text(text))
}

fn model(text: &str) -> Arc<Content> {
    Arc::new(Content::model_text(text))
}

#[test]
fn history_is_cut_at_a_prompt() {
    let history = [user(&"old ".repeat(100)), model(&"answer ".repeat(100)), user("new"), model("yes")];
    assert_eq!(cut_at_message(&history), Some(HistoryCut { kept_start: 2, prompt_index: None }));
    assert_eq!(cut_at_message(&[user("only")]), None);
    assert_eq!(cut_at_message(&[user("only"), model("answer")]), None);
    assert_eq!(cut_at_message(&[]), None);
}

#[test]
fn single_turn_is_cut_between_steps_and_keeps_its_prompt() {
    let mut history = vec![user("do it all")];
    for _ in 0..10 {
        history.extend([call(), result(4000)]);
    }
    let HistoryCut { kept_start: at, prompt_index: prompt } = cut_at_message(&history).unwrap();
    assert_eq!((prompt, history[at].role), (Some(0), Role::Model));
    assert!((10..20).contains(&at), "{at}");
    // The model reads a result once, even if it is larger than everything before it.
    history.extend([call(), result(100_000)]);
    assert_eq!(cut_at_message(&history), Some(HistoryCut { kept_start: 21, prompt_index: Some(0) }));
}

#[test]
fn a_turn_of_one_step_has_nothing_to_cut() {
    assert_eq!(cut_at_message(&[user("go"), call(), result(100_000)]), None);
    let earlier = [user("before"), model("ok"), user("go"), call(), result(100_000)];
    assert_eq!(cut_at_message(&earlier), Some(HistoryCut { kept_start: 2, prompt_index: None }));
}

#[test]
fn old_results_are_trimmed_and_new_ones_kept() {
    let history = [user("go"), call(), result(40_000), call(), result(40_000)];
    let trimmed = trim::trim_old_results(&history, 3);
    assert_eq!(trimmed.len(), history.len());
    assert!(estimate_tokens(&trimmed[..3]) < 300 && trimmed[3..] == history[3..]);
    let bounded = trim::trim_large_results(&history, 1000);
    assert!(estimate_tokens(&bounded) < 1200, "{}", estimate_tokens(&bounded));
    assert_eq!(trim::trim_large_results(&history, 1_000_000), history);
}
