//! Statements for databases: whether they only look.

use crate::observer::{Aspects, Fact};
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth, Verb};
use crate::value::Argument;

pub(super) fn run(call: &mut Call<'_, '_>) {
    call.by_file();
    // A database that is missing is made, whatever the statement is.
    let is_address = |file: &Argument| file.beginning().to_ascii_lowercase().starts_with("file:");
    if database_file(call).as_ref().is_some_and(is_address) {
        let aspects = Aspects::of(&[Aspect::Reads, Aspect::Writes]);
        call.interpreter.unsure_program(aspects, "the address of a database may name any file");
    }
    let Some(file) = database_file(call).filter(|_| !call.parsed.has("-readonly")) else { return };
    let disk = call.interpreter.environment.disk;
    let is_there =
        file.text().and_then(|text| call.state.path(text)).is_some_and(|path| disk.target_kind(&path).is_some());
    if !is_there || call.interpreter.changed {
        call.touch(Access::Write, &file, Depth::Itself);
    }
}

/// The file that holds the database, for programs without a server.
fn database_file(call: &Call<'_, '_>) -> Option<Argument> {
    const FILE_DATABASES: [&str; 2] = ["sqlite", "duckdb"];
    let service = call.body.service.as_deref()?;
    let file =
        call.parsed.operands.first().filter(|_| FILE_DATABASES.contains(&service) && !call.parsed.is_set("version"))?;
    (!matches!(file.text(), Some("" | ":memory:"))).then(|| file.clone())
}

/// A statement, as far as it can be read.
pub(super) fn statement(call: &mut Call<'_, '_>, word: &Argument) {
    let Some(service) = call.body.service.clone() else {
        return call
            .interpreter
            .unsure_program(Aspects::ALL, format!("{}: which database it is about is not known", call.name));
    };
    let known = word.text().filter(|_| !call.is_found_name(word));
    let verb = known.map(str::to_owned).and_then(|text| classify(&text));
    match verb {
        Some(verb) => {
            call.interpreter.tell(&Fact::Service { name: &service, verb });
            if let Some(file) = database_file(call).filter(|_| verb != Verb::Read) {
                call.touch(Access::Write, &file, Depth::Itself);
            }
        }
        None => call
            .interpreter
            .unsure_program(Aspects::ALL, format!("what the statement for {} does is not clear", call.name)),
    }
}

/// What a statement does; nothing if that can't be told.
fn classify(text: &str) -> Option<Verb> {
    const READS: [&str; 10] =
        ["SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE", "WITH", "PRAGMA", "FROM"];
    const WRITES: [&str; 10] =
        ["INSERT", "UPDATE", "CREATE", "ALTER", "REPLACE", "MERGE", "GRANT", "REVOKE", "COMMENT", "RENAME"];
    const DELETES: [&str; 3] = ["DELETE", "DROP", "TRUNCATE"];
    /// Words that a statement which only reads does not have: they write, load or run something.
    const ODD: [&str; 38] = [
        "INTO",
        "OUTFILE",
        "DUMPFILE",
        "LOAD",
        "LOAD_FILE",
        "COPY",
        "EXECUTE",
        "EXEC",
        "CALL",
        "DO",
        "ATTACH",
        "INSTALL",
        "SET",
        "IMPORT",
        "EXPORT",
        "WRITEFILE",
        "READFILE",
        "LOAD_EXTENSION",
        "PG_READ_FILE",
        "PG_LS_DIR",
        "LO_IMPORT",
        "LO_EXPORT",
        "DBLINK",
        "XP_CMDSHELL",
        "PG_TERMINATE_BACKEND",
        "PG_CANCEL_BACKEND",
        "SETVAL",
        "NEXTVAL",
        "SLEEP",
        "BENCHMARK",
        "READ_CSV",
        "READ_PARQUET",
        "READ_JSON",
        "EDIT",
        "VIRTUAL",
        "OPTIMIZE",
        "INCREMENTAL_VACUUM",
        "WAL_CHECKPOINT",
    ];
    let plain = without_quotes(text)?;
    let mut strongest = None;
    for statement in plain.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        let words: Vec<String> = statement
            .split(|char: char| !(char.is_alphanumeric() || char == '_'))
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_uppercase)
            .collect();
        let first = words.first()?.as_str();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        // Functions that read files, run statements or change settings have names that begin so.
        const ODD_BEGINNINGS: [&str; 14] = [
            "READ_",
            "WRITE",
            "PG_READ",
            "PG_LS",
            "PG_STAT_FILE",
            "LO_",
            "DBLINK",
            "QUERY_TO",
            "SET_CONFIG",
            "FSDIR",
            "GLOB",
            "ZIPFILE",
            "XP_",
            "SP_",
        ];
        if words.iter().any(|word| ODD_BEGINNINGS.iter().any(|odd| word.starts_with(odd))) {
            return None;
        }
        /// Words that belong to statements which write.
        const OF_WRITES: [&str; 3] = ["INTO", "SET", "DO"];
        let is_odd = |word: &str| ODD.contains(&word) && !(WRITES.contains(&first) && OF_WRITES.contains(&word));
        if statement.starts_with(['.', '\\', '!']) || words.iter().any(|word| is_odd(word)) {
            return None;
        }
        // A pragma with a value, and anything that analyses by running, writes.
        let odd_read = (first == "PRAGMA" && statement.contains(['=', '(']))
            || (first == "EXPLAIN" && has(&["ANALYZE", "ANALYSE"]));
        let verb = if DELETES.contains(&first) || has(&DELETES) && !odd_read && READS.contains(&first) {
            Verb::Delete
        } else if READS.contains(&first) && !odd_read {
            if has(&WRITES) { Verb::Write } else { Verb::Read }
        } else if WRITES.contains(&first) {
            Verb::Write
        } else {
            return None;
        };
        let weight = |verb: &Verb| matches!(verb, Verb::Write) as u8 + 2 * matches!(verb, Verb::Delete) as u8;
        strongest = strongest.filter(|known| weight(known) >= weight(&verb)).or(Some(verb));
    }
    strongest
}

/// The text without what stands in quotes; nothing if there are comments or quotes without an end.
fn without_quotes(text: &str) -> Option<String> {
    if ["--", "/*", "#", "\\", "`", "$$"].iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let mut plain = String::new();
    let mut quote = None;
    for (at, char) in text.char_indices() {
        match quote {
            Some(open) if char == open => {
                quote = None;
                // The name of a function may be quoted.
                if text[at + 1..].trim_start().starts_with('(') {
                    return None;
                }
            }
            Some(_) => {}
            None if matches!(char, '\'' | '"') => {
                quote = Some(char);
                plain.push(' ');
            }
            None => plain.push(char),
        }
    }
    quote.is_none().then_some(plain)
}
