//! A program that passes the checker compiles and runs, and raises no error that types rule out.

#![no_main]

use fuzz::cure::{cross, mutate, writer};
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| writer(data));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { mutate(data, size, most, seed) });
fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| { cross(one, other, out, seed) });
