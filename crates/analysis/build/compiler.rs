//! Program files (`programs/*.toml`, see docs/programs.md) → their compiled form, or what is wrong with them and where.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::spec::{
    Access, Aspect, Body, Case, Condition, Count, Depth, Effect, Language, Operand, OptionSpec, Program,
    RepositoryChange, Role, Service, Source, SubCommand, Syntax, Verb,
};

/// All program files, compiled.
#[derive(Default)]
pub struct Compiled {
    pub programs: Vec<Program>,
    pub services: Vec<Service>,
    /// Programs whose work is written down in files of a project, with those files.
    pub runners: BTreeMap<String, Vec<String>>,
    /// The examples of the files, with the file's name.
    pub examples: Vec<(String, Table)>,
}

type Result<T> = std::result::Result<T, String>;

/// Roles that only a program's code understands.
const CODE_ROLES: &[&str] = &[
    "request-header",
    "fzf-bind",
    "jq-filter",
    "number",
    "curl-urlencode",
    "remote-list",
    "output-format",
    "curl-data",
    "curl-header",
    "curl-form",
    "sql",
    "pathspec",
    "pathspec-read",
    "pathspec-write",
    "pathspec-delete",
    "git-remote",
    "top-read",
    "top-write",
    "rev",
    "rev-or-path",
    "assignment",
    "directory",
    "zip-archive",
    "zip-archive-read",
    "gzip-read",
    "gzip-delete",
    "followed-tree",
    "compared",
    "charset",
    "followed-delete",
];

/// Compiles files, given as names and texts.
pub fn compile(files: &[(String, String)]) -> std::result::Result<Compiled, Vec<String>> {
    let mut tables = Vec::new();
    let mut errors = Vec::new();
    for (name, text) in files {
        match text.parse::<Table>() {
            Ok(table) => tables.push((name, table)),
            Err(error) => errors.push(format!("{name}: {error}")),
        }
    }
    let mut compiled = Compiled::default();
    for (name, table) in &tables {
        if let Err(error) = services(table, &mut compiled.services) {
            errors.push(format!("{name}: {error}"));
        }
        if let Err(error) = runners(table, &mut compiled.runners) {
            errors.push(format!("{name}: {error}"));
        }
    }
    let peers: BTreeMap<String, Option<String>> =
        compiled.services.iter().map(|service| (service.name.clone(), service.peer.clone())).collect();
    if peers.len() < compiled.services.len() {
        errors.push("a service is declared twice".to_owned());
    }
    for (name, table) in &tables {
        for key in table.keys().filter(|key| !matches!(key.as_str(), "program" | "example" | "service" | "runner")) {
            errors.push(format!("{name}: {key}: not a key of a program file"));
        }
        for program in array(table, "program") {
            match (Compiler { peers: &peers }).program(program) {
                Ok(program) => compiled.programs.push(program),
                Err(error) => errors.push(format!("{name}: {error}")),
            }
        }
        compiled.examples.extend(array(table, "example").map(|example| ((*name).clone(), example.clone())));
    }
    let mut owners = BTreeMap::new();
    for name in compiled.programs.iter().flat_map(|program| &program.names) {
        if owners.insert(name.clone(), ()).is_some() {
            errors.push(format!("{name} is described twice"));
        }
    }
    if errors.is_empty() { Ok(compiled) } else { Err(errors) }
}

fn array<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = &'t Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn services(table: &Table, found: &mut Vec<Service>) -> Result<()> {
    for service in array(table, "service") {
        let text = |key: &str| service.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("name").ok_or("a service without a name")?;
        let about = text("about").ok_or_else(|| format!("service {name}: about is missing"))?;
        found.push(Service { name, about, peer: text("peer") });
    }
    Ok(())
}

