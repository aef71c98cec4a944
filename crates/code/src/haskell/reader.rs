//! The program that reads `.hie` files and package descriptions. Their formats depend on the GHC version, so it is written in
//! Haskell and compiled with the project's GHC.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::sources::stamp;
use super::toolchain::Toolchain;
use super::units::Component;

const SOURCE: &str = include_str!("Reader.hs");

/// The names of a module, as the reader prints them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    pub hie: PathBuf,
    /// Why the file cannot be read.
    pub problem: Option<String>,
    /// The path that GHC was given.
    pub file: PathBuf,
    pub unit: String,
    pub module: String,
    length: usize,
    hash: String,
    /// Namespace, unit, module and name. A local name has an empty unit and carries its place.
    pub names: Vec<(String, String, String, String)>,
    /// Index of the name, line, first column, end column, and the bits of [`how`].
    pub uses: Vec<[u32; 5]>,
    /// Type class evidence: the index of its name, then those of its components.
    pub evidence: Vec<Vec<u32>>,
}

impl Names {
    /// True if they were read from this text.
    pub(super) fn are_of(&self, text: &[u8]) -> bool {
        text.len() == self.length && hash(text).to_string() == self.hash
    }
}

/// Bits that describe a use.
pub(super) mod how {
    pub(crate) const BINDING: u32 = 2;
    pub(crate) const IMPORT_OR_EXPORT: u32 = 4;
    pub(crate) const FIELD: u32 = 8;
    pub(crate) const INSTANCE_METHOD: u32 = 16;
    pub(crate) const DECLARATION: u32 = 32;
    pub(crate) const EVIDENCE: u32 = 64;
    pub(crate) const INSTANCE: u32 = 128;
}

/// Returns the hash of a source that the reader computes: 64-bit FNV-1a.
pub(super) fn hash(text: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211);
    text.iter().fold(14_695_981_039_346_656_037, step)
}

pub(super) struct Reader {
    program: PathBuf,
}

impl Reader {
    /// Returns the reader for a GHC; compiles it on first use.
    pub(super) async fn new(toolchain: &Toolchain) -> Result<Reader, String> {
        let directory = &toolchain.order.directory;
        let mut of = DefaultHasher::new();
        (SOURCE, &toolchain.ghc, &toolchain.version, stamp(&toolchain.ghc)).hash(&mut of);
        let program = directory.join(format!("reader-{}-{:016x}", toolchain.version, of.finish()));
        if program.is_file() {
            return Ok(Reader { program });
        }
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        // Another daemon may compile it at the same time.
        let own = directory.join(format!("compiling-{}", process::Nonce::random().as_str()));
        std::fs::create_dir_all(&own).map_err(failed)?;
        std::fs::write(own.join("Reader.hs"), SOURCE).map_err(failed)?;
        let args = ["-O0", "-w", "-package-env=-", "-package", "ghc", "-package", "Cabal", "-o", "reader", "Reader.hs"];
        let dynamic = [&["-dynamic"][..], &args].concat();
        let mut said = toolchain.output(&toolchain.ghc, &own, &dynamic).await;
        // Some installations lack shared libraries.
        if said.is_err() {
            said = toolchain.output(&toolchain.ghc, &own, &args).await;
        }
        let moved = said.and_then(|_| std::fs::rename(own.join("reader"), &program).map_err(failed));
        _ = std::fs::remove_dir_all(&own);
        moved.map_err(|problem| format!("GHC {} does not compile hob's reader: {problem}", toolchain.version))?;
        Ok(Reader { program })
    }

    /// Reads the components of packages.
    pub(super) async fn components(&self, toolchain: &Toolchain, files: &[&Path]) -> Result<Vec<Component>, String> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let databases = toolchain.databases.iter().map(PathBuf::as_path);
        let all = std::iter::once(Path::new("components")).chain(databases).chain([Path::new("--")]);
        let args: Vec<String> =
            all.chain(files.iter().copied()).map(|path| path.to_string_lossy().into_owned()).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = toolchain.output(&self.program, Path::new("/"), &args).await?;
        said.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("the reader: {error}"))).collect()
    }

    /// Reads the names in `.hie` files. `own` is a temporary file that lists them.
    pub(super) async fn names(
        &self,
        toolchain: &Toolchain,
        files: &[PathBuf],
        own: PathBuf,
    ) -> Result<Vec<Names>, String> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let list: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        std::fs::write(&own, list).map_err(|error| format!("{}: {error}", own.display()))?;
        let text = toolchain.output(&self.program, Path::new("/"), &["names", &own.to_string_lossy()]).await?;
        let read = move || text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())
    }
}
