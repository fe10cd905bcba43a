mod world;

mod cancel;
mod claude;
mod disk;
mod embed;
mod endings;
mod faults;
mod files;
mod functions;
mod guards;
mod order;
mod rules;
mod states;
mod telling;
mod verdicts;
mod words;
mod workers;
