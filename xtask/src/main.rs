//! The project's own tasks.

fn main() {}
