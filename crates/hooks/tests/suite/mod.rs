mod fixture;

mod cancel;
mod claude;
mod command_starts;
mod embed;
mod exit_statuses;
mod faults;
mod files;
mod functions;
mod guards;
mod hook_inputs;
mod hook_states;
mod plan_order;
mod rules;
mod stuck_disk;
mod verdicts;
mod workers;
