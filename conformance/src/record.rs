//! Records what agents send their hooks into files: `AGENT/VERSION/EVENT.json`.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use hookwright_trial::{TrialAgent, TrialLimits, record_payloads};

use crate::args::ConformanceArgs;
use crate::install::InstalledAgent;

pub(crate) async fn record_agents(
    args: &ConformanceArgs,
    agents: &[InstalledAgent],
    folder: &Path,
    fence: bool,
) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = hookwright_trial::cache_dir(|name| std::env::var_os(name));
    let time = Duration::from_secs(args.seconds);
    let bounds = TrialLimits {
        search_path: &path,
        timeout: time,
        block_network: fence,
        keep_files: args.keep,
        cache_dir: cache.as_deref(),
    };
    for installed in agents {
        let agent = TrialAgent { host: installed.host, program: &installed.program };
        let recorded =
            record_payloads(agent, bounds).await.with_context(|| format!("{} was not recorded", installed.host))?;
        let place = folder.join(installed.host.name()).join(&installed.version);
        std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        for (name, value) in &recorded {
            let file = place.join(name);
            std::fs::write(&file, format!("{value:#}\n"))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        println!("{} {}: {} files in {}", installed.host, installed.version, recorded.len(), place.display());
    }
    Ok(())
}
