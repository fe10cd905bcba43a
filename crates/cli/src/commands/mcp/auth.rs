//! `mcp auth` and `mcp logout`: sign in to a remote server, and forget its token. No browser is started, because it
//! would end together with this program.

use hookwright_agent::session::proxy_from_env;
use hookwright_settings::administration::{ActionError, McpAccountReport, sign_out};
use hookwright_tools::mcp::{SignInOptions, sign_in};

use super::test;
use crate::commands::hooks::LoadedProject;
use crate::presentation::administration::mcp_account_messages;
use crate::presentation::{CommandStyle, print_messages};
use crate::{exit, runtime};

pub(crate) fn run_sign_in(project: &LoadedProject, name: &str) -> anyhow::Result<u8> {
    let loaded = &project.loaded;
    let server = test::find_server(loaded, name)?;
    let proxy = proxy_from_env(&loaded.process_env);
    let with = SignInOptions {
        file: &loaded.paths.mcp_tokens,
        proxy: proxy.as_ref(),
        timeout: SignInOptions::DEFAULT_TIMEOUT,
    };
    let name = server.name.clone();
    let send = |page: &str, host: &str| {
        let (host, page) = (host.to_owned(), page.to_owned());
        // With stderr closed, the user does not see the address.
        let _ = print_report(&McpAccountReport::SignInPage { name: name.clone(), host, page });
    };
    match runtime::start(2)?.block_on(sign_in(&server, &with, send)) {
        Ok(()) => print_report(&McpAccountReport::SignedIn { name }),
        Err(error) => {
            let error = ActionError::new(&error, error.hint().map(str::to_owned));
            print_report(&McpAccountReport::NotSignedIn { name, error })
        }
    }
}

pub(crate) fn run_sign_out(project: &LoadedProject, name: &str) -> anyhow::Result<u8> {
    print_report(&sign_out(&project.config, name)?)
}

/// Prints a report, and returns the exit code for it.
fn print_report(report: &McpAccountReport) -> anyhow::Result<u8> {
    print_messages(&mcp_account_messages(report, CommandStyle::Shell))?;
    Ok(match report {
        McpAccountReport::SignedIn { .. } | McpAccountReport::SignedOut { .. } => exit::OK,
        _ => exit::ERROR,
    })
}
