//! `/background`: commands that run on by themselves, for the user to see, to keep beyond the session, or to end.

use std::sync::Arc;
use std::time::Duration;

use hookwright_tools::Job;

use super::conduct::Conductor;
use super::order::BackgroundOrder;
use super::reply::Reply;
use crate::event::AgentEvent;
use crate::services::Services;

impl Conductor {
    pub(super) fn background(&self, order: &BackgroundOrder) {
        let services = self.services();
        let (pid, keep) = match order {
            BackgroundOrder::List => return self.reply(listed(&services.tool_context.jobs.list())),
            BackgroundOrder::Keep(pid) => (pid, true),
            BackgroundOrder::End(pid) => (pid, false),
        };
        let found = pid.parse().ok().and_then(|pid| services.tool_context.jobs.find(pid));
        let Some(job) = found else {
            let said = format!("no command that runs in the background has the number {pid}; /background lists them");
            return self.reply(Reply::warning(said));
        };
        tokio::spawn(async move {
            let reply = if keep { keeping(&job).await } else { ending(&job).await };
            services.events.send(AgentEvent::Reply(reply));
        });
    }
}

fn listed(jobs: &[Arc<Job>]) -> Reply {
    if jobs.is_empty() {
        return Reply::aside("nothing runs in the background");
    }
    let about = |job: &Job| {
        let kept = if job.is_kept() { ", stays when you leave" } else { "" };
        format!("{}  ({}{kept})", job.command, in_words(job.age()))
    };
    Reply::Rows(jobs.iter().map(|job| (job.pid.to_string(), about(job))).collect())
}

fn in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

async fn keeping(job: &Job) -> Reply {
    match job.keep().await {
        Ok(()) => Reply::plain(format!("{} stays when you leave: {}", job.pid, job.command)),
        Err(error) => Reply::error(format!("{} can't be kept, and ends with the session: {error}", job.pid)),
    }
}

async fn ending(job: &Job) -> Reply {
    job.end().await;
    Reply::plain(format!("{} has ended: {}", job.pid, job.command))
}

/// What runs on although the session is over, because the user wants it: said on leaving.
pub(crate) fn tell_what_stays(services: &Services) {
    for job in services.tool_context.jobs.list().iter().filter(|job| job.is_kept()) {
        let said = format!("still running, as you asked: {} {}", job.pid, job.command);
        services.events.send(AgentEvent::Reply(Reply::news(said)));
    }
}
