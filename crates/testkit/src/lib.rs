//! what the tests share.
