//! Calls of the agent as events that hooks judge: its requests for files and terminals, and the calls that it reports or
//! asks permission for.

use hookwright_bridge::Host;
use hookwright_hooks::strict_json;
use serde_json::{Map, Value, json};

use crate::bridge::split_confined_command;

pub(super) const READ_FILE: &str = "fs/read_text_file";
pub(super) const WRITE_FILE: &str = "fs/write_text_file";
pub(super) const CREATE_TERMINAL: &str = "terminal/create";
pub(super) const REQUEST_PERMISSION: &str = "session/request_permission";
pub(super) const SESSION_UPDATE: &str = "session/update";

/// Parameters that are no arguments of a call.
const ENVELOPE_PARAMS: [&str; 2] = ["sessionId", "_meta"];

/// A call that hooks judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JudgedCall {
    tool: String,
    /// The arguments; several where one permission is about several files.
    inputs: Vec<Map<String, Value>>,
    /// The agent whose names tool and arguments have.
    vocabulary: Option<Host>,
    id: Option<String>,
}

impl JudgedCall {
    /// Reads a request for a file or a terminal.
    pub(super) fn of_request(method: &str, params: &Map<String, Value>) -> Result<JudgedCall, String> {
        let mut input = params.clone();
        input.retain(|name, _| !ENVELOPE_PARAMS.contains(&name.as_str()));
        if method == CREATE_TERMINAL {
            let command = command_line(&mut input)?;
            input.shift_remove("outputByteLimit");
            input.insert("command".to_owned(), command.into());
        }
        input.retain(|_, value| !value.is_null());
        Ok(JudgedCall { tool: method.to_owned(), inputs: vec![input], ..JudgedCall::default() })
    }

    /// Reads the fields of a reported call, which may be one that the user is asked about.
    pub(super) fn of_report(call: &Map<String, Value>, agent: Option<Host>) -> JudgedCall {
        let id = text(call, "toolCallId").map(str::to_owned);
        let raw = call.get("rawInput").and_then(Value::as_object);
        let claude_name = call.get("_meta").and_then(|meta| meta["claudeCode"]["toolName"].as_str());
        let native = claude_name.or_else(|| text(call, "name"));
        if let (Some(name), Some(input), Some(host)) = (native, raw, agent) {
            return JudgedCall { tool: name.to_owned(), inputs: vec![input.clone()], vocabulary: Some(host), id };
        }
        let (tool, inputs) = by_kind(call, raw, agent);
        JudgedCall { tool, inputs, vocabulary: None, id }
    }

    /// Returns the event that hooks judge.
    pub(super) fn payload(&self, event: &str) -> Map<String, Value> {
        let mut payload = Map::new();
        let mut set = |name: &str, value: Value| drop(payload.insert(name.to_owned(), value));
        set("hook_event_name", event.into());
        set("tool_name", self.tool.clone().into());
        match self.inputs.as_slice() {
            [input] => set("tool_input", input.clone().into()),
            inputs => set("tool_inputs", inputs.to_vec().into()),
        }
        if let Some(id) = &self.id {
            set("tool_use_id", id.clone().into());
        }
        if let Some(host) = self.vocabulary {
            set("vocabulary", host.name().into());
        }
        payload
    }

    /// Returns a copy whose command is the one that an editor runs which joins the words with spaces for its shell; none
    /// if that is the same.
    pub(super) fn joined_by_spaces(&self, params: &Map<String, Value>) -> Option<JudgedCall> {
        let words = command_words(params)?;
        let joined = words.join(" ");
        let is_same = words.len() < 2 || words.iter().map(|word| quote(word)).eq(words.iter().cloned());
        let mut copy = self.clone();
        copy.inputs.first_mut()?.insert("command".to_owned(), joined.into());
        (self.tool == CREATE_TERMINAL && !is_same).then_some(copy)
    }

    /// Returns the call that started a terminal, whose output has come.
    pub(super) fn of_terminal(input: Map<String, Value>) -> JudgedCall {
        JudgedCall { tool: CREATE_TERMINAL.to_owned(), inputs: vec![input], ..JudgedCall::default() }
    }