fn runners(table: &Table, found: &mut BTreeMap<String, Vec<String>>) -> Result<()> {
    for runner in array(table, "runner") {
        if let Some(key) = runner.keys().find(|key| !matches!(key.as_str(), "names" | "files")) {
            return Err(format!("{key}: not a key of a runner"));
        }
        let files = strings(runner, "files")?;
        for name in strings(runner, "names")? {
            if found.insert(name.clone(), files.clone()).is_some() {
                return Err(format!("runner {name} is described twice"));
            }
        }
    }
    Ok(())
}

struct Compiler<'p> {
    peers: &'p BTreeMap<String, Option<String>>,
}

const BODY_KEYS: [&str; 9] =
    ["options", "operands", "default", "does", "cases", "code", "use", "service", "environment"];
const PROGRAM_KEYS: [&str; 7] = ["names", "syntax", "language", "options-first", "response-files", "commands", "sets"];

impl Compiler<'_> {
    fn program(&self, table: &Table) -> Result<Program> {
        let names = strings(table, "names")?;
        let first = names.first().cloned().ok_or("a program without names")?;
        self.named_program(table, names).map_err(|error| format!("{first}: {error}"))
    }

    fn named_program(&self, table: &Table, names: Vec<String>) -> Result<Program> {
        let known = |key: &str| BODY_KEYS.contains(&key) || PROGRAM_KEYS.contains(&key);
        if let Some(key) = table.keys().find(|key| !known(key)) {
            return Err(format!("{key}: not a key of a program"));
        }
        let syntax = match table.get("syntax").map(|value| value.as_str().unwrap_or_default()) {
            None | Some("gnu") => Syntax::Gnu,
            Some("exact") => Syntax::Exact,
            Some("single") => Syntax::Single,
            Some("plain") => Syntax::Plain,
            Some(other) => return Err(format!("syntax {other}: expected gnu, exact, single or plain")),
        };
        let language = match table.get("language").map(|value| value.as_str().unwrap_or_default()) {
            None => None,
            Some("shell") => Some(Language::Shell),
            Some("python") => Some(Language::Python),
            Some("node") => Some(Language::Node),
            Some("other") => Some(Language::Other),
            Some(other) => return Err(format!("language {other}: expected shell, python, node or other")),
        };
        let sets = table.get("sets").and_then(Value::as_table).cloned().unwrap_or_default();
        let mut commands = Vec::new();
        for (key, value) in table.get("commands").and_then(Value::as_table).into_iter().flatten() {
            let command = self.command(key, value, &sets).map_err(|error| format!("command {key:?}: {error}"))?;
            commands.push(command);
        }
        Ok(Program {
            names,
            syntax,
            language,
            options_first: table.get("options-first").and_then(Value::as_bool).unwrap_or_default(),
            response_files: table.get("response-files").and_then(Value::as_bool).unwrap_or_default(),
            environment: if table.contains_key("environment") { strings(table, "environment")? } else { Vec::new() },
            body: self.body(table, &sets)?,
            commands,
        })
    }

    fn command(&self, key: &str, value: &Value, sets: &Table) -> Result<SubCommand> {
        let words = |one: &str| one.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let patterns: Vec<Vec<String>> = key.split('|').map(words).collect();
        if patterns.iter().any(Vec::is_empty) {
            return Err("a name is empty".to_owned());
        }
        let text = Some(vec![Operand { roles: vec![Role::Text], count: Count::Any }]);
        let body = match value {
            Value::String(effects) => {
                let does = effects.split_whitespace().map(|one| self.effect(one)).collect::<Result<_>>();
                // A reason has spaces in it.
                let does = if effects.starts_with("unsure") { Ok(vec![self.effect(effects)?]) } else { does };
                Body { operands: text, does: does?, ..Body::default() }
            }
            Value::Table(table) => {
                if let Some(key) = table.keys().find(|key| !BODY_KEYS.contains(&key.as_str())) {
                    return Err(format!("{key}: not a key of a command"));
                }
                let mut body = self.body(table, sets)?;
                body.operands = body.operands.or(text);
                body
            }
            _ => return Err("expected effects or a table".to_owned()),
        };
        Ok(SubCommand { patterns, body })
    }

    fn body(&self, table: &Table, sets: &Table) -> Result<Body> {
        let mut options = Vec::new();
        let none = Table::new();
        let own = table.get("options").and_then(Value::as_table).unwrap_or(&none);
        self.options(own, &mut options)?;
        if table.contains_key("use") {
            for name in strings(table, "use")? {
                let set = sets.get(&name).and_then(Value::as_table).ok_or_else(|| format!("no set {name}"))?;
                self.options(set, &mut options)?;
            }
        }
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut cases = Vec::new();
        for case in array(table, "cases") {
            cases.push(self.case(case)?);
        }
        Ok(Body {
            options,
            operands: text("operands").map(|text| operands(&text)).transpose()?,
            default: text("default"),
            does: self.effects(table)?.unwrap_or_default(),
            cases,
            code: text("code"),
            service: text("service"),
        })
    }

    fn case(&self, table: &Table) -> Result<Case> {
        if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "if" | "operands" | "default" | "does")) {
            return Err(format!("{key}: not a key of a case"));
        }
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let conditions = text("if").ok_or("a case without if")?;
        Ok(Case {
            conditions: conditions.split_whitespace().map(condition).collect::<Result<_>>()?,
            operands: text("operands").map(|text| operands(&text)).transpose()?,
            default: text("default"),
            does: self.effects(table)?,
        })
    }

    fn effects(&self, table: &Table) -> Result<Option<Vec<Effect>>> {
        if !table.contains_key("does") {
            return Ok(None);
        }
        strings(table, "does")?.iter().map(|text| self.effect(text)).collect::<Result<_>>().map(Some)
    }

    fn options(&self, table: &Table, found: &mut Vec<OptionSpec>) -> Result<()> {
        for (key, value) in table {
            let option = self.option(key, value).map_err(|error| format!("option {key:?}: {error}"))?;
            // A command's own word about an option counts before one of a set.
            let fresh: Vec<String> = option
                .names
                .iter()
                .filter(|name| !found.iter().any(|other: &OptionSpec| other.names.contains(name)))
                .cloned()
                .collect();
            if !fresh.is_empty() {
                found.push(OptionSpec { names: fresh, ..option });
            }
        }
        Ok(())
    }

    fn option(&self, key: &str, value: &Value) -> Result<OptionSpec> {
        let mut names = Vec::new();
        for name in key.split(',').map(str::trim) {
            if !name.starts_with(['-', '+']) || name.contains([' ', '=']) {
                return Err(format!("{name}: not the spelling of an option"));
            }
            match name.split_once("[no-]") {
                Some((before, after)) => names.extend([format!("{before}{after}"), format!("{before}no-{after}")]),
                None => names.push(name.to_owned()),
            }
        }
        let mut option = OptionSpec { names, ..OptionSpec::default() };
        match value {
            Value::String(text) => self.option_text(text, &mut option)?,
            Value::Array(values) => {
                for value in values {
                    option.values.push(roles(value.as_str().ok_or("a value that is no role")?)?);
                }
            }
            Value::Table(table) => {
                if let Some(key) =
                    table.keys().find(|key| !matches!(key.as_str(), "value" | "sets" | "clears" | "does"))
                {
                    return Err(format!("{key}: not a key of an option"));
                }
                match table.get("value") {
                    Some(Value::String(text)) => self.option_text(text, &mut option)?,
                    Some(Value::Array(values)) => {
                        for value in values {
                            option.values.push(roles(value.as_str().ok_or("a value that is no role")?)?);
                        }
                    }
                    Some(_) => return Err("value: expected a role".to_owned()),
                    None => {}
                }
                let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
                option.sets = text("sets").or(option.sets);
                option.clears = text("clears").or(option.clears);
                option.does.extend(self.effects(table)?.unwrap_or_default());
            }
            _ => return Err("expected what it takes".to_owned()),
        }
        Ok(option)
    }

    fn option_text(&self, text: &str, option: &mut OptionSpec) -> Result<()> {
        match text.split_once(':').map_or((text, ""), |(kind, rest)| (kind, rest.trim())) {
            ("flag", "") => {}
            ("file-value", "") => option.file_value = true,
            ("ends", "") => option.ends = true,
            ("sets", mode) => option.sets = Some(mode.to_owned()),
            ("clears", mode) => option.clears = Some(mode.to_owned()),
            ("unsure", reason) => option.does.push(Effect::Unsure(Vec::new(), reason.to_owned())),
            ("does", effect) => option.does.push(self.effect(effect)?),
            _ => {
                let role = text.strip_suffix('?');
                option.attached = role.is_some();
                option.values.push(roles(role.unwrap_or(text))?);
            }
        }
        Ok(())
    }

    fn effect(&self, text: &str) -> Result<Effect> {
        if text == "privileged" {
            return Ok(Effect::Privileged);
        }
        if let Some(rest) = text.strip_prefix("unsure") {
            let (lists, reason) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((lists, rest)) => (lists, rest),
                None => ("", rest),
            };
            let lists =
                lists.split(',').map(str::trim).filter(|list| !list.is_empty()).map(aspect).collect::<Result<_>>()?;
            return Ok(Effect::Unsure(lists, reason.trim_start_matches(':').trim().to_owned()));
        }
        let (kind, rest) = text.split_once(':').ok_or_else(|| format!("{text}: not an effect"))?;
        let path = |access: Access| match rest.strip_suffix("/**") {
            Some(path) => Effect::Path(access, Depth::Tree, path.to_owned()),
            None => Effect::Path(access, Depth::Itself, rest.to_owned()),
        };
        Ok(match kind {
            "list" => Effect::Path(Access::Read, Depth::Names, rest.trim_end_matches("/**").to_owned()),
            "read" => path(Access::Read),
            "write" => path(Access::Write),
            "delete" => path(Access::Delete),
            "network" => Effect::Network(rest.to_owned()),
            "process" => Effect::Process(rest.to_owned()),
            "prints" if rest == "environment" => Effect::Prints(Source::Environment),
            "prints" if rest == "clipboard" => Effect::Prints(Source::Clipboard),
            "prints" if rest == "shell-setup" => Effect::Prints(Source::ShellSetup),
            "repository" => {
                let (kind, what) = rest.split_once(' ').unwrap_or((rest, ""));
                Effect::Repository(repository_change(kind)?, what.to_owned())
            }
            service => {
                let peer = self
                    .peers
                    .get(service)
                    .ok_or_else(|| format!("{text}: not an effect; no service {service} is declared"))?;
                Effect::Service(service.to_owned(), verb(rest)?, peer.clone())
            }
        })
    }
}

