//! The floor for starting and for memory: a Rust program that does nothing until its input ends.

use std::io::Read;
use std::os::fd::AsFd;

fn main() -> std::io::Result<()> {
    // Not through `std::io::stdin()`, whose buffer would be memory that an empty program has not.
    let mut input = std::fs::File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut bytes = [0; 64];
    while input.read(&mut bytes)? > 0 {}
    Ok(())
}
