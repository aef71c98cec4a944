//! where things are and who may.