    /// Returns the call with the arguments that hooks changed.
    pub(super) fn with_input(&self, input: Map<String, Value>) -> JudgedCall {
        JudgedCall { inputs: vec![input], ..self.clone() }
    }

    /// Returns the arguments of a single call.
    pub(super) fn input(&self) -> Map<String, Value> {
        self.inputs.first().cloned().unwrap_or_default()
    }

    /// Returns what a user is asked about.
    pub(super) fn title(&self) -> String {
        let input = self.inputs.first();
        let subject = input.and_then(|input| text(input, "command").or_else(|| text(input, "path")));
        format!("{}: {}", self.tool, subject.unwrap_or_default())
    }

    fn command(&self) -> Option<&str> {
        self.inputs.first()?.get("command")?.as_str()
    }

    /// Returns the request's line with the arguments that hooks changed.
    pub(super) fn rewrite(&self, line: &[u8], input: &Map<String, Value>) -> Result<Vec<u8>, String> {
        let mut message = strict_json::object_from_slice(line)?;
        let params = message.get_mut("params").and_then(Value::as_object_mut).ok_or("it has no parameters")?;
        for (name, value) in input {
            match (self.tool.as_str(), name.as_str()) {
                (CREATE_TERMINAL, "command") => {
                    let command = value.as_str().ok_or("its new command is not text")?;
                    if Some(command) != self.command() {
                        set_command(params, command);
                    }
                }
                (CREATE_TERMINAL, "env") => {}
                _ => drop(params.insert(name.clone(), value.clone())),
            }
        }
        Ok(super::message::line(&Value::Object(message)))
    }
}

/// Writes a changed command into a request for a terminal, in the form that the request had.
fn set_command(params: &mut Map<String, Value>, command: &str) {
    if let Some((words, original, variable)) = split_confined_command(command)
        && let Some((program, args)) = words.split_first()
    {
        params.insert("command".to_owned(), program.as_str().into());
        params.insert("args".to_owned(), args.into());
        let env = params.entry("env").or_insert_with(|| json!([]));
        match env.as_array_mut() {
            Some(env) => env.push(json!({"name": variable, "value": original})),
            None => *env = json!([{"name": variable, "value": original}]),
        }
        return;
    }
    let has_args = params.get("args").and_then(Value::as_array).is_some_and(|args| !args.is_empty());
    if has_args {
        params.insert("args".to_owned(), json!(["-c", command]));
    }
    params.insert("command".to_owned(), if has_args { "sh" } else { command }.into());
}

/// Takes words and environment out of a request for a terminal, and returns them as a line of a shell.
///
/// A command without arguments is taken for a line of a shell: some editors run it so.
fn command_line(input: &mut Map<String, Value>) -> Result<String, String> {
    let words = command_words(input).ok_or("its command is not a list of words")?;
    input.shift_remove("args");
    let command = match words.as_slice() {
        [command] => command.clone(),
        words => quote_words(words),
    };
    let mut exports = String::new();
    let variables = input.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut others = Map::new();
    for variable in &variables {
        let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) else {
            return Err("a variable of its environment has no name or value".to_owned());
        };
        let is_name = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        if hookwright_settings::is_dangerous_variable(name) {
            if !is_name {
                return Err(format!("the variable {name:?} can't be judged"));
            }
            exports.push_str(&format!("export {name}={}; ", quote(value)));
        } else {
            others.insert(name.to_owned(), value.into());
        }
    }
    input.shift_remove("env");
    if !others.is_empty() {
        input.insert("env".to_owned(), others.into());
    }
    Ok(exports + &command)
}

/// Returns the command and its arguments; none if they are not words.
fn command_words(params: &Map<String, Value>) -> Option<Vec<String>> {
    let mut words = vec![text(params, "command")?.to_owned()];
    match params.get("args") {
        None | Some(Value::Null) => {}
        Some(args) => words.extend(string_list(args)?),
    }
    Some(words)
}

fn string_list(list: &Value) -> Option<Vec<String>> {
    list.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

fn text<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    object.get(name)?.as_str()
}

