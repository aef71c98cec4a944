//! The program to pack: builds it for an old glibc, and reads from its headers on which machines it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use taskkit::workspace::{cargo, on_path, read, run, target_dir};

use crate::mach_o;

/// The glibc of our releases: that of CentOS 7 and manylinux2014. All distributions in support have a newer one.
const GLIBC: Version = (2, 17);

/// The libraries that manylinux lets a wheel take from the system. Each bare Debian has them.
const LIBRARIES: [&str; 9] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libutil.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];
/// The newest symbol version of libgcc that manylinux2014 permits.
const LIBGCC: Version = (4, 8);

pub(crate) type Version = (u32, u32);

/// A kind of machine that has packages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    /// The name in npm's packages, and Node's `process.platform` and `process.arch`.
    pub(crate) name: &'static str,
    pub(crate) os: &'static str,
    pub(crate) cpu: &'static str,
    /// The architecture in Python's tags.
    pub(crate) arch: &'static str,
    pub(crate) triple: &'static str,
    /// The machine as `readelf` or [`mach_o`] names it.
    machine: &'static str,
    /// True if packages for it are published.
    pub(crate) is_released: bool,
}

pub(crate) const PLATFORMS: [Platform; 4] = [
    Platform {
        name: "linux-x64",
        os: "linux",
        cpu: "x64",
        arch: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        machine: "Advanced Micro Devices X86-64",
        is_released: true,
    },
    Platform {
        name: "linux-arm64",
        os: "linux",
        cpu: "arm64",
        arch: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        machine: "AArch64",
        is_released: true,
    },
    // hob has never run there (docs/reference/platforms.md).
    Platform {
        name: "darwin-x64",
        os: "darwin",
        cpu: "x64",
        arch: "x86_64",
        triple: "x86_64-apple-darwin",
        machine: mach_o::X86_64,
        is_released: false,
    },
    Platform {
        name: "darwin-arm64",
        os: "darwin",
        cpu: "arm64",
        arch: "arm64",
        triple: "aarch64-apple-darwin",
        machine: mach_o::ARM64,
        is_released: false,
    },
];

/// Returns the platforms whose packages are published.
pub(crate) fn released() -> impl Iterator<Item = &'static Platform> {
    PLATFORMS.iter().filter(|platform| platform.is_released)
}

/// A program with the facts that decide where it runs.
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) platform: &'static Platform,
    /// The glibc or the macOS that it needs.
    needs: Version,
}

/// Builds hob for a target, this machine's by default, and returns the program. It must run with [`GLIBC`].
pub(crate) fn build(triple: Option<&str>) -> Result<PathBuf> {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let is_wanted = |platform: &&Platform| match triple {
        Some(triple) => platform.triple == triple,
        None => (platform.os, platform.cpu) == (os, cpu),
    };
    let Some(platform) = PLATFORMS.iter().find(is_wanted) else {
        let known = PLATFORMS.each_ref().map(|platform| platform.triple).join(", ");
        bail!("unknown target {:?}; known: {known}", triple.unwrap_or_default());
    };
    let file = target_dir()?.join(platform.triple).join("dist/hob");
    let arguments = ["--locked", "--profile", "dist", "--package", "hob", "--target"];
    if platform.os == "darwin" {
        run(cargo().arg("build").args(arguments).arg(platform.triple))?;
        return Ok(file);
    }
    if on_path("cargo-zigbuild").is_none() {
        bail!("cargo-zigbuild is missing: `pip install cargo-zigbuild ziglang`, or give a built program with --binary");
    }
    run(cargo().arg("zigbuild").args(arguments).arg(format!("{}.{}.{}", platform.triple, GLIBC.0, GLIBC.1)))?;
    let (major, minor) = Binary::inspect(&file)?.needs;
    if (major, minor) > GLIBC {
        bail!("{} needs glibc {major}.{minor}", file.display());
    }
    Ok(file)
}

impl Binary {
    /// Reads a program's headers. Refuses one that needs libraries beyond those of manylinux.
    pub(crate) fn inspect(file: &Path) -> Result<Self> {
        let path = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = match mach_o::parse(&bytes)? {
            Some((machine, macos)) => platform_of(machine).map(|platform| (platform, macos)),
            None => parse(&read(Command::new("readelf").env("LC_ALL", "C").args(["-W", "-h", "-d", "-V"]).arg(&path))?),
        };
        let (platform, needs) = parsed.with_context(|| format!("cannot pack {}", path.display()))?;
        Ok(Self { path, bytes, platform, needs })
    }

