//! The text of `hookwright -h`: examples and the commands in groups, on one screen. `--help` is made by clap and has
//! every option.

use std::ffi::OsString;

/// What the program is, in one sentence: here, in `--help`, in the demo and in the README.
pub(crate) const HEADLINE: &str =
    "Hookwright runs the same hooks under ten coding agents, and makes sure that a hook's no holds.";

const GROUPS: &str = "
Examples:
  hookwright setup                              guard the agents on this machine, and prove it
  hookwright demo                               watch hooks at work, offline
  hookwright hooks new                          write a hook and its test; it asks what is missing
  hookwright agents doctor claude-code --live   see whether a deny holds there
  hookwright                                    start the agent; -p 'TEXT' answers one prompt

Guard other agents:
  setup        connect all agents, add guards, try whether they hold; --undo takes it back
  agents       connect Claude Code, Codex and eight more: list, install, doctor, explain, trace
  bridge       answer an event of another agent; its settings call this
  acp guard    stand between an editor and an agent: `hookwright acp guard -- claude-agent-acp`

Write hooks:
  hooks        new, add, list, show, validate, fire, test, trust, remove, migrate
  doctor       check that every hook can really run
  effects      show what a shell command would do, without running it
  run          run a command that may change, read and reach only what you allow
  policy       rules on which tools run, are denied or ask
  journal      what hooks decided: query, stats, verify, seal, export, forget

Use the agent:
  hookwright [OPTIONS] [PROMPT]   -p TEXT: answer one prompt     -i TEXT: begin with one
                                  -m NAME: another model         -r: resume a session
                                  --approval-mode MODE: default, auto_edit, yolo or plan
  acp          serve an editor (Zed, JetBrains, Neovim, Emacs) with it
  config, checkpoints, extensions, mcp, skills, subagents

More: demo, completions, man, version. `hookwright --help` lists every option, and
`hookwright COMMAND --help` what a command does.
";

/// Returns the text if the command line is `-h` alone.
pub(crate) fn requested(mut words: impl Iterator<Item = OsString>) -> Option<String> {
    let is_asked = words.nth(1).is_some_and(|word| word == "-h") && words.next().is_none();
    is_asked.then(|| format!("{HEADLINE}\n{GROUPS}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn it_fits_a_screen_and_names_every_command() {
        let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>().into_iter();
        let text = requested(words(&["hookwright", "-h"])).unwrap();
        assert!(requested(words(&["hookwright", "hooks", "-h"])).is_none());
        assert!((24..=40).contains(&text.lines().count()), "{} lines", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let named: Vec<&str> = text.split(|char: char| !char.is_alphanumeric()).collect();
        for command in crate::args::Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(named.contains(&command.get_name()), "{}", command.get_name());
        }
    }

    #[test]
    fn the_readme_and_the_manifest_say_the_same() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |file: &str| hookwright_testkit::fs::read_to_string(root.join(file)).unwrap();
        assert!(read("../../README.md").replace('*', "").contains(HEADLINE));
        let without_name = HEADLINE.trim_start_matches("Hookwright runs").trim_end_matches('.');
        assert!(read("Cargo.toml").contains(&format!("\"Runs{without_name}\"")));
    }
}
