//! `/background`: lists background commands, keeps them beyond the session, or ends them.

use std::sync::Arc;
use std::time::Duration;

use hookwright_settings::administration::{NamedItem, UnknownName};
use hookwright_tools::BackgroundJob;

use super::actor::SessionActor;
use super::command::BackgroundAction;
use super::reply::Reply;
use crate::event::SessionEvent;
use crate::services::Services;

impl SessionActor {
    pub(super) fn handle_background(&self, order: &BackgroundAction) {
        let services = self.services();
        let (pid, keep) = match order {
            BackgroundAction::List => return self.reply(job_list_reply(&services.tool_context.jobs.list())),
            BackgroundAction::Keep(pid) => (pid, true),
            BackgroundAction::End(pid) => (pid, false),
        };
        let found = pid.parse().ok().and_then(|pid| services.tool_context.jobs.find(pid));
        let Some(job) = found else {
            let unknown = UnknownName::new(NamedItem::BackgroundCommand, pid, std::iter::empty());
            return self.reply(Reply::Unknown(unknown));
        };
        tokio::spawn(async move {
            let reply = if keep { keep_job(&job).await } else { end_job(&job).await };
            services.events.send(SessionEvent::Reply(reply));
        });
    }
}

fn job_list_reply(jobs: &[Arc<BackgroundJob>]) -> Reply {
    if jobs.is_empty() {
        return Reply::aside("nothing runs in the background");
    }
    let about = |job: &BackgroundJob| {
        let kept = if job.is_kept() { ", stays when you leave" } else { "" };
        format!("{}  ({}{kept})", job.command, format_age(job.age()))
    };
    Reply::Rows(jobs.iter().map(|job| (job.pid.to_string(), about(job))).collect())
}

fn format_age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

async fn keep_job(job: &BackgroundJob) -> Reply {
    match job.keep().await {
        Ok(()) => Reply::plain(format!("{} stays when you leave: {}", job.pid, job.command)),
        Err(error) => Reply::error(format!("{} can't be kept running, so it ends with the session: {error}", job.pid)),
    }
}

async fn end_job(job: &BackgroundJob) -> Reply {
    job.terminate().await;
    Reply::plain(format!("{} has ended: {}", job.pid, job.command))
}

/// Tells the user, at the end of the session, which background commands keep running.
pub(crate) fn announce_kept_jobs(services: &Services) {
    for job in services.tool_context.jobs.list().iter().filter(|job| job.is_kept()) {
        let text = format!("still running, as you asked: {} {}", job.pid, job.command);
        services.events.send(SessionEvent::Reply(Reply::news(text)));
    }
}