fn strings(table: &Table, key: &str) -> Result<Vec<String>> {
    let values = table.get(key).and_then(Value::as_array).ok_or_else(|| format!("{key}: expected a list"))?;
    values
        .iter()
        .map(|value| value.as_str().map(str::to_owned).ok_or_else(|| format!("{key}: expected texts")))
        .collect()
}

fn condition(text: &str) -> Result<Condition> {
    let number = |text: &str| text.parse().map_err(|_| format!("{text}: expected a number"));
    Ok(match text {
        "operands" => Condition::OperandsOver(0),
        "!operands" => Condition::OperandsUpTo(0),
        text => {
            if let Some(rest) = text.strip_prefix("!operands>") {
                Condition::OperandsUpTo(number(rest)?)
            } else if let Some(rest) = text.strip_prefix("operands>") {
                Condition::OperandsOver(number(rest)?)
            } else if let Some(mode) = text.strip_prefix('!') {
                Condition::NotMode(mode.to_owned())
            } else {
                Condition::Mode(text.to_owned())
            }
        }
    })
}

fn operands(text: &str) -> Result<Vec<Operand>> {
    let one = |word: &str| {
        let (word, count) = match word.strip_suffix(['*', '+', '?']) {
            Some(rest) if word.ends_with('*') => (rest, Count::Any),
            Some(rest) if word.ends_with('+') => (rest, Count::Some),
            Some(rest) => (rest, Count::Optional),
            None => (word, Count::One),
        };
        Ok(Operand { roles: roles(word)?, count })
    };
    let operands: Vec<Operand> = text.split_whitespace().map(one).collect::<Result<_>>()?;
    let repeated = operands.iter().filter(|one| matches!(one.count, Count::Any | Count::Some)).count();
    if repeated > 1 {
        return Err(format!("operands {text:?}: only one role may be repeated"));
    }
    let is_command =
        |one: &Operand| one.roles.iter().any(|role| matches!(role, Role::Command | Role::CommandWithInput));
    if operands.iter().rev().skip(1).any(is_command) {
        return Err(format!("operands {text:?}: a command must be the last role"));
    }
    Ok(operands)
}

