//! live REPL sessions and their tools.
