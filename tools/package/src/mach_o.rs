//! The headers of a program for macOS, as `mach-o/loader.h` describes them.

use anyhow::{Context as _, Result, bail};

use crate::binary::Version;

pub(crate) const X86_64: &str = "Mach-O x86_64";
pub(crate) const ARM64: &str = "Mach-O arm64";

const MAGIC: u32 = 0xfeed_facf;
/// Of a loaded library: the offset of its name is the third word.
const LOAD_DYLIB: u32 = 0xc;
/// The oldest system, in x86-64 programs for systems before 10.14: the third word.
const VERSION_MIN: u32 = 0x24;
/// The oldest system, after the number of the platform: the fourth word.
const BUILD_VERSION: u32 = 0x32;

/// Returns the machine and the oldest macOS of a program; `None` if the bytes are of another format.
///
/// # Errors
/// If its headers are cut, or it needs a library that macOS does not have.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(&'static str, Version)>> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    if word(0) != Some(MAGIC) {
        return Ok(None);
    }
    let word = |at: usize| word(at).context("the headers of the program are cut");
    let machine = match word(4)? {
        0x0100_0007 => X86_64,
        0x0100_000c => ARM64,
        other => bail!("no packages for the Mach-O machine {other:#x}"),
    };
    let (mut at, mut oldest) = (32, None);
    for _ in 0..word(16)? {
        let (command, size) = (word(at)?, word(at + 4)? as usize);
        match command {
            LOAD_DYLIB => {
                let name = bytes.get(at + word(at + 8)? as usize..at + size).unwrap_or_default();
                let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default());
                if !name.starts_with("/usr/lib/") && !name.starts_with("/System/Library/") {
                    bail!("it needs {name}, which a bare system may lack");
                }
            }
            VERSION_MIN => oldest = Some(word(at + 8)?),
            BUILD_VERSION => oldest = Some(word(at + 12)?),
            _ => {}
        }
        at += size;
    }
    let oldest = oldest.context("the program does not name the oldest macOS that it runs on")?;
    Ok(Some((machine, (oldest >> 16, oldest >> 8 & 0xff))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(machine: u32, library: &[u8; 24]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let header = words(&[MAGIC, machine, 0, 2, 2, 72, 0, 0]);
        let library = [words(&[LOAD_DYLIB, 48, 24, 0, 0, 0]), library.to_vec()].concat();
        [header, library, words(&[BUILD_VERSION, 24, 1, 11 << 16 | 3 << 8, 0, 0])].concat()
    }

    #[test]
    fn the_headers_name_machine_and_system() {
        let mut arm = program(0x0100_000c, b"/usr/lib/libSystem.dylib");
        assert_eq!(parse(&arm).unwrap(), Some((ARM64, (11, 3))));
        assert_eq!(parse(&program(0x0100_0007, b"/System/Library/x\0\0\0\0\0\0\0")).unwrap().unwrap().0, X86_64);
        assert_eq!(parse(b"\x7fELF").unwrap(), None);
        arm.truncate(90);
        assert!(parse(&arm).is_err());
    }

    #[test]
    fn a_program_that_a_bare_system_cannot_run_is_refused() {
        let error = parse(&program(0x0100_000c, b"/opt/lib/libssl.3.dylib\0")).unwrap_err().to_string();
        assert_eq!(error, "it needs /opt/lib/libssl.3.dylib, which a bare system may lack");
        assert!(parse(&program(7, b"/usr/lib/libSystem.dylib")).is_err());
    }
}
