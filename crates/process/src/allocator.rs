//! How the allocator of glibc keeps its memory.

/// Keeps one heap for all threads (mallopt(3), `M_ARENA_MAX`) instead of one for each. Call once at start, before there
/// are threads.
///
/// For a program whose work passes through one worker thread: its threads hardly ever want memory at the same moment, so
/// there is nothing to gain from several heaps, and one of them stays warm and small. Does nothing with other libraries.
pub fn one_heap() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    // SAFETY: it sets a number of the allocator's under its own lock, and is never wrong to ask for.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
