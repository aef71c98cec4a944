//! Any bytes, cut anywhere: the framer yields the same lines, each checked, and buffers no more than the limit.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::framing(data));
