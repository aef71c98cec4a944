//! Faces: what shows hob to a person. So far forms on a terminal, by which a question is answered.

pub mod form;
