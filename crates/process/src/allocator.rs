//! How the allocator of glibc keeps its memory, and gives it back.

/// Keeps one heap for all threads (mallopt(3), `M_ARENA_MAX`) instead of one for each. Call once at start, before there
/// are threads.
///
/// For a program whose work passes through one worker thread: its threads hardly ever want memory at the same moment, so
/// there is nothing to gain from several heaps, and one of them stays warm and small. Does nothing with other libraries.
pub fn single_arena() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's mallopt has no safe wrapper")]
    // SAFETY: it sets a number of the allocator's under its own lock, and is never wrong to ask for.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives what is free back to the system (malloc_trim(3)), also in the midst of the heap: one piece in use near its end
/// keeps everything below it otherwise. Takes a moment, in which nobody else gets memory. Does nothing with other libraries.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's malloc_trim has no safe wrapper")]
    // SAFETY: it takes the allocator's own lock, touches only what is free, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
