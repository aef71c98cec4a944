//! `--priority`: the four there are, and which of them a word for another one most likely means.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use daemon::parts::mail::nearest_priority;

/// Parses a priority, or `all` where that is one.
#[derive(Clone)]
pub(super) struct Priority {
    names: &'static [&'static str],
}

impl Priority {
    /// Of a message.
    pub(super) const ONE: Priority = Priority { names: &["critical", "high", "normal", "low"] };
    /// The least that is wanted.
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
