//! `hookwright run -- COMMAND`: runs a command that the kernel keeps to a profile.

use std::process::ExitCode;
use std::sync::Arc;

use hookwright_agent::{CommandConfiner, confinement_digest};
use hookwright_hooks::confinement::ConfinementLauncher;
use hookwright_settings::{ConfigPaths, ProcessEnv};

use crate::args::{self, CliCommand, RunArgs};
use crate::exit;
use crate::output::{self, error_report};

/// Runs the command if the command line asks for it.
///
/// Call it before the program starts any thread: the confined process is forked from this one.
pub(crate) fn run_if_requested() -> Option<ExitCode> {
    std::env::args_os().nth(1).filter(|word| word == "run")?;
    let args = match RunArgs::parse_alone(std::env::args_os().skip(1)) {
        Some(args) => args,
        None => match args::Cli::read(std::env::args_os()) {
            Ok(args::Cli { command: Some(CliCommand::Run(args)), .. }) => args,
            Ok(_) => return None,
            Err(error) => return Some(ExitCode::from(crate::print_usage_error(&error))),
        },
    };
    let code = run(&args).unwrap_or_else(|error| {
        error_report::print(&error);
        exit::NOT_CONFINED
    });
    Some(ExitCode::from(code))
}

/// Whether this machine can confine a command.
pub(crate) struct ConfinementSupport {
    /// Why it cannot.
    pub(crate) problem: Option<String>,
}

impl ConfinementSupport {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({"available": self.problem.is_none(), "problem": self.problem})
    }
}

impl std::fmt::Display for ConfinementSupport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.problem {
            None => f.write_str("confinement: works here (`hookwright run`)"),
            Some(problem) => write!(f, "confinement: not available here: {problem}"),
        }
    }
}

/// Finds out by running a command confined.
pub(crate) fn probe(world: &ProcessEnv) -> ConfinementSupport {
    let problem = match confiner(world) {
        Some(confiner) => confiner.probe().err().map(|problem| output::one_line(&problem)),
        None => Some("the path of this program is not known".to_owned()),
    };
    ConfinementSupport { problem }
}

/// Returns the launcher of confined commands, for engines and sessions.
pub(crate) fn launcher(world: &ProcessEnv) -> Option<Arc<dyn ConfinementLauncher>> {
    confiner(world).map(|confiner| Arc::new(confiner) as Arc<dyn ConfinementLauncher>)
}

/// Returns the launcher of confined commands, which is this program.
pub(crate) fn confiner(world: &ProcessEnv) -> Option<CommandConfiner> {
    let path = world.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let folder = ConfigPaths::new(world).user_dir.join("hookwright").join("confinement");
    // Where the home directory can't be written to. A file is named by its digest, so that it matters little who else can.
    let home = confinement_digest(folder.as_os_str().as_encoded_bytes());
    let temporary = std::env::temp_dir().join(format!("hookwright-{}", &home[..16]));
    Some(CommandConfiner::new(std::env::current_exe().ok()?, vec![folder, temporary], path))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &RunArgs) -> anyhow::Result<u8> {
    anyhow::bail!("commands can be confined on Linux only")
}

