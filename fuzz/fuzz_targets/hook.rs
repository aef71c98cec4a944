//! Any bytes as an event of any agent: it is read, decided on and answered; without a rule nothing is said.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::hook(data));
