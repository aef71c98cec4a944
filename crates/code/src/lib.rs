//! Answers about code that say how sure they are.
//!
//! - [`tools`]: what agents call, one file each.
//! - `question`: what is asked for: a name as a person writes it; `asked`: what it means by a file, a line and a column.
//! - `search`: the files that mention a name, read from disk at every question, so that no answer is stale.
//! - `skipped`: what a search left out, or read in part, and why.
//! - `walk`: the files below a folder; `ignored`: the rules that leave some out.
//! - `unsearched`: what a compiler reads and the search does not; `path_dependencies`: crates outside of the root.
//! - `syntax`: what a name does where it stands, and what a file declares; one module per language.
//! - `definition`: what a definition is, and which ones a question means; `near`: what a wrong name may have been meant to be.
//! - `answer`: definitions and uses of a name, put together.
//! - `callees`: what the body of a definition calls, by its names and by a judge's word.
//! - `matches`: where values of a type are taken apart, and what another constructor does there.
//! - `shape`: the fields and constructors of a type; `typed`: the types of a name with theirs, through other names.
//! - `judgement`: what is said of a site, of an answer and of who judges it; `head`: how sure an answer is, and why not surer.
//! - `haskell`: what names mean in Haskell, by the `.hie` files that GHC writes.
//! - `lsp`: the protocol of language servers, as a client; `server`: one server, its states and what it has read; `pool`: all
//!   of a project.
//! - `inquiry`: questions to a server, and when its answers can be believed; `verdict`: what syntax finds, looked at by a server
//!   from both sides.
//! - `kept`: what was confirmed, for when nobody judges; `earlier` recalls it.
//!
//! Syntax finds every place that could be a use, a server judges each one, and every answer says what was judged and by whom.
//! Start with `answer`, then `verdict`.

mod answer;
mod asked;
mod blocking;
mod callees;
mod definition;
mod earlier;
mod haskell;
mod head;
mod ignored;
mod in_test;
mod inquiry;
pub mod journal;
mod judgement;
mod kept;
mod lsp;
mod matches;
mod near;
mod path_dependencies;
mod place;
mod pool;
mod programs;
mod question;
mod rule;
mod running;
mod search;
mod server;
pub mod settings;
mod shape;
mod skipped;
mod syntax;
pub mod tools;
mod typed;
mod unsearched;
mod verdict;
mod walk;

pub use pool::{Checked, Options, Tried, Trusts, checked, runner_of_code, tries};
pub use running::Running;
pub use server::{Journal, Timing, sweep_scratch};
pub use settings::CodeSettings;
pub use syntax::{Class, Kind, Language};
