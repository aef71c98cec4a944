//! Code search that reports how reliable each answer is.
//!
//! - [`tools`]: the tools for agents, one file each.
//! - `question`: parses a name as a person writes it; `name_at_position`: resolves a file, line and column to a name.
//! - `search`: finds the files that mention a name. It reads the disk for every question, so no answer is stale.
//! - `skipped_files`: files that a search skipped or parsed in part, with the reason.
//! - `walk`: walks the files below a folder; `ignore_rules`: applies ignore rules.
//! - `unsearched_files`: files that a compiler reads and the search does not.
//! - `definition`: selects the definitions that a question means; `suggestions`: suggests similar names.
//! - `answer`: combines definitions and uses of a name.
//! - `callees`: lists the calls in the body of a definition, by name and by language server.
//! - `matches`: finds where values of a type are matched, and the effect of a new constructor there.
//! - `shape`: reads the fields and constructors of a type; `resolved_type`: resolves types, also through aliases.
//! - [`facts`]: definitions, uses, matches and needs of a name, for walks over code.
//! - `judgement`: verdicts of sites, answers and servers; `completeness`: how complete an answer is, and why.
//! - `haskell`: resolves names in Haskell by the `.hie` files that GHC writes.
//! - `pool`: all language servers of a project, and their readiness probes.
//! - `target`: what go-to-definition leads to, and the targets that were read before.
//! - `inquiry`: asks a server and decides when its answers are reliable; `verdict`: combines references, definitions and
//!   syntax into a verdict for each site.
//! - `verdict_store`: stores confirmed verdicts on disk; `stored_verdicts`: recalls them.
//!
//! Syntax finds every possible use, a language server verifies each one, and every answer names the server and the unverified sites.
//! Start with `answer`, then `verdict`.

mod answer;
mod callees;
mod completeness;
mod definition;
pub mod facts;
mod haskell;
mod ignore_rules;
mod inquiry;
mod judgement;
mod line_column;
mod matches;
mod name_at_position;
mod pool;
mod question;
mod resolved_type;
mod rule;
mod running_servers;
mod search;
pub mod settings;
mod shape;
mod skipped_files;
mod stored_verdicts;
mod suggestions;
mod target;
mod test_detection;
pub mod tools;
mod unsearched_files;
mod verdict;
mod verdict_store;
mod walk;

pub use definition::AMBIGUOUS;
pub use haskell::{ChangeEffect, GhcMessage};
pub use lsp::journal;
pub use lsp::server::{Journal, Timing};
pub use pool::{Checked, Options, Tried, Trusts, checked, runner_of_code, tries};
pub use running_servers::Running;
pub use settings::CodeSettings;
pub use syntax::{Class, Kind, Language, parse};
