//! User interfaces for people. So far: terminal forms for answering questions.

pub mod form;
