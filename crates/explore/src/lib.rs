//! Two questions about code that no single look-up answers: what to read to understand a topic, and what breaks with a change.
//!
//! - `walk`: the best-first walk of both, a pure function from state and event to action.
//! - `teach`: the reading list; `scout`: the impact of a change.
//! - `query`: the change and the names in a question; `rubric`: the risk of each use for each change.
//! - `select`: the decisions that a model may make instead of the rules, their records, and training examples.
//! - `lookups`: the time limit of a walk, and how complete its facts are; `position`: the order of places.
//! - `prove`: the proof of an impact by the compiler.
//! - `sources`: the facts and means of other parts.
//! - `test_command`: the command that runs a test.
//! - [`tools`]: the tools, one file each; [`control`]: the methods on records.
//!
//! The facts come from `code::facts`. Start with `walk`, then `scout`.

pub mod control;
mod lookups;
mod position;
mod prove;
mod query;
mod rubric;
mod scout;
mod select;
mod settings;
mod sources;
mod teach;
mod test_command;
pub mod tools;
mod walk;

pub use settings::ExploreSettings;
