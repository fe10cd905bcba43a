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
fn earlier_turns_are_cut_off_at_a_prompt() {
    let history = [user(&"old ".repeat(100)), model(&"answer ".repeat(100)), user("new"), model("yes")];
    assert_eq!(cut(&history), Some(Cut { at: 2, prompt: None }));
    assert_eq!(cut(&[user("only")]), None);
    assert_eq!(cut(&[user("only"), model("answer")]), None);
    assert_eq!(cut(&[]), None);
}

#[test]
fn one_long_turn_is_cut_between_its_steps_and_keeps_its_prompt() {
    let mut history = vec![user("do it all")];
    for _ in 0..10 {
        history.extend([call(), result(4000)]);
    }
    let Cut { at, prompt } = cut(&history).unwrap();
    assert_eq!((prompt, history[at].role), (Some(0), Role::Model));
    assert!((10..20).contains(&at), "{at}");
    // A result that is larger than everything before it is still read once.
    history.extend([call(), result(100_000)]);
    assert_eq!(cut(&history), Some(Cut { at: 21, prompt: Some(0) }));
}

#[test]
fn a_turn_of_one_step_has_nothing_to_cut() {
    assert_eq!(cut(&[user("go"), call(), result(100_000)]), None);
    let earlier = [user("before"), model("ok"), user("go"), call(), result(100_000)];
    assert_eq!(cut(&earlier), Some(Cut { at: 2, prompt: None }));
}

#[test]
fn old_results_are_cut_and_new_ones_stay() {
    let history = [user("go"), call(), result(40_000), call(), result(40_000)];
    let trimmed = trim::old_results(&history, 3);
    assert_eq!(trimmed.len(), history.len());
    assert!(estimate(&trimmed[..3]) < 300 && trimmed[3..] == history[3..]);
    let bounded = trim::large_results(&history, 1000);
    assert!(estimate(&bounded) < 1200, "{}", estimate(&bounded));
    assert_eq!(trim::large_results(&history, 1_000_000), history);
}
