//! glibc's allocator: a single arena, and the return of free memory.

/// Keeps one heap for all threads (mallopt(3), `M_ARENA_MAX`) instead of one for each. Call once at start, before there
/// are threads.
///
/// For a program whose work passes through one worker thread: its threads rarely allocate at the same moment, so
/// several heaps gain nothing, and a single one stays warm and small. Does nothing with other C libraries.
pub fn single_arena() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's mallopt has no safe wrapper")]
    // SAFETY: it sets a number of the allocator's under its own lock, and is always allowed.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns free memory to the system (malloc_trim(3)), also from the middle of the heap, where one used block near its
/// end would otherwise keep everything below it. Blocks other threads' allocations meanwhile. Does nothing with other C
/// libraries.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's malloc_trim has no safe wrapper")]
    // SAFETY: it takes the allocator's own lock, touches only free memory, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
