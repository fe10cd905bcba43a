//! `mcp auth` and `mcp logout`: sign in to a remote server, and forget its token. No browser is started, because it
//! would end together with this program.

use hookwright_agent::session::proxy_from_env;
use hookwright_settings::LoadedConfig;
use hookwright_settings::mcp::forget_credentials;
use hookwright_tools::mcp::{SignInOptions, sign_in};

use super::{redaction, test};
use crate::{exit, output, runtime};

pub(crate) fn run_sign_in(loaded: &LoadedConfig, name: &str) -> anyhow::Result<u8> {
    let server = test::find_server(loaded, name)?;
    let proxy = proxy_from_env(&loaded.process_env);
    let with = SignInOptions {
        file: &loaded.paths.mcp_tokens,
        proxy: proxy.as_ref(),
        timeout: SignInOptions::DEFAULT_TIMEOUT,
    };
    let send = |page: &str, host: &str| {
        // With stderr closed, the user does not see the address.
        let _ = output::note(format!(
            "sign in to `{}` at {}, in a browser on this machine:",
            redaction::visible_name(name),
            output::one_line(host)
        ));
        let _ = output::stderr_line(&output::one_line(page));
    };
    let runtime = runtime::start(2)?;
    if let Err(error) = runtime.block_on(sign_in(&server, &with, send)) {
        let hint = error.hint();
        output::error(format!("not signed in to `{}`: {error}", redaction::visible_name(name)))?;
        hint.map_or(Ok(()), output::hint)?;
        return Ok(exit::ERROR);
    }
    output::note(format!("signed in to `{}`", redaction::visible_name(name)))?;
    Ok(exit::OK)
}

pub(crate) fn run_sign_out(loaded: &LoadedConfig, name: &str) -> anyhow::Result<u8> {
    match forget_credentials(&loaded.paths.mcp_tokens, name)? {
        true => output::note(format!(
            "forgot the token for `{}`; the server may still accept it until it expires",
            redaction::visible_name(name)
        ))?,
        false => anyhow::bail!("there is no token for `{}`", redaction::visible_name(name)),
    }
    Ok(exit::OK)
}