#[cfg(target_os = "linux")]
pub(crate) use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::io::Write;
    use std::path::Path;

    use anyhow::Context;
    use hookwright_hooks::EnvRedaction;
    use hookwright_hooks::confinement::{
        CompiledConfinement, ConfinementNetwork, ConfinementProfile, ConfinementRequest, compile, confined_environment,
    };
    use hookwright_journal::Entry;
    use hookwright_process::Exit;
    use hookwright_process::confinement::{
        ConfinedCommand, ConfinedExit, ConfinementError, ExceededLimit, run_confined,
    };
    use hookwright_settings::{LoadOptions, load};

    use super::{ProcessEnv, RunArgs, confinement_digest, exit, output};
    use crate::args::RunProfile;

    /// The caches that the profile `build` allows.
    const BUILD_CACHES: [&str; 10] = ["cargo", "npm", "yarn", "pnpm", "bun", "pip", "uv", "go", "gradle", "maven"];
    const MAX_PROFILE_BYTES: u64 = 1 << 20;
    /// The exit code of a process that a signal ended is this and the signal's number, as a shell reports it.
    const SIGNAL_EXIT_BASE: i32 = 128;

    pub(crate) fn run(args: &RunArgs) -> anyhow::Result<u8> {
        let world = ProcessEnv::from_process();
        let cwd = world.cwd.canonicalize().context("the current directory can't be used")?;
        let request = request(args, &world, &cwd)?;
        let compiled = compile(&request.profiles, request.place())?;
        if args.explain {
            let mut stdout = output::stdout();
            compiled.explain().iter().try_for_each(|line| writeln!(stdout, "{line}"))?;
            return Ok(exit::OK);
        }
        let is_kept = args.keep_env || request.profiles.iter().all(|profile| profile.keep_env);
        let mut env = match is_kept {
            true => world.env.clone(),
            false => confined_environment(&EnvRedaction::default(), world.env.clone()),
        };
        let words = match &args.command_from {
            Some(variable) => take_command(&mut env, variable)?,
            None => args.command.clone(),
        };
        let command = ConfinedCommand { words: &words, cwd: &cwd, env };
        match run_confined(&compiled.plan, &command) {
            Ok(end) => {
                if !request.is_quiet {
                    report(&compiled, &end)?;
                    if request.is_predicted {
                        report_misprediction(&words, &refused(&end), &request, &world)?;
                    }
                }
                Ok(exit_code(&end))
            }
            Err(error @ ConfinementError::Program { .. }) => {
                output::error(&error)?;
                Ok(program_error_code(&error))
            }
            Err(error) => {
                let hint = "nothing was run; `hookwright run --explain` shows what would be enforced";
                output::error(format!("the command can't be confined here: {error}"))?;
                output::hint(hint)?;
                Ok(exit::NOT_CONFINED)
            }
        }
    }

    /// Takes a shell command out of the environment.
    fn take_command(env: &mut Vec<(OsString, OsString)>, variable: &str) -> anyhow::Result<Vec<OsString>> {
        let at = env.iter().position(|(name, _)| name == variable).with_context(|| format!("{variable} is not set"))?;
        let (_, text) = env.remove(at);
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
        let has_bash = std::env::split_paths(&path).any(|folder| folder.join("bash").is_file());
        Ok(vec![if has_bash { "bash" } else { "sh" }.into(), "-c".into(), text])
    }

    fn request(args: &RunArgs, world: &ProcessEnv, cwd: &Path) -> anyhow::Result<ConfinementRequest> {
        let mut stored = None;
        if let Some(path) = &args.plan {
            let text =
                hookwright_disk::read_text(path, MAX_PROFILE_BYTES).with_context(|| format!("{}", path.display()))?;
            let digest = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| is_digest(stem));
            anyhow::ensure!(
                digest.is_none_or(|digest| digest == confinement_digest(text.as_bytes())),
                "{} is not what its name says: it was changed",
                path.display()
            );
            let wrong = || format!("{} is not a profile", path.display());
            match serde_json::from_str::<serde_json::Value>(&text).with_context(wrong)? {
                value if value.get("profiles").is_some() => return serde_json::from_value(value).with_context(wrong),
                value => stored = Some(serde_json::from_value(value).with_context(wrong)?),
            }
        }
        let profiles = vec![profile(args, stored)];
        let (project, home) = (cwd.to_owned(), world.home.clone());
        Ok(ConfinementRequest { project, home, profiles, is_quiet: false, is_predicted: false })
    }

    /// Whether a file is named by the digest of its content.
    fn is_digest(name: &str) -> bool {
        name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn profile(args: &RunArgs, stored: Option<ConfinementProfile>) -> ConfinementProfile {
        let mut profile = match (stored, args.profile) {
            (Some(stored), _) => stored,
            (None, Some(RunProfile::Build)) => ConfinementProfile {
                writes: vec!["**".to_owned()],
                network: ConfinementNetwork::Loopback,
                caches: BUILD_CACHES.map(str::to_owned).to_vec(),
                ..ConfinementProfile::default()
            },
            (None, Some(RunProfile::Look) | None) => ConfinementProfile::default(),
        };
        profile.writes.extend(args.writes.iter().cloned());
        profile.no_reads.extend(args.no_reads.iter().cloned());
        profile.caches.extend(args.cache.iter().cloned());
        if !args.network.is_empty() {
            profile.network = ConfinementNetwork::from_words(&args.network);
        }
        profile.unix_sockets |= args.unix_sockets;
        profile.memory_mb = args.memory.or(profile.memory_mb);
        profile.processes = args.processes.or(profile.processes);
        profile.seconds = args.time.or(profile.seconds);
        profile
    }

    /// Says what the command was kept from, if it failed or something is known to have been refused.
    fn report(compiled: &CompiledConfinement, end: &ConfinedExit) -> anyhow::Result<()> {
        match end.exceeded_limit {
            Some(ExceededLimit::Time) => output::error("the command took too long and was killed")?,
            Some(ExceededLimit::Processes) => output::error("the command started too many processes and was killed")?,
            None => {}
        }
        refused(end).iter().try_for_each(|what| output::error(format!("the network was refused{what}")))?;
        if end.exit != Exit::Code(0) {
            output::note(format!("it ran confined: {}", compiled.summary()))?;
        }
        Ok(())
    }

    /// What the network refused, each with how often.
    fn refused(end: &ConfinedExit) -> Vec<String> {
        let hosts = end.refused_hosts.iter().map(|(host, count)| format!(": {host} ({count}×)"));
        let addresses = Some(end.refused_connections).filter(|count| *count > 0).map(|count| format!(" ({count}×)"));
        hosts.chain(addresses).collect()
    }

    /// Names a command that used the network although its analysis was sure that it does not, also on record.
    fn report_misprediction(
        words: &[OsString],
        refused: &[String],
        request: &ConfinementRequest,
        world: &ProcessEnv,
    ) -> anyhow::Result<()> {
        if refused.is_empty() {
            return Ok(());
        }
        let text: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let command = text.join(" ");
        output::note(format!(
            "this command was expected not to use the network, so `hookwright effects` is wrong about it: {}",
            output::one_line(&command)
        ))?;
        output::hint("please report the command, so that the table of programs can be mended")?;
        let entry = Entry::Misprediction {
            project: request.project.to_string_lossy().into_owned(),
            refused: refused.iter().map(|what| format!("network{what}")).collect(),
        };
        let content = serde_json::Map::from_iter([("command".to_owned(), command.into())]);
        let opener = hookwright_journal::opener(&load(world, &LoadOptions::default()));
        // The journal decides nothing: without it, the note is all.
        if let Some(Ok((mut journal, redactor))) = opener.map(|open| open()) {
            let _ = journal.append_with_content(&redactor, entry, Some(content));
        }
        Ok(())
    }

    fn exit_code(end: &ConfinedExit) -> u8 {
        match (end.exceeded_limit, end.exit) {
            (Some(ExceededLimit::Time), _) => exit::TIMED_OUT,
            (_, Exit::Code(code)) => u8::try_from(code).unwrap_or(exit::ERROR),
            (_, Exit::Signal(signal)) => u8::try_from(SIGNAL_EXIT_BASE + signal).unwrap_or(exit::ERROR),
        }
    }

    fn program_error_code(error: &ConfinementError) -> u8 {
        match error {
            ConfinementError::Program { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                exit::NOT_FOUND
            }
            _ => exit::NOT_EXECUTABLE,
        }
    }
}
