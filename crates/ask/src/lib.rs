//! Durable questions to a person. A question is stored before anybody sees it, has an id, and is answered once: in the
//! own dialog of the program that asked, or by a command. The answer belongs to the run that asked, and reaches it once.
//!
//! - [`question`]: a question and its states; pure (state, event) → actions.
//! - [`form`]: fields, the one check for every way in, and the forms of agents' dialogs.
//! - [`store`]: the file `ask.db`.
//! - [`board`]: the questions of a daemon: who asks, who watches, what is handed out.
//! - `route`: the ways to a person and back: a call that waits, the dialog, answers that come late.
//! - [`tools`]: what agents call, one file each; [`control`]: what the command line calls.
//!
//! An answer is never made up: that nobody is there, or that time is over, is said as that and never as "no".

mod answer;
mod attachment;
pub mod board;
mod calls;
pub mod control;
pub mod form;
pub mod journal;
pub mod question;
mod route;
mod settings;
pub mod store;
pub mod tools;
mod words;

pub use board::{Board, BoardOptions, Notified, Notify};
pub use route::hooked::{HookAnswer, HookQuestion, ask_at_hook};
pub use route::late::{Gone, heard_at_hook, late, late_at_hook};
pub use settings::AskSettings;
