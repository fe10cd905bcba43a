//! `mcp auth` and `mcp logout`: signing in to a server elsewhere, and forgetting that again. No browser is started: one that
//! this program starts would end with it.

use hookwright_agent::session::proxy;
use hookwright_settings::Loaded;
use hookwright_settings::mcp::forget_credentials;
use hookwright_tools::mcp::{SignIn, sign_in};

use super::{shown, test};
use crate::{exit, out, runtime};

pub(crate) fn sign(loaded: &Loaded, name: &str) -> anyhow::Result<u8> {
    let server = test::find(loaded, name)?;
    let proxy = proxy(&loaded.world);
    let with = SignIn { file: &loaded.paths.mcp_tokens, proxy: proxy.as_ref(), limit: SignIn::PATIENCE };
    let send = |page: &str, host: &str| {
        // Whoever closed stderr sees no address.
        let _ = out::note(format!(
            "sign in to `{}` at {}, in a browser on this machine:",
            shown::name(name),
            out::one_line(host)
        ));
        let _ = out::stderr_line(&out::one_line(page));
    };
    let runtime = runtime::start(2)?;
    if let Err(error) = runtime.block_on(sign_in(&server, &with, send)) {
        let hint = error.hint();
        out::error(format!("not signed in to `{}`: {error}", shown::name(name)))?;
        hint.map_or(Ok(()), out::hint)?;
        return Ok(exit::ERROR);
    }
    out::note(format!("signed in to `{}`", shown::name(name)))?;
    Ok(exit::OK)
}

pub(crate) fn forget(loaded: &Loaded, name: &str) -> anyhow::Result<u8> {
    match forget_credentials(&loaded.paths.mcp_tokens, name)? {
        true => out::note(format!(
            "forgot the token for `{}`; the server may still take it until it ends",
            shown::name(name)
        ))?,
        false => anyhow::bail!("there is no token for `{}`", shown::name(name)),
    }
    Ok(exit::OK)
}
