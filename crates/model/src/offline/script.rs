//! Parses a prompt as instructions for the offline model: `call`, `also`, `say`, `think`, one per line.
//! The whole prompt is parsed before any step is performed, so that an error in the last line runs nothing.

use serde_json::{Map, Value};

/// One step of the script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptStep {
    Think(String),
    Say(String),
    /// Tool calls made in one response.
    Call(Vec<ScriptedCall>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptedCall {
    pub(super) name: String,
    pub(super) args: Map<String, Value>,
}

/// An error in the prompt, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

/// Parses the prompt's instructions; the list is empty if no line is an instruction.
pub(super) fn parse_script(prompt: &str) -> Result<Vec<ScriptStep>, ScriptError> {
    let mut reader = ScriptReader { prompt, position: 0, steps: Vec::new(), after_call: false };
    while reader.position < prompt.len() {
        reader.read_line()?;
    }
    Ok(reader.steps)
}

/// Returns the index of the next step after this number of finished calls.
pub(super) fn next_step_index(steps: &[ScriptStep], calls_done: usize) -> usize {
    let mut left = calls_done;
    let mut at = 0;
    while left > 0 && at < steps.len() {
        if let ScriptStep::Call(calls) = &steps[at] {
            left = left.saturating_sub(calls.len());
        }
        at += 1;
    }
    at
}

struct ScriptReader<'a> {
    prompt: &'a str,
    position: usize,
    steps: Vec<ScriptStep>,
    after_call: bool,
}

impl<'a> ScriptReader<'a> {
    fn read_line(&mut self) -> Result<(), ScriptError> {
        let start = self.position;
        let line = self.prompt[start..].split('\n').next().unwrap_or_default();
        self.position = start + line.len() + 1;
        let indent = line.len() - line.trim_start().len();
        let word_end = line[indent..].find(char::is_whitespace).map_or(line.len(), |n| indent + n);
        let rest = line[word_end..].trim();
        let after_call = std::mem::take(&mut self.after_call);
        match &line[indent..word_end] {
            "say" => self.steps.push(ScriptStep::Say(rest.to_owned())),
            "think" if !rest.is_empty() => self.steps.push(ScriptStep::Think(rest.to_owned())),
            "call" if !rest.is_empty() => {
                let call = self.read_call(start + word_end)?;
                self.steps.push(ScriptStep::Call(vec![call]));
            }
            "also" if !rest.is_empty() => {
                let call = self.read_call(start + word_end)?;
                match self.steps.last_mut() {
                    Some(ScriptStep::Call(calls)) if after_call => calls.push(call),
                    _ => {
                        let what = "`also` adds to the call on the line before it, but there is none";
                        return Err(self.error_at(start + indent, what));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads `TOOL {json}` at this offset; the object may span several lines.
    fn read_call(&mut self, from: usize) -> Result<ScriptedCall, ScriptError> {
        self.after_call = true;
        let rest: &'a str = &self.prompt[from..];
        let name_at = from + (rest.len() - rest.trim_start().len());
        let rest = &self.prompt[name_at..];
        let name_len = rest.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(rest.len());
        let name = rest[..name_len].to_owned();
        let after = rest[name_len..].trim_start_matches([' ', '\t']);
        let json_at = name_at + (rest.len() - after.len());
        if name.is_empty() {
            return Err(self.error_at(name_at, "the tool's name is missing"));
        }
        if matches!(after.trim_start_matches('\r').chars().next(), None | Some('\n')) {
            return Ok(ScriptedCall { name, args: Map::new() });
        }
        if !after.starts_with('{') {
            let what = format!("expected a JSON object with the arguments of {name}");
            return Err(self.error_at(json_at, what));
        }
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Map<String, Value>>();
        let args = match values.next() {
            Some(Ok(args)) => args,
            Some(Err(error)) if error.is_eof() => {
                return Err(self.error_at(json_at, "this JSON object is not closed"));
            }
            Some(Err(error)) => {
                let text = error.to_string();
                let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
                let at = json_at + byte_offset(after, error.line(), error.column());
                return Err(self.error_at(at, what));
            }
            None => Map::new(),
        };
        let end = json_at + values.byte_offset();
        let tail = self.prompt[end..].split('\n').next().unwrap_or_default();
        if !tail.trim().is_empty() {
            let at = end + (tail.len() - tail.trim_start().len());
            return Err(self.error_at(at, "something follows the JSON object"));
        }
        self.position = end + tail.len() + 1;
        Ok(ScriptedCall { name, args })
    }

    fn error_at(&self, at: usize, what: impl Into<String>) -> ScriptError {
        let before = &self.prompt[..self.prompt.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ScriptError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: what.into(),
        }
    }
}

/// Returns the byte offset of a line and a column, both counted from 1 and in bytes.
fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn call(name: &str, args: Value) -> ScriptedCall {
        ScriptedCall { name: name.into(), args: args.as_object().unwrap().clone() }
    }

    #[test]
    fn every_kind_of_line() {
        let steps =
            parse_script("Hello!\n  say hi there \r\nthink hm\ncall a {\"x\": 1}\nalso b{}\n\ncall c\nsay").unwrap();
        assert_eq!(
            steps,
            [
                ScriptStep::Say("hi there".into()),
                ScriptStep::Think("hm".into()),
                ScriptStep::Call(vec![call("a", json!({"x": 1})), call("b", json!({}))]),
                ScriptStep::Call(vec![call("c", json!({}))]),
                ScriptStep::Say(String::new()),
            ]
        );
        assert_eq!(parse_script("what is this?\nsaying nothing\ncaller id"), Ok(vec![]));
    }

    #[test]
    fn arguments_may_go_over_lines() {
        let steps = parse_script("call a {\n  \"x\": \"say no\",\n  \"y\": 2\n}\nsay done").unwrap();
        assert_eq!(steps[0], ScriptStep::Call(vec![call("a", json!({"x": "say no", "y": 2}))]));
        assert_eq!(steps[1], ScriptStep::Say("done".into()));
    }

    #[test]
    fn script_errors_have_a_position() {
        let mistake = |text: &str| {
            let ScriptError { line, column, message: what } = parse_script(text).unwrap_err();
            format!("{line}:{column} {what}")
        };
        assert_eq!(mistake("call a {\"x\": nope}"), "1:15 expected ident");
        assert_eq!(mistake("say ü\ncall a {\"x\":"), "2:8 this JSON object is not closed");
        assert_eq!(mistake("call a \"x\""), "1:8 expected a JSON object with the arguments of a");
        assert_eq!(mistake("call a {} b"), "1:11 something follows the JSON object");
        assert_eq!(mistake("say x\nalso a {}"), "2:1 `also` adds to the call on the line before it, but there is none");
        assert_eq!(mistake("call {}"), "1:6 the tool's name is missing");
    }

    #[test]
    fn resuming_counts_calls() {
        let steps = parse_script("say 1\ncall a\nalso b\nthink x\ncall c\nsay 2").unwrap();
        let at = |done| next_step_index(&steps, done);
        assert_eq!((at(0), at(1), at(2), at(3), at(9)), (0, 2, 2, 4, 5));
    }

    proptest! {
        #[test]
        fn any_prompt_parses_without_panic(text in "(call |also |say |think |\\{|\\}|\"|:|,|1|é|\n|\r|\t| |[a-z]){0,40}") {
            let _ = parse_script(&text);
        }
    }
}
