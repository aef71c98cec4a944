//! The floor for start-up and memory: a Rust program that only waits for the end of its input.

use std::io::Read;
use std::os::fd::AsFd;

fn main() -> std::io::Result<()> {
    // Not through `std::io::stdin()`: its buffer would count as memory.
    let mut input = std::fs::File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut bytes = [0; 64];
    while input.read(&mut bytes)? > 0 {}
    Ok(())
}
