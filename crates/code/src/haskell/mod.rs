//! Resolves names in Haskell by GHC's `.hie` files. hob runs GHC without code generation, with output in hob's state
//! directory, and looks up candidates in the result. This runs code of the project (Template Haskell, preprocessors,
//! plugins), so it requires trust.
//!
//! - `sources`: the current files that GHC may read.
//! - `toolchain`: the GHC of a project and its packages.
//! - `reader`: a Haskell program that reads `.hie` and `.cabal` files.
//! - `units`: groups of files that are compiled together.
//! - `compile`: runs GHC, and reports which files do not compile.
//! - `index`: the names at each place.
//! - `build`: runs these steps in the background, once for each state of the files. Start here.
//! - `uses`: answers from an index.
//! - `proof`: the messages that a change causes.

mod build;
mod compile;
mod index;
mod proof;
mod reader;
mod sources;
mod toolchain;
mod units;
mod uses;

pub(crate) use build::{Late, Projects};
pub use compile::Message as GhcMessage;
pub(crate) use index::Index;
pub use proof::ChangeEffect;
pub(crate) use proof::prove;
pub(crate) use toolchain::Order;
pub(crate) use uses::{declarations, judge};

use syntax::{Language, family};

/// The name of the server profile.
pub(crate) const GHC: &str = "ghc";

/// True if GHC is the language server of a family.
pub(crate) fn is_judged_by_ghc(of: &str) -> bool {
    of == family(Language::Haskell)
}
