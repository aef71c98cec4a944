//! Drafts: the unsent contents of a form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The unsent contents of a form. A typed yes or no to a dangerous question is never restored from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// Contents by field.
    pub fields: BTreeMap<String, FieldDraft>,
    pub note: Option<String>,
}

/// The unsent contents of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldDraft {
    pub text: String,
    /// The ids of the chosen options.
    pub chosen: Vec<String>,
}
