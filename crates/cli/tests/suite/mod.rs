#[cfg(unix)]
mod acp;
#[cfg(unix)]
mod acp_guard;
mod agent;
mod agent_pages;
#[cfg(unix)]
mod agents;
mod approve;
#[cfg(unix)]
mod bounds;
mod bridge;
mod channels;
#[cfg(unix)]
mod checkpoints;
mod claude;
mod compatibility;
mod config;
#[cfg(target_os = "linux")]
mod confine;
mod confine_calls;
#[cfg(target_os = "linux")]
mod confine_limits;
#[cfg(target_os = "linux")]
mod confine_places;
mod coverage;
mod differential;
mod doctor;
mod effects;
mod examples;
mod extensions;
mod fire;
mod hooktest;
#[cfg(unix)]
mod http_hooks;
mod journal;
mod log;
mod manage;
mod mcp;
#[cfg(unix)]
mod mcp_session;
mod migrate;
mod model_server;
#[cfg(unix)]
mod opencode;
mod packs;
mod policy;
mod replay;
#[cfg(unix)]
mod sdk;
mod seclusion;
#[cfg(unix)]
mod setup;
mod skills;
#[cfg(unix)]
mod team_page;
mod tighten;
#[cfg(unix)]
mod trial;
mod tui;
mod unread_output;
mod validate;
mod workspace;
