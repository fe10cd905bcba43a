//! THE table of agents that can be tried: how each is started against the stand-in with everything approved beforehand,
//! where its settings are, and how a hook is written there.

use std::path::PathBuf;
use std::time::Duration;

use hookwright_bridge::{FailClosedSupport, Host, TimeoutUnit};
use hookwright_hooks::EventKind;
use serde_json::{Value, json};

/// A file's text, which says where the stand-in listens.
type ConfigTemplate = fn(url: &str) -> String;

/// How one agent is driven.
pub(crate) struct AgentDriver {
    pub(crate) host: Host,
    /// The file with its hooks, below the home.
    hooks_file: &'static str,
    /// What that file holds beside hooks.
    settings: fn(url: &str) -> Value,
    /// Another file that it needs, below the home.
    config: Option<(&'static str, ConfigTemplate)>,
    /// How it is started.
    args: &'static [&'static str],
    /// What makes it trust hooks that nobody has looked at.
    trust_args: &'static [&'static str],
    env: fn(url: &str) -> Vec<(&'static str, String)>,
    /// Its tools that change files, as a matcher.
    edit_tools: &'static str,
}

/// What the model is asked to do.
const TRIAL_PROMPT: &str = "Please do what is to be done here.";

/// What the key of a service must look like that nobody asks for one.
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

/// A model that is known to have a tool for patches, on the stand-in's wire.
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

/// A model of the user's own, on the stand-in's wire.
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

/// One hook to be written into an agent's own settings.
pub(crate) struct AgentHookEntry<'a> {
    /// Its event, in the agent's words.
    pub(crate) event: &'a str,
    /// For which tools; all if nothing.
    pub(crate) matcher: Option<&'a str>,
    pub(crate) command: String,
    pub(crate) timeout: Option<Duration>,
    /// Whether the agent's own switch for failures is set.
    pub(crate) fail_closed: bool,
}

impl AgentDriver {
    /// How that agent is driven, if it can be here.
    pub(crate) fn for_host(host: Host) -> Option<&'static AgentDriver> {
        DRIVERS.iter().find(|driver| driver.host == host)
    }

    /// Everybody who can be driven.
    pub(crate) fn hosts() -> impl Iterator<Item = Host> {
        DRIVERS.iter().map(|driver| driver.host)
    }

    /// Whether hooks are commands there.
    pub(crate) fn supports_command_hooks(&self) -> bool {
        self.host != Host::Opencode
    }

    /// Its tools that change files.
    pub(crate) fn edit_tools(&self) -> &'static str {
        self.edit_tools
    }

    /// Whether it asks for trust in each hook.
    pub(crate) fn requires_hook_trust(&self) -> bool {
        !self.trust_args.is_empty()
    }

    /// The event of its own at which hooks of that kind run.
    pub(crate) fn event_name(&self, kind: EventKind) -> Option<&'static str> {
        let first = self.host.events_for(kind).find(|event| event.wired);
        first.map(|event| event.name)
    }

    /// Its settings, with these hooks in them: files below the home.
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
        // Nobody needs a file of hooks without any.
        let says_something = settings.as_object().is_some_and(|keys| keys.keys().any(|key| key != "version"));
        if says_something {
            files.push((PathBuf::from(self.hooks_file), format!("{settings:#}\n")));
        }
        files.extend(self.config.map(|(path, text)| (PathBuf::from(path), text(url))));
        files
    }

    fn hook_group(&self, entry: &AgentHookEntry<'_>) -> Value {
        let mut hook = json!({"type": "command", "command": entry.command});
        if let Some(patience) = entry.timeout {
            let time = match self.host.info().timeout_unit {
                TimeoutUnit::Milliseconds => patience.as_millis(),
                TimeoutUnit::Seconds | TimeoutUnit::None => patience.as_millis().div_ceil(1000),
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

    /// How it is started.
    pub(crate) fn args(&self, trusts: bool) -> Vec<&'static str> {
        let mut args = self.args.to_vec();
        if trusts {
            // Behind the word that says what to do, where there is one.
            let at = usize::from(!self.args[0].starts_with('-'));
            args.splice(at..at, self.trust_args.iter().copied());
        }
        args
    }

    /// What its environment needs.
    pub(crate) fn env(&self, url: &str) -> Vec<(&'static str, String)> {
        (self.env)(url)
    }
}
