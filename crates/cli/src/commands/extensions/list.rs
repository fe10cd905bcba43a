//! `extensions list`: the installed extensions, their origin, whether they are active here, and what they bring.

use std::io::Write;

use hookwright_extensions::ExtensionSummary;
use hookwright_settings::{Extension, ExtensionOwner};
use serde_json::{Map, Value, json};

use crate::commands::hooks::LoadedProject;
use crate::output::{self, BOLD, DIM, GOOD, paint};
use crate::{exit, output::diagnostics};

pub(super) fn run(toolbox: &LoadedProject, as_json: bool) -> anyhow::Result<u8> {
    let loaded = &toolbox.loaded;
    let all: Vec<(&Extension, Option<ExtensionSummary>)> =
        loaded.extensions.iter().map(|one| (one, ExtensionSummary::read(&one.install_dir, loaded).ok())).collect();
    if as_json {
        let list: Vec<Value> = all.iter().map(|(one, brings)| extension_json(one, brings.as_ref())).collect();
        output::print_json(&Value::Array(list))?;
        return Ok(exit::OK);
    }
    let folders = [&loaded.paths.extensions, &loaded.paths.project_extensions(&loaded.project.root)];
    let about = loaded
        .registry
        .diagnostics()
        .iter()
        .filter(|wrong| folders.iter().any(|folder| wrong.file.starts_with(folder)));
    diagnostics::print(about)?;
    if all.is_empty() {
        output::note("no extension is installed")?;
        output::hint("`hookwright extensions install SOURCE` installs one, `new PATH` begins one")?;
    }
    let mut stdout = output::stdout();
    for (one, brings) in &all {
        let (style, state) = if one.active { (GOOD, "active") } else { (DIM, "disabled here") };
        writeln!(stdout, "{} {} ({})", paint(BOLD, &one.name), output::one_line(&one.version), paint(style, state))?;
        if let Some(about) = &one.description {
            writeln!(stdout, "  {}", output::one_line(about))?;
        }
        writeln!(stdout, "  {}", paint(DIM, output::one_line(&origin_text(one))))?;
        for section in brings.iter().flat_map(|brings| &brings.sections) {
            let items: Vec<&str> = section.items.iter().map(|item| item.text.as_str()).collect();
            writeln!(stdout, "  {}: {}", section.title, output::one_line(&items.join(", ")))?;
        }
        let unset = one.settings.iter().filter(|setting| !one.env.iter().any(|(name, _)| *name == setting.variable));
        let unset: Vec<String> = unset.map(|setting| output::one_line(&setting.name)).collect();
        if !unset.is_empty() {
            writeln!(stdout, "  without a value: {}", unset.join(", "))?;
        }
    }
    Ok(exit::OK)
}

fn origin_text(one: &Extension) -> String {
    let here = one.path.display();
    match (&one.origin, one.owner) {
        (_, ExtensionOwner::Project) => format!("{here}, with the project"),
        (Some(origin), _) if one.path != one.install_dir => format!("{here}, {}", origin.kind.as_str()),
        (Some(origin), _) => {
            let reference = origin.reference.as_ref().map(|name| format!(" at {name}")).unwrap_or_default();
            format!("{here}, from {} ({}{reference})", origin.source, origin.kind.as_str())
        }
        (None, _) => here.to_string(),
    }
}

/// Returns what an extension brings, by kind.
pub(super) fn contents_json(brings: &ExtensionSummary) -> Value {
    let one = |section: &hookwright_extensions::SummarySection| {
        let items: Vec<Value> =
            section.items.iter().map(|item| json!({"text": item.text, "details": item.details})).collect();
        (section.title.to_owned(), Value::Array(items))
    };
    Value::Object(brings.sections.iter().map(one).collect::<Map<_, _>>())
}

fn extension_json(one: &Extension, brings: Option<&ExtensionSummary>) -> Value {
    let origin = one.origin.as_ref();
    json!({
        "name": one.name,
        "version": one.version,
        "description": one.description,
        "active": one.active,
        "path": one.path,
        "owner": match one.owner { ExtensionOwner::User => "user", ExtensionOwner::Project => "project" },
        "source": origin.map(|origin| &origin.source),
        "type": origin.map(|origin| origin.kind.as_str()),
        "ref": origin.and_then(|origin| origin.reference.as_ref()),
        "commit": origin.and_then(|origin| origin.commit.as_ref()),
        "settings": one.settings.iter().map(|setting| json!({
            "name": setting.name, "variable": setting.variable, "sensitive": setting.sensitive,
            "set": one.env.iter().any(|(name, _)| *name == setting.variable),
        })).collect::<Vec<_>>(),
        "brings": brings.map(contents_json),
    })
}
