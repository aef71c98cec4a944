//! `--priority`: the four levels, and suggestions for other words.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use daemon::parts::mail::nearest_priority;

/// A parser for priorities, with or without `all`.
#[derive(Clone)]
pub(super) struct Priority {
    names: &'static [&'static str],
}

impl Priority {
    /// The priority of a message.
    pub(super) const ONE: Priority = Priority { names: &["critical", "high", "normal", "low"] };
    /// The minimum priority.
    pub(super) const LEAST: Priority = Priority { names: &["critical", "high", "normal", "low", "all"] };

    fn parser(&self) -> PossibleValuesParser {
        PossibleValuesParser::new(self.names)
    }
}

impl TypedValueParser for Priority {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        self.parser().parse_ref(command, arg, value).map_err(|mut error| {
            if let Some(near) = value.to_str().and_then(nearest_priority) {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(near.as_str().to_owned()));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}
