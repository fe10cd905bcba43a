use super::*;
use crate::session::command::DiffAction;

fn parse(text: &str) -> InputLine {
    InputLine::parse(text, &CustomCommands::default(), &[])
}

#[test]
fn prompts_with_the_same_name_are_qualified_by_server() {
    let prompt = || RemotePrompt { name: "hello".to_owned(), description: String::new(), arguments: Vec::new() };
    let two = [("a b".to_owned(), prompt()), ("c".to_owned(), prompt())];
    assert_eq!(prompt_command_names(&two), ["a-b.hello", "c.hello"]);
    assert_eq!(prompt_command_names(&two[..1]), ["hello"]);
    let of = |text: &str, prompts: &[_]| match InputLine::parse(text, &CustomCommands::default(), prompts) {
        InputLine::Command(SessionCommand::ServerPrompt { server, .. }) => server,
        other => format!("{other:?}"),
    };
    assert_eq!(
        (of("/c.hello", &two), of("/a-b.hello", &two), of("/c.hello", &two[1..])),
        ("c".into(), "a b".into(), "c".into())
    );
    assert!(of("/hello", &two).contains("say which: /a-b.hello, /c.hello"), "{}", of("/hello", &two));
}

#[test]
fn server_prompts_are_commands() {
    let argument = |name: &str, required| hookwright_tools::mcp::PromptArgument {
        name: name.to_owned(),
        description: String::new(),
        required,
    };
    let prompt = |arguments| RemotePrompt { name: "say hello".to_owned(), description: String::new(), arguments };
    let two = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", true)]))];
    let one = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", false)]))];
    let args = |text: &str, prompts: &[_]| match InputLine::parse(text, &CustomCommands::default(), prompts) {
        InputLine::Command(SessionCommand::ServerPrompt { args, .. }) => serde_json::Value::Object(args).to_string(),
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
fn every_command_is_parsed_by_all_its_names() {
    for row in SLASH_COMMANDS {
        let argument = if row.argument == SlashArgument::None { "" } else { " x y" };
        let expected = (row.build)(argument.trim());
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert_eq!(parse(&format!("/{name}{argument} ")), expected, "{name}");
        }
        if let SlashArgument::Required(_) = row.argument {
            assert!(matches!(parse(&format!("/{}", row.name)), InputLine::InvalidUsage(_)), "{}", row.name);
        }
    }
}

#[test]
fn no_command_ever_becomes_a_prompt() {
    for text in ["/hooks nonsense", "/hooks  list", "/memory x", "/chat save", "/nope", "/hookz list", "/help me"] {
        assert!(!matches!(parse(text), InputLine::Command(SessionCommand::Prompt(_))), "{text}");
    }
    let usage = "/memory show|list|add TEXT|reload".to_owned();
    assert_eq!(parse("/memory forget"), InputLine::InvalidUsage(usage));
    for (typed, near, words) in [
        ("hepl", Some("help"), "there is no command /hepl; did you mean /help?"),
        ("zzz", None, "there is no command /zzz; /help shows what there is"),
        ("hook", Some("hooks"), "there is no command /hook; did you mean /hooks?"),
    ] {
        let unknown = UnknownCommand { name: typed.to_owned(), suggestion: near.map(str::to_owned), untrusted: false };
        assert_eq!(unknown.to_string(), words);
        assert_eq!(parse(&format!("/{typed}")), InputLine::UnknownCommand(unknown));
    }
}

#[test]
fn unexpected_arguments_are_invalid_usage() {
    for text in ["/clear the cache in src", "/quit smoking", "/vim on", "/diff HEAD~1"] {
        assert!(matches!(parse(text), InputLine::InvalidUsage(_)), "{text}: {:?}", parse(text));
    }
    assert_eq!(parse("/diff session"), InputLine::Command(SessionCommand::Diff(DiffAction::Session)));
    assert_eq!(parse("/settings ui.theme"), InputLine::Command(SessionCommand::Settings(Some("ui.theme".to_owned()))));
}

#[test]
fn other_lines_go_to_the_model_or_the_shell() {
    assert_eq!(parse("  "), InputLine::Blank);
    for text in ["/usr/bin is a path", "// a comment", "/", "hello /help"] {
        assert_eq!(parse(text), InputLine::Command(SessionCommand::Prompt(text.to_owned())));
    }
    assert_eq!(parse(" ! "), InputLine::FrontEnd(FrontEndAction::ShellMode));
    assert_eq!(parse(" ! ls -l "), InputLine::Command(SessionCommand::UserShell("ls -l".to_owned())));
    assert_eq!(parse("two\nlines\n"), InputLine::Command(SessionCommand::Prompt("two\nlines".to_owned())));
}
