//! A compiler, in process, for the Cure language: a functional language for the BEAM with refinement types, lengths in
//! types, and state machines as a construct of the language.
//!
//! A program's way: [`syntax`] (text → lossless tree → syntax) → `resolve` → `types` → `lower` → the interpreter
//! (`eval`) or BEAM files ([`beam`]). The data that these stages hand on is in `ir`, below all of them. [`compile()`]
//! drives them. Only `part`, `tools`, `prompts` and `resources` know of MCP, only [`lsp`] of editors.

mod answer;
pub mod beam;
mod cases;
mod compile;
pub mod diagnostic;
mod eval;
pub mod files;
pub mod fsm;
mod fuel;
mod ir;
mod limit;
mod lower;
pub mod lsp;
mod part;
mod prompts;
mod render;
mod report;
mod resolve;
mod resources;
pub mod run;
mod settings;
mod solver;
pub mod standard;
pub mod syntax;
mod tools;
mod types;
mod workspace;

pub use compile::{Compilation, ModuleCache, NoSources, Sources, compile};
pub use eval::limits::{Failure, Limits, Stop};
pub use eval::value::float as erlang_float;
pub use eval::watch::{Spent, Watched};
pub use eval::{Run, interpret};
pub use ir::form;
pub use part::{Cure, Modules, Options, RunLimits};
pub use prompts::prompts;
pub use resources::serve_resources;
pub use settings::CureSettings;
pub use tools::tools;
pub use workspace::{FileReport, Index, Report, Workspace};
