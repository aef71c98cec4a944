//! Answers about code that say how sure they are.
//!
//! - [`tools`]: what agents call, one file each.
//! - `question`: what is asked for: a name as a person writes it.
//! - `search`: the files that mention a name, read from disk at every question, so that no answer is stale.
//! - `syntax`: what a name does where it stands, and what a file declares; one module per language.
//! - `definition`: what a definition is, and which ones a question means.
//! - `answer`: definitions and uses of a name, put together.
//! - `callees`: what the body of a definition calls.
//! - `matches`: where values of a type are taken apart, and what another constructor does there.
//! - `shape`: the fields and constructors of a type.
//! - `head`: how sure an answer is, and why not surer.
//!
//! Nothing is resolved yet: a use is a place that could mean the definition, and every answer says so. Start with
//! `answer`.

mod answer;
mod callees;
mod definition;
mod head;
mod matches;
mod place;
mod question;
mod search;
mod shape;
mod syntax;
pub mod tools;

pub use syntax::{Class, Kind, Language};
