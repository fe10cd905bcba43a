use super::*;
use crate::session::order::DiffOrder;

fn read(text: &str) -> Typed {
    Typed::read(text, &Commands::default(), &[])
}

#[test]
fn prompts_of_one_name_are_told_apart_by_their_servers() {
    let prompt = || RemotePrompt { name: "hello".to_owned(), description: String::new(), arguments: Vec::new() };
    let two = [("a b".to_owned(), prompt()), ("c".to_owned(), prompt())];
    assert_eq!(prompt_commands(&two), ["a-b.hello", "c.hello"]);
    assert_eq!(prompt_commands(&two[..1]), ["hello"]);
    let of = |text: &str, prompts: &[_]| match Typed::read(text, &Commands::default(), prompts) {
        Typed::Order(Order::ServerPrompt { server, .. }) => server,
        other => format!("{other:?}"),
    };
    assert_eq!(
        (of("/c.hello", &two), of("/a-b.hello", &two), of("/c.hello", &two[1..])),
        ("c".into(), "a b".into(), "c".into())
    );
    assert!(of("/hello", &two).contains("say which: /a-b.hello, /c.hello"), "{}", of("/hello", &two));
}

#[test]
fn prompts_of_servers_are_commands() {
    let argument = |name: &str, required| hookwright_tools::mcp::PromptArgument {
        name: name.to_owned(),
        description: String::new(),
        required,
    };
    let prompt = |arguments| RemotePrompt { name: "say hello".to_owned(), description: String::new(), arguments };
    let two = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", true)]))];
    let one = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", false)]))];
    let args = |text: &str, prompts: &[_]| match Typed::read(text, &Commands::default(), prompts) {
        Typed::Order(Order::ServerPrompt { args, .. }) => serde_json::Value::Object(args).to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(args("/say-hello Ada \"very warmly\"", &two), r#"{"who":"Ada","how":"very warmly"}"#);
    assert_eq!(args("/say-hello --how=\"a b\" Ada", &two), r#"{"how":"a b","who":"Ada"}"#);
    assert_eq!(args("/say-hello Ada and Bo", &one), r#"{"who":"Ada and Bo"}"#);
    assert!(args("/say-hello Ada", &two).contains("needs --how"), "{}", args("/say-hello Ada", &two));
    assert!(
        args("/help", &[("s".to_owned(), RemotePrompt { name: "help".into(), ..prompt(vec![]) })]).contains("Help")
    );
}

#[test]
fn every_command_is_read_as_itself_by_all_its_names() {
    for row in SLASH_COMMANDS {
        let argument = if row.argument == Argument::None { "" } else { " x y" };
        let expected = (row.make)(argument.trim());
        for name in std::iter::once(&row.name).chain(row.also) {
            assert_eq!(read(&format!("/{name}{argument} ")), expected, "{name}");
        }
        if let Argument::Required(_) = row.argument {
            assert!(matches!(read(&format!("/{}", row.name)), Typed::Misspelt(_)), "{}", row.name);
        }
    }
}

#[test]
fn no_command_ever_becomes_a_prompt() {
    for text in ["/hooks nonsense", "/hooks  list", "/memory x", "/chat save", "/nope", "/hookz list", "/help me"] {
        assert!(!matches!(read(text), Typed::Order(Order::Prompt(_))), "{text}");
    }
    let usage = "/memory show|list|add TEXT|reload".to_owned();
    assert_eq!(read("/memory forget"), Typed::Misspelt(usage));
    for (typed, near, words) in [
        ("hepl", Some("help"), "there is no command /hepl; did you mean /help?"),
        ("zzz", None, "there is no command /zzz; /help shows what there is"),
        ("hook", Some("hooks"), "there is no command /hook; did you mean /hooks?"),
    ] {
        let unknown = UnknownCommand { name: typed.to_owned(), near: near.map(str::to_owned), untrusted: false };
        assert_eq!(unknown.to_string(), words);
        assert_eq!(read(&format!("/{typed}")), Typed::Unknown(unknown));
    }
}

#[test]
fn words_that_a_command_does_not_take_are_no_part_of_it() {
    for text in ["/clear the cache in src", "/quit smoking", "/vim on", "/diff HEAD~1"] {
        assert!(matches!(read(text), Typed::Misspelt(_)), "{text}: {:?}", read(text));
    }
    assert_eq!(read("/diff session"), Typed::Order(Order::Diff(DiffOrder::Session)));
    assert_eq!(read("/settings ui.theme"), Typed::Order(Order::Settings(Some("ui.theme".to_owned()))));
}

#[test]
fn what_is_no_command_goes_to_the_model_or_the_shell() {
    assert_eq!(read("  "), Typed::Blank);
    for text in ["/usr/bin is a path", "// a comment", "/", "hello /help"] {
        assert_eq!(read(text), Typed::Order(Order::Prompt(text.to_owned())));
    }
    assert_eq!(read(" ! "), Typed::View(View::ShellMode));
    assert_eq!(read(" ! ls -l "), Typed::Order(Order::Shell("ls -l".to_owned())));
    assert_eq!(read("two\nlines\n"), Typed::Order(Order::Prompt("two\nlines".to_owned())));
}
