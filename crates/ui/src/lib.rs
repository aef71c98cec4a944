//! User interfaces for people: [`form`] answers a question on a terminal, [`top`] shows the rooms of a project there, and
//! [`page`] shows them in a browser.

mod cells;
mod editor;
mod feed;
pub mod form;
mod letter;
pub mod page;
mod rows;
mod terminal;
pub mod top;
