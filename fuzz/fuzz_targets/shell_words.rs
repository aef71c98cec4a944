//! Any text for a shell: it is read, and a forbidden command on a line before it is found.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::shell_words(data));
