//! The hob binary: command line and composition root.

fn main() {}
