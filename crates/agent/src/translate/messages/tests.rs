use super::*;
use proptest::prelude::*;
use serde_json::Map;

fn message(role: &str, content: &str) -> LlmMessage {
    LlmMessage { role: role.to_owned(), content: content.to_owned() }
}

fn call(id: &str) -> Part {
    Part::function_call(Some(id.to_owned()), "glob", Map::new())
}

fn result(id: &str) -> Part {
    Part::function_response(Some(id.to_owned()), "glob", Map::new())
}

fn image(name: &str) -> Part {
    Part::inline_data("image/png", name)
}

/// Two turns: the first with a call and an image, the second still under way.
fn request() -> ModelRequest {
    let contents = vec![
        Content::user(vec![Part::text("first question"), image("A")]),
        Content::model(vec![Part::text("I look"), call("1")]),
        Content::user(vec![result("1")]),
        Content::model(vec![Part::text("first answer")]),
        Content::user(vec![Part::text("second question"), image("C")]),
        Content::model(vec![call("2")]),
        Content::user(vec![result("2")]),
    ];
    ModelRequest::new("m", contents.into_iter().map(Arc::new).collect())
}

fn texts(request: &ModelRequest) -> Vec<(Role, String)> {
    let texts = request.contents.iter().map(|content| (content.role, content.text()));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

fn calls(request: &ModelRequest) -> Vec<String> {
    let parts = request.contents.iter().flat_map(|content| &content.parts);
    parts.filter_map(|part| part.as_function_call()?.id.clone()).collect()
}

/// Returns whether every call has its result in the next message, and every result its call.
fn is_paired(request: &ModelRequest) -> bool {
    let ids = |content: Option<&Arc<Content>>| -> (Vec<String>, Vec<String>) {
        let parts = || content.into_iter().flat_map(|content| content.parts.iter());
        let called = parts().filter_map(|part| part.as_function_call()?.id.clone()).collect();
        let answered = parts().filter_map(|part| part.as_function_response()?.id.clone()).collect();
        (called, answered)
    };
    ids(request.contents.first()).1.is_empty()
        && (0..request.contents.len()).all(|at| ids(request.contents.get(at)).0 == ids(request.contents.get(at + 1)).1)
}

#[test]
fn omitted_messages_are_removed_without_shifting_others() {
    let mut request = request();
    let problems = apply_messages(&mut request, &[message("user", "second question")]);
    assert_eq!((texts(&request), problems.len()), (vec![(Role::User, "second question".to_owned())], 0));
    assert_eq!((calls(&request), is_paired(&request)), (vec!["2".to_owned()], true));
    assert_eq!(request.contents[0].parts[1], image("C"));
}

#[test]
fn last_message_can_change_while_others_are_omitted() {
    let mut request = request();
    let problems = apply_messages(&mut request, &[message("user", "something else")]);
    assert_eq!(texts(&request), [(Role::User, "something else".to_owned())]);
    assert_eq!(calls(&request), ["2"], "the calls of this turn are still there, or the model would make them again");
    assert!(is_paired(&request) && problems.is_empty(), "{problems:?}");
}

#[test]
fn removed_message_takes_its_call_and_result_along() {
    let mut request = request();
    let left =
        [message("user", "first question"), message("model", "first answer"), message("user", "second question")];
    assert!(apply_messages(&mut request, &left).is_empty());
    assert_eq!((calls(&request), is_paired(&request)), (vec!["2".to_owned()], true));
}

#[test]
fn moved_messages_keep_their_calls_and_results() {
    let mut request = request();
    let order = [
        message("user", "second question"),
        message("model", "first answer"),
        message("model", "I look"),
        message("user", "first question"),
    ];
    assert!(apply_messages(&mut request, &order).is_empty());
    assert_eq!(request.contents[0].parts[1], image("C"));
    assert_eq!(request.contents.last().unwrap().parts[1], image("A"));
    assert_eq!((calls(&request), is_paired(&request)), (vec!["2".to_owned(), "1".to_owned()], true));
}

#[test]
fn added_messages_keep_their_position() {
    let mut request = request();
    let mut given = vec![message("user", "rules first")];
    given.extend(super::super::request_view(&request).messages);
    given.push(message("user", "and briefly"));
    let expected: Vec<String> = given.iter().map(|message| message.content.clone()).collect();
    assert!(apply_messages(&mut request, &given).is_empty());
    assert_eq!(texts(&request).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
    assert_eq!((calls(&request), is_paired(&request)), (vec!["1".to_owned(), "2".to_owned()], true));
}

#[test]
fn ambiguous_messages_are_reported() {
    let mut request = request();
    let given = [message("user", "x"), message("user", "y"), message("tool", "z"), message("user", "second question")];
    let problems = apply_messages(&mut request, &given);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].contains("the unknown role `tool`") && problems[1].contains("can't be matched with those it got")
    );
    assert_eq!(texts(&request).len(), 4);
    assert!(is_paired(&request));
}

/// One step of a conversation.
#[derive(Clone, Debug)]
enum ConversationStep {
    User(String, bool),
    Model(String),
    ModelCalls(String, u8),
    Calls(u8),
}

