//! User interfaces for people on a terminal: [`form`] answers a question, [`top`] shows the rooms of a project.

mod editor;
pub mod form;
mod terminal;
pub mod top;
