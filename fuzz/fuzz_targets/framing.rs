//! Any bytes, cut anywhere: the same lines, each judged, none kept beyond the limit.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::framing(data));
