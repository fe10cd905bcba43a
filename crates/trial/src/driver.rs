//! The agents that can be tried: how each is started against the mock model with everything approved beforehand, where
//! its settings are, and how a hook is written there.

use std::path::PathBuf;
use std::time::Duration;

use hookwright_bridge::{FailClosedSupport, Host, TimeoutUnit};
use hookwright_hooks::EventKind;
use serde_json::{Value, json};

/// A function that returns the text of a file for the URL of the mock model.
type ConfigTemplate = fn(url: &str) -> String;

/// The driver of one agent.
pub(crate) struct AgentDriver {
    pub(crate) host: Host,
    /// The file with its hooks, relative to the home.
    hooks_file: &'static str,
    /// The settings in that file besides the hooks.
    settings: fn(url: &str) -> Value,
    /// Another file that it needs, relative to the home.
    config: Option<(&'static str, ConfigTemplate)>,
    /// The command-line arguments.
    args: &'static [&'static str],
    /// Further arguments that make it trust hooks which the user has not reviewed.
    trust_args: &'static [&'static str],
    env: fn(url: &str) -> Vec<(&'static str, String)>,
    /// Its tools that change files, as a matcher.
    edit_tools: &'static str,
}

/// The prompt of the run.
const TRIAL_PROMPT: &str = "Please do what is to be done here.";

/// A key for services that require one but do not check it.
const DUMMY_API_KEY: &str = "trial";