    /// Returns the tag by which pip decides whether the wheel fits a machine.
    pub(crate) fn wheel_tag(&self) -> String {
        let (system, (major, minor)) = match self.platform.os {
            "darwin" => ("macosx", self.needs),
            _ => ("manylinux", self.needs.max(GLIBC)),
        };
        format!("py3-none-{system}_{major}_{minor}_{}", self.platform.arch)
    }

    pub(crate) fn describe(&self) -> String {
        let (size, (major, minor)) = (self.bytes.len() as f64 / f64::from(1 << 20), self.needs);
        let system = if self.platform.os == "darwin" { "macOS" } else { "glibc" };
        format!("{} ({size:.1} MiB, {}, {system} {major}.{minor})", self.path.display(), self.platform.name)
    }
}

/// Returns the platform and the needed glibc from the output of `readelf`.
fn parse(headers: &str) -> Result<(&'static Platform, Version)> {
    let machine = headers.lines().find_map(|line| line.trim().strip_prefix("Machine:")).unwrap_or_default().trim();
    let platform = platform_of(machine)?;
    let libraries = headers.lines().filter_map(|line| line.split_once("Shared library: [")?.1.strip_suffix(']'));
    for library in libraries {
        if !LIBRARIES.contains(&library) {
            bail!("it needs {library}, which a bare system may lack");
        }
    }
    if let Some((major, minor)) = newest(headers, "GCC_").filter(|version| *version > LIBGCC) {
        bail!("it needs libgcc {major}.{minor}; manylinux allows {}.{}", LIBGCC.0, LIBGCC.1);
    }
    let glibc = newest(headers, "GLIBC_").context("it needs no glibc; only programs linked with glibc are packed")?;
    Ok((platform, glibc))
}

fn platform_of(machine: &str) -> Result<&'static Platform> {
    let platform = PLATFORMS.iter().find(|platform| platform.machine == machine);
    platform.with_context(|| format!("no packages for the machine {machine:?}"))
}

/// Returns the newest version of a library's symbols that the program needs.
fn newest(headers: &str, prefix: &str) -> Option<Version> {
    let names = headers.lines().filter_map(|line| line.split_once("Name: ")?.1.split_whitespace().next());
    let versions = names.filter_map(|name| {
        let mut numbers = name.strip_prefix(prefix)?.split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next().flatten().unwrap_or(0)))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: &str = "  Machine:                           Advanced Micro Devices X86-64
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5
  0x0020:   Name: GLIBC_2.17  Flags: none  Version: 4
  0x0030:   Name: GCC_4.2.0  Flags: none  Version: 3
";

    #[test]
    fn the_newest_symbol_decides() {
        let (platform, glibc) = parse(HEADERS).unwrap();
        assert_eq!((platform.name, glibc), ("linux-x64", (2, 17)));
        let newer = HEADERS.replace("GLIBC_2.9", "GLIBC_2.34");
        assert_eq!(parse(&newer).unwrap().1, (2, 34));
    }

    #[test]
    fn a_program_that_a_bare_system_cannot_run_is_refused() {
        for (from, to, error) in [
            ("libgcc_s.so.1", "libssl.so.3", "it needs libssl.so.3"),
            ("GCC_4.2.0", "GCC_12.0.0", "it needs libgcc 12.0"),
            ("Advanced Micro Devices X86-64", "RISC-V", "no packages for the machine"),
            ("GLIBC", "MUSL", "it needs no glibc"),
        ] {
            let said = parse(&HEADERS.replace(from, to)).unwrap_err().to_string();
            assert!(said.starts_with(error), "{said}");
        }
    }

    /// A wheel's tag names the glibc that this very program needs.
    #[test]
    fn the_tag_of_a_real_program_is_that_of_its_symbols() {
        let this = Binary::inspect(&std::env::current_exe().unwrap()).unwrap();
        let (major, minor) = this.needs.max(GLIBC);
        assert!(this.wheel_tag().starts_with(&format!("py3-none-manylinux_{major}_{minor}_")));
        assert!(Binary::inspect(Path::new("/bin/nonexistent")).is_err());
    }
}
