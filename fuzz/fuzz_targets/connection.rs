//! Any bytes sent to the example `everything`: it writes valid lines, answers each request once, and ends.

#![no_main]

libfuzzer_sys::fuzz_target!(init: fuzz::expect_panics(), |data: &[u8]| fuzz::connection(data));
