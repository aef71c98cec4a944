//! Any bytes to a server of everything: valid lines come back, each request is answered once, and it ends.

#![no_main]

libfuzzer_sys::fuzz_target!(init: fuzz::expect_panics(), |data: &[u8]| fuzz::connection(data));