fn step() -> impl Strategy<Value = ConversationStep> {
    // Few words, so that equal messages are frequent.
    let text = "[abc]{1,3}";
    prop_oneof![
        (text, any::<bool>()).prop_map(|(text, picture)| ConversationStep::User(text, picture)),
        text.prop_map(ConversationStep::Model),
        (text, 1..3_u8).prop_map(|(text, calls)| ConversationStep::ModelCalls(text, calls)),
        (1..3_u8).prop_map(ConversationStep::Calls),
    ]
}

fn conversation(steps: &[ConversationStep]) -> ModelRequest {
    let mut contents = vec![Content::user_text("begin")];
    let mut number = 0;
    let mut ids = |count: u8| -> Vec<String> {
        (0..count)
            .map(|_| {
                number += 1;
                number.to_string()
            })
            .collect()
    };
    for step in steps {
        let (text, count) = match step {
            ConversationStep::User(text, picture) => {
                let picture = picture.then(|| image(text));
                contents.push(Content::user([Part::text(text)].into_iter().chain(picture).collect()));
                continue;
            }
            ConversationStep::Model(text) => {
                contents.push(Content::model_text(text));
                continue;
            }
            ConversationStep::ModelCalls(text, count) => (Some(text), *count),
            ConversationStep::Calls(count) => (None, *count),
        };
        let ids = ids(count);
        let words = text.map(Part::text);
        contents.push(Content::model(words.into_iter().chain(ids.iter().map(|id| call(id))).collect()));
        contents.push(Content::user(ids.iter().map(|id| result(id)).collect()));
    }
    ModelRequest::new("m", contents.into_iter().map(Arc::new).collect())
}

/// An edit that a hook makes to the messages.
#[derive(Clone, Debug)]
enum MessageEdit {
    Drop(prop::sample::Index),
    Insert(prop::sample::Index, bool, String),
    Change(prop::sample::Index, String),
    Swap(prop::sample::Index, prop::sample::Index),
}

fn edit() -> impl Strategy<Value = MessageEdit> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(MessageEdit::Drop),
        (at(), any::<bool>(), "[abcd]{1,3}").prop_map(|(at, user, text)| MessageEdit::Insert(at, user, text)),
        (at(), "[d]{0,2}").prop_map(|(at, text)| MessageEdit::Change(at, text)),
        (at(), at()).prop_map(|(one, other)| MessageEdit::Swap(one, other)),
    ]
}

fn apply(edit: &MessageEdit, messages: &mut Vec<LlmMessage>) {
    let length = messages.len();
    match edit {
        MessageEdit::Insert(at, user, text) => {
            messages.insert(at.index(length + 1), message(if *user { "user" } else { "model" }, text));
        }
        _ if length == 0 => {}
        MessageEdit::Drop(at) => drop(messages.remove(at.index(length))),
        MessageEdit::Change(at, text) => messages[at.index(length)].content.clone_from(text),
        MessageEdit::Swap(one, other) => messages.swap(one.index(length), other.index(length)),
    }
}

proptest! {
    #[test]
    fn request_has_the_hooks_messages_and_paired_calls(
        steps in prop::collection::vec(step(), 0..12),
        edits in prop::collection::vec(edit(), 0..6),
    ) {
        let mut request = conversation(&steps);
        let mut given = super::super::request_view(&request).messages;
        edits.iter().for_each(|edit| apply(edit, &mut given));
        apply_messages(&mut request, &given);
        let expected: Vec<(Role, String)> = given
            .iter()
            .filter(|message| !message.content.is_empty())
            .map(|message| (parse_role(&message.role, &mut Vec::new()), message.content.clone()))
            .collect();
        prop_assert_eq!(texts(&request), expected);
        prop_assert!(is_paired(&request), "{:#?}", request.contents);
    }

    #[test]
    fn unchanged_messages_leave_the_request_unchanged(steps in prop::collection::vec(step(), 0..12)) {
        let mut request = conversation(&steps);
        let before = request.contents.clone();
        let given = super::super::request_view(&request).messages;
        prop_assert!(apply_messages(&mut request, &given).is_empty());
        prop_assert_eq!(request.contents.len(), before.len());
        prop_assert!(request.contents.iter().zip(&before).all(|(one, other)| Arc::ptr_eq(one, other)));
    }

    #[test]
    fn changed_text_keeps_everything_else_in_place(
        steps in prop::collection::vec(step(), 0..12),
        at in any::<prop::sample::Index>(),
    ) {
        let mut request = conversation(&steps);
        let without_text = |request: &ModelRequest| -> Vec<Vec<Part>> {
            let parts = |content: &Arc<Content>| {
                content.parts.iter().filter(|part| part.as_text().is_none()).cloned().collect()
            };
            request.contents.iter().map(parts).collect()
        };
        let before = without_text(&request);
        let mut given = super::super::request_view(&request).messages;
        let at = at.index(given.len());
        given[at].content = "redacted".to_owned();
        prop_assert!(apply_messages(&mut request, &given).is_empty());
        prop_assert_eq!(without_text(&request), before);
    }
}
