//! Durable questions to a person. A question is stored before it is shown, has an id, and is answered once: in the dialog of
//! the program that asked, or with a command. The answer belongs to the run that asked, and is delivered to it once.
//!
//! - [`question`]: a question and its states; a pure function from state and event to actions.
//! - [`form`]: fields, the validation of all answers, and the forms of agents' dialogs.
//! - [`store`]: the file `ask.db`.
//! - [`board`]: the questions of a daemon, their askers, the connected faces, and the delivery of answers.
//! - `route`: the ways to a person and back: waiting calls, dialogs, and late answers.
//! - [`tools`]: the MCP tools, one file each; [`control`]: the methods for the command line.
//!
//! hob never invents an answer. A missing person or a timeout has a separate status, and never means "no".

mod answer;
mod attachment;
pub mod board;
mod calls;
pub mod control;
mod fixed_texts;
pub mod form;
pub mod journal;
pub mod question;
mod route;
mod settings;
pub mod store;
pub mod tools;

pub use board::{Board, BoardOptions, Notified, Notify};
pub use route::hook_question::{HookAnswer, HookQuestion, ask_at_hook};
pub use route::late_answers::{AgentEnd, acknowledge_at_hook, late_at_hook, take_late_answers};
pub use settings::AskSettings;
