//! Little languages: programs whose words a table can't describe.

mod archive;
mod awk;
mod copy;
pub(crate) mod curl;
mod environment;
mod find;
pub(crate) mod git;
mod grep_wrapper;
pub(crate) mod literal_code;
pub(crate) mod network;
mod patch;
pub(crate) mod perl;
mod runners;
mod sed;
pub(crate) mod settings;
pub(crate) mod shell;
mod sql;
mod ssh;

use super::call::Call;
use super::spec::{self, Access};
use crate::value::Argument;

type Code = fn(&mut Call<'_, '_>);

/// The code that program files may name.
const CODE: &[(&str, Code)] = &[
    ("apply-patch", patch::apply),
    ("awk", awk::run),
    ("copy", copy::run),
    ("curl", curl::run),
    ("dd", copy::dd),
    ("env", environment::run),
    ("fd", runners::fd),
    ("find", find::run),
    ("git-clone", git::clone),
    ("git-push", git::push),
    ("grep-wrapper", grep_wrapper::run),
    ("make", shell::make),
    ("mlr", runners::mlr),
    ("parallel", runners::parallel),
    ("patch", patch::run),
    ("perl", perl::run),
    ("sed", sed::run),
    ("shell", shell::run),
    ("sql", sql::run),
    ("ssh", ssh::run),
    ("tar", archive::tar),
    ("wget", curl::wget),
    ("xargs", runners::xargs),
];

pub(super) fn run(name: &str, call: &mut Call<'_, '_>) {
    match CODE.iter().find(|(known, _)| *known == name) {
        Some((_, code)) => code(call),
        None => call.interpreter.unsure_all(format!("what {} does is not known", call.name)),
    }
}

/// What a word is to the code of its program.
pub(super) fn named_role(role: &str, call: &mut Call<'_, '_>, word: &Argument) {
    match role {
        "assignment" => {}
        "rev" => git::revision(call, word),
        "rev-or-path" => git::revision_or_path(call, word),
        "directory" => match word.text().and_then(|text| call.state.path(text)) {
            Some(path) => call.state.cwd = Some(path.into()),
            None => call.state.cwd = None,
        },
        "curl-data" => curl::data(call, word, '@'),
        "curl-urlencode" => curl::urlencoded(call, word),
        "request-header" => curl::header(call, word),
        "curl-header" => curl::data(call, word, '@'),
        "curl-form" => curl::form(call, word),
        "remote-list" => list(call, word),
        "fzf-bind" => {
            const ACTING: [&str; 11] = [
                "execute",
                "become",
                "reload",
                "transform",
                "preview",
                "listen",
                "unix",
                "http",
                "print(",
                "put",
                "change-",
            ];
            if word.text().is_none_or(|text| ACTING.iter().any(|action| text.contains(action))) {
                call.interpreter.unsure_all(format!("{} may run a command", word.shown));
            }
        }
        // Where a word is no number, the program takes it for something else.
        "number" => {
            let is_number = |text: &str| text.starts_with(|char: char| char.is_ascii_digit() || "+-".contains(char));
            if !word.text().is_some_and(is_number) {
                call.interpreter.unsure_all(format!("what {} does with {} is not known", call.name, word.shown));
            }
        }
        "jq-filter" => {
            // A filter may load modules and data, which it names as text.
            let loads = |text: &str| {
                text.split(|char: char| !char.is_alphanumeric() && !matches!(char, '.' | '_' | '$'))
                    .any(|part| matches!(part, "import" | "include" | "modulemeta" | "get_search_list"))
            };
            if call.is_found_name(word) || word.text().is_none_or(loads) {
                call.interpreter.unsure(spec::Aspect::Reads, format!("{} may load other files", call.name));
            }
            if word.text().is_none_or(|text| text.contains("env") || text.contains("ENV")) {
                let taint = call.interpreter.environment_printed();
                call.interpreter.read_taint = call.interpreter.read_taint.and(taint);
            }
        }
        "output-format" => {
            // `go-template-file=F` and its kin read a template.
            if word.text().is_none_or(|text| text.contains("-file")) {
                call.interpreter.unsure(spec::Aspect::Reads, format!("{} may name a file", word.shown));
            }
        }
        "sql" => sql::statement(call, word),
        "pathspec" | "pathspec-read" => git::pathspec(call, word, Access::Read),
        "pathspec-write" => git::pathspec(call, word, Access::Write),
        "pathspec-delete" => git::pathspec(call, word, Access::Delete),
        "git-remote" => git::remote(call, word),
        "top-read" => git::counted_from_top(call, word, Access::Read),
        "top-write" => git::counted_from_top(call, word, Access::Write),
        "charset" => {
            // A name with a slash, other than `//` before an ending, is a file that describes it.
            let name = word.text().map(|text| text.split("//").next().unwrap_or_default().contains('/'));
            if name.unwrap_or(true) {
                call.touch(Access::Read, word, spec::Depth::Itself);
            }
        }
        "zip-archive" => archive::zip(call, word, Access::Write),
        "zip-archive-read" => archive::zip(call, word, Access::Read),
        "gzip-read" => archive::gzip(call, word, Access::Read),
        "gzip-delete" => archive::gzip(call, word, Access::Delete),
        "followed-tree" => archive::followed_tree(call, word),
        "followed-delete" => archive::followed_delete(call, word),
        "compared" => archive::compared(call, word),
        _ => call.interpreter.unsure_all(format!("what {} does with {} is not known", call.name, word.shown)),
    }
}

/// Files and addresses, separated by commas.
fn list(call: &mut Call<'_, '_>, word: &Argument) {
    match word.text().map(str::to_owned) {
        Some(text) => {
            for one in text.split(',').filter(|one| !one.is_empty()) {
                network::remote_or_file(call, &Argument::known(one));
            }
        }
        None => call.interpreter.unsure_all(format!("{} is only known when it runs", word.shown)),
    }
}
