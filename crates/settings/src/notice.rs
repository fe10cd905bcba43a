//! Messages about a configuration that are no errors: what was ignored, what is new, what a project disabled. The
//! caller shows them.

use std::path::PathBuf;

use hookwright_hooks::Source;

use crate::project_contents::ContentChange;
use crate::trust::HookFinding;

/// A message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The project is not trusted, so these files of it were ignored.
    ProjectNotTrusted {
        /// Root of the project.
        root: PathBuf,
        /// The ignored files.
        ignored: Vec<PathBuf>,
    },
    /// A hook is new, or has changed since the user saw it.
    Hook {
        /// Name of the hook, else its command.
        hook: String,
        command: String,
        /// Source that declares the hook.
        source: Source,
        finding: HookFinding,
        /// Whether the hook waits for the user's trust.
        held: bool,
        /// Whether all files that it runs are known.
        certain: bool,
    },
    /// A guard is missing from the file that declared or required it.
    GuardRemoved {
        guard: String,
        /// The file that declared or required the guard.
        file: PathBuf,
    },
    /// The contents of the project have changed since the user was last told.
    ProjectContentsChanged {
        /// Kind of content: a setting's name, `commands`, `policies`, `agents` or `skills`.
        what: &'static str,
        /// The changed items.
        news: Vec<(String, ContentChange)>,
    },
    /// The project has context files for other agents only, which are not read.
    UnreadAgentsFile,
    /// The project's settings disable hooks of other sources.
    ProjectSwitchesOff {
        /// The hooks with their sources.
        hooks: Vec<(String, Source)>,
        how: SwitchOffMethod,
        /// Whether that waits for the user's trust; until then the hooks run.
        held: bool,
    },
}

/// How a project disables hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchOffMethod {
    /// It lists them as disabled.
    ByName,
    /// It disables all hooks.
    All,
}

impl Notice {
    /// Whether the notice is about something that waits for the user's trust.
    pub fn waits_for_trust(&self) -> bool {
        matches!(self, Notice::Hook { held: true, .. } | Notice::ProjectSwitchesOff { held: true, .. })
    }
}

impl serde::Serialize for Notice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::ProjectNotTrusted { root, ignored } => {
                let names: Vec<_> =
                    ignored.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                write!(f, "this folder is not trusted, so {} {verb} not loaded", join(&names))?;
                f.write_str("; review it, then run `hookwright hooks trust --folder`, or pass --skip-trust for one run")
            }
            Notice::Hook { hook, command, source, finding, held, certain } => {
                match finding {
                    HookFinding::New => write!(f, "new {source} hook `{hook}`")?,
                    HookFinding::Changed { what } => {
                        write!(f, "{source} hook `{hook}` has changed: {}", what.join("; "))?
                    }
                    HookFinding::SwitchOff => write!(f, "{source} hook `{hook}` is {finding}")?,
                }
                if hook != command {
                    let is_change = matches!(finding, HookFinding::Changed { .. });
                    match (command.strip_prefix("rule: "), is_change) {
                        (None, false) => write!(f, ", which runs `{command}`")?,
                        (None, true) => write!(f, "; it runs `{command}`")?,
                        (Some(rule), false) => write!(f, ", a rule: `{rule}`")?,
                        (Some(rule), true) => write!(f, "; the rule is `{rule}`")?,
                    }
                }
                if !certain {
                    f.write_str("; it is not known which files it runs, so everything under .gemini/ counts")?;
                }
                if *held { f.write_str("; it does not run until you trust it") } else { Ok(()) }
            }
            Notice::GuardRemoved { guard, file } => write!(f, "guard `{guard}` is no longer in {}", file.display()),
            Notice::ProjectContentsChanged { what, news } => {
                let each = news.iter().map(|(item, news)| match news {
                    ContentChange::New => format!("`{item}` is new"),
                    ContentChange::Changed => format!("`{item}` has changed"),
                    ContentChange::Removed => format!("`{item}` is gone"),
                });
                write!(f, "this project's {what}: {}", join(&each.collect::<Vec<_>>()))
            }
            Notice::UnreadAgentsFile => f.write_str(
                "this project has an AGENTS.md, which is not read; to have it read, set `\"context\": {\"fileName\": \
                 [\"AGENTS.md\", \"GEMINI.md\"]}` in its .gemini/settings.json or in yours",
            ),
            Notice::ProjectSwitchesOff { hooks, how, held } => {
                let names: Vec<_> = hooks.iter().map(|(name, source)| format!("`{name}` ({source})")).collect();
                match how {
                    SwitchOffMethod::ByName => write!(f, "this project's settings disable {}", join(&names))?,
                    SwitchOffMethod::All => {
                        write!(f, "this project's settings turn all hooks off, among them {}", join(&names))?;
                    }
                }
                match (*held, names.len()) {
                    (false, _) => Ok(()),
                    (true, 1) => f.write_str("; it stays on until you trust this change"),
                    (true, _) => f.write_str("; they stay on until you trust this change"),
                }
            }
        }
    }
}

fn join(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