fn roles(text: &str) -> Result<Vec<Role>> {
    text.split('&').map(role).collect()
}

fn role(text: &str) -> Result<Role> {
    use Access::{Delete, Read, Write};
    Ok(match text {
        "text" => Role::Text,
        "digits" => Role::Digits,
        "read" => Role::Path(Read, Depth::Itself),
        "list-tree" => Role::Path(Read, Depth::Names),
        "read-tree" => Role::Path(Read, Depth::Tree),
        "write" => Role::Path(Write, Depth::Itself),
        "write-tree" => Role::Path(Write, Depth::Tree),
        "output" => Role::Output,
        "delete" => Role::Path(Delete, Depth::Itself),
        "delete-tree" => Role::Path(Delete, Depth::Tree),
        "url" => Role::Url,
        "host" => Role::Host,
        "remote" => Role::Remote,
        "process" => Role::Process,
        "shell" => Role::Shell,
        "command" => Role::Command,
        "command-with-input" => Role::CommandWithInput,
        "script" => Role::Script,
        "code" => Role::Code,
        "unsure" => Role::Unsure(String::new()),
        other if CODE_ROLES.contains(&other) => Role::Named(other.to_owned()),
        other => match other.strip_prefix("unsure:") {
            Some(reason) => Role::Unsure(reason.trim().to_owned()),
            None => return Err(format!("{other:?}: not a role")),
        },
    })
}

fn aspect(text: &str) -> Result<Aspect> {
    Ok(match text {
        "commands" => Aspect::Commands,
        "reads" => Aspect::Reads,
        "writes" => Aspect::Writes,
        "deletes" => Aspect::Deletes,
        "network" => Aspect::Network,
        "repository" => Aspect::Repository,
        "services" => Aspect::Services,
        "processes" => Aspect::Processes,
        "privileged" => Aspect::Privileged,
        "flows" => Aspect::Flows,
        other => return Err(format!("{other}: not a list of effects")),
    })
}

fn verb(text: &str) -> Result<Verb> {
    Ok(match text {
        "read" => Verb::Read,
        "write" => Verb::Write,
        "delete" => Verb::Delete,
        "run" => Verb::Run,
        other => return Err(format!("{other}: expected read, write, delete or run")),
    })
}

fn repository_change(text: &str) -> Result<RepositoryChange> {
    Ok(match text {
        "index" => RepositoryChange::Index,
        "commit" => RepositoryChange::Commit,
        "refs" => RepositoryChange::Refs,
        "config" => RepositoryChange::Config,
        "discard" => RepositoryChange::Discard,
        other => return Err(format!("{other}: expected index, commit, refs, config or discard")),
    })
}
