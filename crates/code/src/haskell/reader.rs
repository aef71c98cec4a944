//! The program that reads `.hie` files and descriptions of packages. Only GHC itself knows their formats, so it is written in
//! Haskell and compiled with the GHC of the project, once.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::sources::stamp;
use super::toolchain::{Runner, Toolchain};
use super::units::Component;

const SOURCE: &str = include_str!("Reader.hs");

/// The names of a module, as the reader prints them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    pub hie: PathBuf,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// As GHC was given it.
    pub file: PathBuf,
    pub unit: String,
    pub module: String,
    pub length: usize,
    pub hash: String,
    /// Namespace, unit, module and name; of a local name no unit, and its place.
    pub names: Vec<(String, String, String, String)>,
    /// Number of the name, line, first column, column after it, and what it does there.
    pub uses: Vec<[u32; 5]>,
    /// Evidence of classes: the number of its name, and of those it is made of.
    pub evidence: Vec<Vec<u32>>,
}

/// What a use does, as bits of its last number.
pub(super) mod how {
    pub(crate) const BINDING: u32 = 2;
    pub(crate) const IMPORT_OR_EXPORT: u32 = 4;
    pub(crate) const FIELD: u32 = 8;
    pub(crate) const INSTANCE_METHOD: u32 = 16;
    pub(crate) const DECLARATION: u32 = 32;
    pub(crate) const EVIDENCE: u32 = 64;
    pub(crate) const INSTANCE: u32 = 128;
}

/// The hash that the reader has of a source: FNV-1a of 64 bits.
pub(super) fn hash(text: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211);
    text.iter().fold(14_695_981_039_346_656_037, step)
}

pub(super) struct Reader {
    program: PathBuf,
}

impl Reader {
    /// The reader for a GHC, compiled if there is none yet.
    pub(super) async fn new(runner: &Runner, toolchain: &Toolchain, directory: &Path) -> Result<Reader, String> {
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
        let mut said = runner.output(&toolchain.ghc, &own, &dynamic).await;
        // Not every installation has libraries that are shared.
        if said.is_err() {
            said = runner.output(&toolchain.ghc, &own, &args).await;
        }
        let moved = said.and_then(|_| std::fs::rename(own.join("reader"), &program).map_err(failed));
        _ = std::fs::remove_dir_all(&own);
        moved.map_err(|problem| format!("GHC {} does not compile hob's reader: {problem}", toolchain.version))?;
        Ok(Reader { program })
    }

    /// The components of packages.
    pub(super) async fn components(
        &self,
        runner: &Runner,
        toolchain: &Toolchain,
        files: &[&Path],
    ) -> Result<Vec<Component>, String> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let databases = toolchain.databases.iter().map(PathBuf::as_path);
        let all = std::iter::once(Path::new("components")).chain(databases).chain([Path::new("--")]);
        let args: Vec<String> =
            all.chain(files.iter().copied()).map(|path| path.to_string_lossy().into_owned()).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = runner.output(&self.program, Path::new("/"), &args).await?;
        said.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("the reader: {error}"))).collect()
    }

    /// The names in `.hie` files, which a file of hob's own lists.
    pub(super) async fn names(&self, runner: &Runner, files: &[PathBuf], own: PathBuf) -> Result<Vec<Names>, String> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let list: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        std::fs::write(&own, list).map_err(|error| format!("{}: {error}", own.display()))?;
        let text = runner.output(&self.program, Path::new("/"), &["names", &own.to_string_lossy()]).await?;
        let read = move || text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())
    }
}
