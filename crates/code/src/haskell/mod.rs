//! What names mean in Haskell, by GHC's own word: the `.hie` files that it writes beside its interfaces. hob has GHC compile a
//! project without making code, into its state directory, reads those files, and looks candidates up in them. This runs code of
//! the project (Template Haskell, preprocessors, plugins), so it waits for trust like every server that does.
//!
//! - `sources`: the files that GHC may read, as they are now.
//! - `toolchain`: the GHC of a project, and its packages.
//! - `reader`: the program in Haskell that reads `.hie` files and `.cabal` files.
//! - `units`: what is compiled together.
//! - `compile`: runs GHC, and tells which files do not compile.
//! - `index`: what stands at each place.
//! - `build`: all of that, in the background, once for each state of the files. Start here.
//! - `uses`, `meanings`: answers from an index.

mod build;
mod compile;
mod index;
mod meanings;
mod reader;
mod sources;
mod toolchain;
mod units;
mod uses;

use crate::syntax::{Language, family};

pub(crate) use build::{Late, Order, Projects};
pub(crate) use index::Index;
pub(crate) use meanings::declarations;
pub(crate) use uses::judge;

/// The name of the profile.
pub(crate) const GHC: &str = "ghc";

/// Whether GHC judges the languages of a family.
pub(crate) fn is_judged_by_ghc(of: &str) -> bool {
    of == family(Language::Haskell)
}