const DRIVERS: &[AgentDriver] = &[
    AgentDriver {
        host: Host::ClaudeCode,
        hooks_file: ".claude/settings.json",
        settings: |_| json!({}),
        config: None,
        args: &["-p", TRIAL_PROMPT, "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "Write", "Edit", "Read"],
        trust_args: &[],
        env: |url| {
            let plain = [("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")];
            env_pairs(plain, [("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", DUMMY_API_KEY)])
        },
        edit_tools: "Edit|Write",
    },
    AgentDriver {
        host: Host::Codex,
        hooks_file: ".codex/hooks.json",
        settings: |_| json!({}),
        config: Some((".codex/config.toml", codex_config)),
        args: &["exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", TRIAL_PROMPT],
        trust_args: &["--dangerously-bypass-hook-trust"],
        env: |_| env_pairs([], [("TRIAL_KEY", DUMMY_API_KEY)]),
        edit_tools: "Edit|Write|apply_patch",
    },
    AgentDriver {
        host: Host::Copilot,
        hooks_file: ".copilot/hooks/trial.json",
        settings: |_| json!({"version": 1}),
        config: None,
        args: &["-p", TRIAL_PROMPT, "--allow-all", "--no-auto-update"],
        trust_args: &[],
        env: |url| {
            let plain =
                [("COPILOT_PROVIDER_TYPE", "openai"), ("COPILOT_MODEL", "stand-in"), ("COPILOT_OFFLINE", "true")];
            let url = format!("{url}/v1");
            env_pairs(plain, [("COPILOT_PROVIDER_BASE_URL", url.as_str()), ("COPILOT_PROVIDER_API_KEY", DUMMY_API_KEY)])
        },
        edit_tools: "Edit|Write",
    },
    AgentDriver {
        host: Host::Qwen,
        hooks_file: ".qwen/settings.json",
        settings: |_| json!({"security": {"auth": {"selectedType": "openai"}}}),
        config: None,
        args: &["-p", TRIAL_PROMPT, "--approval-mode=yolo"],
        trust_args: &[],
        env: |url| {
            let url = format!("{url}/v1");
            env_pairs(
                [("OPENAI_MODEL", "stand-in")],
                [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", DUMMY_API_KEY)],
            )
        },
        edit_tools: "write_file|edit",
    },
    AgentDriver {
        host: Host::Droid,
        hooks_file: ".factory/settings.json",
        settings: |url| {
            json!({"customModels": [{"model": "stand-in", "displayName": "stand-in", "baseUrl": format!("{url}/v1"), "apiKey": DUMMY_API_KEY,
                "provider": "generic-chat-completion-api", "maxOutputTokens": 1000}]})
        },
        config: None,
        args: &["exec", "--skip-permissions-unsafe", "-m", "custom:stand-in-0", TRIAL_PROMPT],
        trust_args: &[],
        env: |_| env_pairs([], [("FACTORY_API_KEY", "fk-trial")]),
        edit_tools: "Edit|Create|ApplyPatch",
    },
    AgentDriver {
        host: Host::Grok,
        hooks_file: ".grok/hooks/trial.json",
        settings: |_| json!({}),
        config: Some((".grok/config.toml", grok_config)),
        args: &["-p", TRIAL_PROMPT, "-m", "stand-in", "--always-approve", "--no-subagents"],
        trust_args: &[],
        env: |_| env_pairs([], []),
        edit_tools: "Edit|Write|search_replace|write",
    },
    AgentDriver {
        host: Host::GeminiCli,
        hooks_file: ".gemini/settings.json",
        settings: |_| json!({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
        config: None,
        args: &["-p", TRIAL_PROMPT, "--approval-mode=yolo", "-m", "gemini-2.5-flash"],
        trust_args: &[],
        env: |url| {
            let trust = [("GEMINI_CLI_TRUST_WORKSPACE", "true")];
            env_pairs(trust, [("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_API_KEY", DUMMY_API_KEY)])
        },
        edit_tools: "write_file|replace",
    },
    AgentDriver {
        host: Host::Opencode,
        hooks_file: ".config/opencode/opencode.json",
        settings: |url| {
            let options = json!({"baseURL": format!("{url}/v1"), "apiKey": DUMMY_API_KEY});
            let models = json!({"stand-in": {"name": "stand-in"}});
            let provider =
                json!({"npm": "@ai-sdk/openai-compatible", "name": "trial", "options": options, "models": models});
            json!({"provider": {"trial": provider}, "model": "trial/stand-in", "small_model": "trial/stand-in",
                "autoupdate": false, "permission": "allow"})
        },
        config: None,
        args: &["run", TRIAL_PROMPT],
        trust_args: &[],
        env: |_| env_pairs([("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")], []),
        edit_tools: "",
    },
];

fn env_pairs<const P: usize, const Q: usize>(
    plain: [(&'static str, &str); P],
    here: [(&'static str, &str); Q],
) -> Vec<(&'static str, String)> {
    plain.into_iter().chain(here).map(|(name, value)| (name, value.to_owned())).collect()
}

/// Returns the configuration of a model that Codex knows to have a patch tool, on the mock model server.
fn codex_config(url: &str) -> String {
    let provider = [
        "name = \"trial\"".to_owned(),
        format!("base_url = \"{url}/v1\""),
        "wire_api = \"responses\"".to_owned(),
        "env_key = \"TRIAL_KEY\"".to_owned(),
        "supports_websockets = false".to_owned(),
        "request_max_retries = 0".to_owned(),
        "stream_max_retries = 0".to_owned(),
    ];
    format!("model = \"gpt-5.5\"\nmodel_provider = \"trial\"\n\n[model_providers.trial]\n{}\n", provider.join("\n"))
}

/// Returns the configuration of a custom model on the mock model server.
fn grok_config(url: &str) -> String {
    let model = [
        "model = \"stand-in\"".to_owned(),
        "name = \"stand-in\"".to_owned(),
        format!("base_url = \"{url}/v1\""),
        format!("api_key = \"{DUMMY_API_KEY}\""),
        "api_backend = \"chat_completions\"".to_owned(),
    ];
    format!("[models]\ndefault = \"stand-in\"\n\n[model.stand-in]\n{}\n", model.join("\n"))
}

/// A hook to write into an agent's own settings.
pub(crate) struct AgentHookEntry<'a> {
    /// The event by the agent's own name.
    pub(crate) event: &'a str,
    /// The matcher for tools; all tools if none.
    pub(crate) matcher: Option<&'a str>,
    pub(crate) command: String,
    pub(crate) timeout: Option<Duration>,
    /// Whether the agent's switch for blocking on failures is set.
    pub(crate) fail_closed: bool,
}

impl AgentDriver {
    /// Returns the driver of an agent, if there is one.
    pub(crate) fn for_host(host: Host) -> Option<&'static AgentDriver> {
        DRIVERS.iter().find(|driver| driver.host == host)
    }

    /// Returns the agents that have a driver.
    pub(crate) fn hosts() -> impl Iterator<Item = Host> {
        DRIVERS.iter().map(|driver| driver.host)
    }

    /// Returns whether hooks of this agent are commands.
    pub(crate) fn supports_command_hooks(&self) -> bool {
        self.host != Host::Opencode
    }

    /// Returns its tools that change files, as a matcher.
    pub(crate) fn edit_tools(&self) -> &'static str {
        self.edit_tools
    }

    /// Returns whether the user has to confirm each hook.
    pub(crate) fn requires_hook_trust(&self) -> bool {
        !self.trust_args.is_empty()
    }

    /// Returns the agent's own event at which hooks of this kind run.
    pub(crate) fn event_name(&self, kind: EventKind) -> Option<&'static str> {
        let first = self.host.events_for(kind).find(|event| event.wired);
        first.map(|event| event.name)
    }

    /// Returns its settings files, relative to the home, with these hooks in them.
    pub(crate) fn settings_files(&self, url: &str, entries: &[AgentHookEntry<'_>]) -> Vec<(PathBuf, String)> {
        let mut settings = (self.settings)(url);
        for entry in entries {
            let group = self.hook_group(entry);
            match settings["hooks"][entry.event].as_array_mut() {
                Some(groups) => groups.push(group),
                None => settings["hooks"][entry.event] = json!([group]),
            }
        }
        let mut files = Vec::new();
        // A file without hooks and settings is not needed.
        let says_something = settings.as_object().is_some_and(|keys| keys.keys().any(|key| key != "version"));
        if says_something {
            files.push((PathBuf::from(self.hooks_file), format!("{settings:#}\n")));
        }
        files.extend(self.config.map(|(path, text)| (PathBuf::from(path), text(url))));
        files
    }

    fn hook_group(&self, entry: &AgentHookEntry<'_>) -> Value {
        let mut hook = json!({"type": "command", "command": entry.command});
        if let Some(timeout) = entry.timeout {
            let time = match self.host.info().timeout_unit {
                TimeoutUnit::Milliseconds => timeout.as_millis(),
                TimeoutUnit::Seconds | TimeoutUnit::None => timeout.as_millis().div_ceil(1000),
            };
            let key = if self.host == Host::Copilot { "timeoutSec" } else { "timeout" };
            hook[key] = json!(u64::try_from(time).unwrap_or(u64::MAX));
        }
        if let (true, FailClosedSupport::Key(key, value)) = (entry.fail_closed, self.host.info().fail_closed) {
            hook[key] = value.to_json();
        }
        let mut group = json!({"hooks": [hook]});
        if let Some(matcher) = entry.matcher {
            group["matcher"] = json!(matcher);
        }
        group
    }

    /// Returns the command-line arguments.
    pub(crate) fn args(&self, trusts: bool) -> Vec<&'static str> {
        let mut args = self.args.to_vec();
        if trusts {
            // After the subcommand, if there is one.
            let at = usize::from(!self.args[0].starts_with('-'));
            args.splice(at..at, self.trust_args.iter().copied());
        }
        args
    }

    /// Returns the environment variables that the agent needs.
    pub(crate) fn env(&self, url: &str) -> Vec<(&'static str, String)> {
        (self.env)(url)
    }
}
