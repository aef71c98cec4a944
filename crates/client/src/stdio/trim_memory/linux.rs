//! Linux: the mappings of proc_pid_maps(5).

use std::ffi::c_void;
use std::fs::File;
use std::io::Read;

use rustix::mm::{Advice, madvise};

/// Forgets the code of this process and its libraries. Best effort.
pub(crate) fn forget_code() {
    // The kernel returns at most a page per read.
    let mut maps = Vec::with_capacity(16 * 1024);
    if File::open("/proc/self/maps").and_then(|mut file| file.read_to_end(&mut maps)).is_err() {
        return;
    }
    for (start, end) in String::from_utf8_lossy(&maps).lines().filter_map(code) {
        forget(start, end);
    }
}

/// Returns the addresses of a mapping that is only code from a file (proc_pid_maps(5)).
fn code(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, permissions, path) = (words.next()?, words.next()?, words.nth(3)?);
    if permissions != "r-xp" || !path.starts_with('/') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

#[expect(unsafe_code, reason = "madvise acts on raw addresses")]
fn forget(start: usize, end: usize) {
    let address = std::ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: according to the kernel, the range is a private mapping of a file that cannot be written through it
    // (`r-xp`), so it holds only the file's own bytes, which return on the next access. If the mapping were gone
    // (nothing unloads code here), the kernel would refuse.
    let _ = unsafe { madvise(address, end - start, Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the page of this program's code at this address is mapped into the process (proc_pid_pagemap(5)).
    fn is_mapped(address: usize) -> bool {
        use std::os::unix::fs::FileExt;
        let mut entry = [0; 8];
        let offset = address / rustix::param::page_size() * 8;
        File::open("/proc/self/pagemap").unwrap().read_exact_at(&mut entry, offset as u64).unwrap();
        u64::from_ne_bytes(entry) >> 63 == 1
    }

    #[test]
    fn code_is_forgotten_and_comes_back() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let (start, end) = maps.lines().find_map(code).unwrap();
        let pages = || (start..end).step_by(rustix::param::page_size()).filter(|page| is_mapped(*page)).count();
        // The test touches all pages, and then needs only some of them.
        for page in (start..end).step_by(rustix::param::page_size()) {
            touch(page);
        }
        let before = pages();
        forget_code();
        let after = pages();
        assert!(after < before, "{before} pages before, {after} after");
    }

    #[expect(unsafe_code, reason = "reads raw addresses")]
    fn touch(address: usize) {
        // SAFETY: the address is one of this program's own code, which can be read.
        let _ = unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() };
    }

    #[test]
    fn only_code_from_files() {
        let check = |line: &str| code(line).is_some();
        assert!(check(
            "55d0c5a0b000-55d0c5a2b000 r-xp 00002000 fe:00 1234                       /usr/bin/a b (deleted)"
        ));
        assert!(!check("55d0c5a0b000-55d0c5a2b000 r--p 00002000 fe:00 1234                       /usr/bin/a"));
        assert!(!check("55d0c5a0b000-55d0c5a2b000 rwxp 00002000 fe:00 1234                       /usr/bin/a"));
        assert!(!check("7ffd5a7f2000-7ffd5a7f4000 r-xp 00000000 00:00 0                          [vdso]"));
        assert!(!check("7ffd5a7f2000-7ffd5a7f4000 r-xp 00000000 00:00 0 "));
    }
}
