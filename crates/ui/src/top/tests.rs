//! `hob top` without a terminal: keys and states in, actions and pictures out.
