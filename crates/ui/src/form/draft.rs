//! What a person left in a form without sending it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The unsent contents of a form. A typed yes or no to a dangerous question is never restored from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// By field.
    pub fields: BTreeMap<String, Left>,
    pub note: Option<String>,
}

/// The unsent contents of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    pub text: String,
    /// The ids of the chosen options.
    pub chosen: Vec<String>,
}
