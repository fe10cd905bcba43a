//! What agents send their hooks, recorded into files: `AGENT/VERSION/EVENT.json`.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use hookwright_trial::{Agent, Bounds, record};

use crate::args::Args;
use crate::install::Installed;

pub(crate) async fn all(args: &Args, agents: &[Installed], folder: &Path, fence: bool) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = hookwright_trial::cache(|name| std::env::var_os(name));
    let time = Duration::from_secs(args.seconds);
    let bounds = Bounds { path: &path, time, fence, keep: args.keep, cache: cache.as_deref() };
    for installed in agents {
        let agent = Agent { host: installed.host, program: &installed.program };
        let recorded = record(agent, bounds).await.with_context(|| format!("{} was not recorded", installed.host))?;
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