fn quote_words(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Returns a word as a shell reads it.
fn quote(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:@%,=".contains(char);
    let is_plain = !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns a call by its kind, as far as the protocol says what it does.
fn by_kind(
    call: &Map<String, Value>,
    raw: Option<&Map<String, Value>>,
    agent: Option<Host>,
) -> (String, Vec<Map<String, Value>>) {
    let kind = text(call, "kind").unwrap_or_default();
    let argument = |names: &[&str]| raw.and_then(|raw| names.iter().find_map(|name| raw.get(*name)));
    let title = text(call, "title").unwrap_or_default();
    // Gemini CLI's titles are the command or name the URL; other agents may shorten theirs.
    let exact_title = (agent == Some(Host::GeminiCli)).then_some(title);
    let unread = || raw.cloned().unwrap_or_else(|| object(&[("title", title)]));
    let inputs = match kind {
        "execute" => {
            let command = argument(&["command", "cmd"]).and_then(|command| match command {
                Value::String(command) => Some(command.clone()),
                command => string_list(command).map(|words| quote_words(&words)),
            });
            command.or_else(|| exact_title.map(str::to_owned)).map(|command| {
                let mut input = object(&[("command", &command)]);
                let cwd = argument(&["cwd", "workdir", "dir_path", "directory"]);
                input.extend(cwd.map(|cwd| ("cwd".to_owned(), cwd.clone())));
                vec![input]
            })
        }
        "edit" => Some(diffs(call)).filter(|diffs| !diffs.is_empty()),
        "read" => Some(paths(call, raw)).filter(|paths| !paths.is_empty()),
        "delete" => Some(paths(call, raw)).filter(|paths| !paths.is_empty()).map(|mut paths| {
            paths.iter_mut().for_each(|path| path.extend(object(&[("old_string", ""), ("new_string", "")])));
            paths
        }),
        "fetch" => {
            let url = argument(&["url"]).and_then(Value::as_str);
            let url = url.or_else(|| exact_title?.strip_prefix("Fetching content from: "));
            url.map(|url| vec![object(&[("url", url)])])
        }
        "think" | "switch_mode" => Some(vec![Map::new()]),
        _ => None,
    };
    match inputs {
        Some(inputs) => (kind.to_owned(), inputs),
        None if ["execute", "edit", "read", "delete", "fetch"].contains(&kind) => (kind.to_owned(), vec![unread()]),
        None => {
            (text(call, "name").unwrap_or(if title.is_empty() { "a call" } else { title }).to_owned(), vec![unread()])
        }
    }
}

/// Returns the files that a call writes, with their new content.
fn diffs(call: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let content = call.get("content").and_then(Value::as_array).into_iter().flatten();
    let diff = |part: &Value| {
        let (path, content) = (part["path"].as_str()?, part["newText"].as_str()?);
        (part["type"] == "diff").then(|| object(&[("path", path), ("content", content)]))
    };
    content.filter_map(diff).collect()
}

/// Returns the files that a call is about.
fn paths(call: &Map<String, Value>, raw: Option<&Map<String, Value>>) -> Vec<Map<String, Value>> {
    let locations = call.get("locations").and_then(Value::as_array).into_iter().flatten();
    let named = locations.filter_map(|location| location["path"].as_str());
    let argument =
        raw.and_then(|raw| ["path", "file_path", "filePath"].iter().find_map(|name| raw.get(*name)?.as_str()));
    let mut all: Vec<&str> = named.chain(argument).collect();
    all.dedup();
    all.into_iter().map(|path| object(&[("path", path)])).collect()
}

fn object(fields: &[(&str, &str)]) -> Map<String, Value> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object_of(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("{value}") };
        object
    }

    fn terminal(params: Value) -> Result<JudgedCall, String> {
        JudgedCall::of_request(CREATE_TERMINAL, &object_of(params))
    }

    fn command(params: Value) -> String {
        terminal(params).unwrap().command().unwrap().to_owned()
    }

    #[test]
    fn a_terminal_s_words_are_one_line() {
        assert_eq!(command(json!({"command": "cd x && rm -rf y"})), "cd x && rm -rf y");
        assert_eq!(command(json!({"command": "bash", "args": ["-c", "rm it's"]})), r"bash -c 'rm it'\''s'");
        assert_eq!(command(json!({"command": "ls", "args": null, "env": null})), "ls");
        let env = json!([{"name": "LD_PRELOAD", "value": "/tmp/x"}, {"name": "CLAUDECODE", "value": "1"}]);
        assert_eq!(command(json!({"command": "ls", "env": env})), "export LD_PRELOAD=/tmp/x; ls");
        for wrong in [
            json!({"args": ["a"]}),
            json!({"command": ["ls"]}),
            json!({"command": "ls", "args": [1]}),
            json!({"command": "ls", "env": [{"name": "PATH"}]}),
        ] {
            assert!(terminal(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_editor_that_joins_words_reads_another_command() {
        let joined = |params: Value| {
            let call = terminal(params.clone()).unwrap();
            call.joined_by_spaces(&object_of(params)).map(|call| call.command().unwrap().to_owned())
        };
        assert_eq!(joined(json!({"command": "git", "args": ["log", "--oneline"]})), None);
        assert_eq!(joined(json!({"command": "cd x && make"})), None);
        assert_eq!(joined(json!({"command": "echo", "args": ["a; rm b"]})).as_deref(), Some("echo a; rm b"));
    }

    #[test]
    fn a_changed_command_keeps_the_request_s_form() {
        let rewritten = |params: Value, command: &str| {
            let call = terminal(params.clone()).unwrap();
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": CREATE_TERMINAL, "params": params}).to_string();
            let line = call.rewrite(line.as_bytes(), &object(&[("command", command)])).unwrap();
            serde_json::from_slice::<Value>(&line).unwrap()["params"].clone()
        };
        assert_eq!(rewritten(json!({"command": "a"}), "b c"), json!({"command": "b c"}));
        let with_args = rewritten(json!({"command": "a", "args": ["x"]}), "b c");
        assert_eq!(with_args, json!({"command": "sh", "args": ["-c", "b c"]}));
        let same = rewritten(json!({"command": "a", "args": ["x"]}), "a x");
        assert_eq!(same, json!({"command": "a", "args": ["x"]}));
        let confined = "HOOKWRIGHT_COMMAND='npm test' /bin/hookwright run --plan /p --command-from HOOKWRIGHT_COMMAND";
        let confined = rewritten(json!({"command": "npm", "args": ["test"], "env": []}), confined);
        assert_eq!(confined["command"], "/bin/hookwright");
        assert_eq!(confined["args"], json!(["run", "--plan", "/p", "--command-from", "HOOKWRIGHT_COMMAND"]));
        assert_eq!(confined["env"], json!([{"name": "HOOKWRIGHT_COMMAND", "value": "npm test"}]));
    }

    #[test]
    fn reported_calls_are_read_as_far_as_they_say_what_they_do() {
        let read = |call: Value, agent| {
            let call = JudgedCall::of_report(&object_of(call), agent);
            (call.tool.clone(), call.inputs.clone(), call.vocabulary)
        };
        let bash = json!({"toolCallId": "1", "kind": "execute", "title": "x", "rawInput": {"command": "ls"},
            "_meta": {"claudeCode": {"toolName": "Bash"}}});
        let (tool, _, vocabulary) = read(bash.clone(), Some(Host::ClaudeCode));
        assert_eq!((tool.as_str(), vocabulary), ("Bash", Some(Host::ClaudeCode)));
        let (tool, inputs, _) = read(bash, None);
        assert_eq!((tool.as_str(), &inputs[0]["command"]), ("execute", &json!("ls")));
        let listed = json!({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "a b"], "cwd": "/x"}});
        assert_eq!(read(listed, None).1[0]["command"], "bash -lc 'a b'");
        let titled = json!({"kind": "execute", "title": "rm -rf x"});
        assert_eq!(read(titled.clone(), Some(Host::GeminiCli)).1[0]["command"], "rm -rf x");
        assert_eq!(read(titled, None).1[0].get("command"), None);
        let edits = json!({"kind": "edit", "content": [{"type": "diff", "path": "/a", "newText": "1"},
            {"type": "content"}, {"type": "diff", "path": "/b", "newText": "2"}]});
        assert_eq!(read(edits, None).1.len(), 2);
        let deletion = json!({"kind": "delete", "locations": [{"path": "/a"}]});
        assert_eq!(read(deletion, None).1[0]["path"], "/a");
        assert_eq!(read(json!({}), None).0, "a call");
    }
}
