//! child processes.
