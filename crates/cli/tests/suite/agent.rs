//! The agent, headless.
