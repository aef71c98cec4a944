//! Error messages for invalid values. The validator's messages are used unless they only repeat keywords.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

/// The maximum number of explained alternatives of a union.
const FORMS_MAX: usize = 4;

/// Describes an error of `it`.
pub(super) fn said(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => fits_none(error, context),
        _ => plain(error),
    }
}

fn plain(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("it fits none of the {} forms that it may have", context.len())
        }
        Kind::OneOfMultipleValid { .. } => "it fits more than one of the forms of which it has one (oneOf)".to_owned(),
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => "it has no fields".to_owned(),
        Kind::FalseSchema => "nothing may stand here".to_owned(),
        Kind::Not { schema } => format!("it is what it may not be: {schema}"),
        Kind::Contains => "none of its items is as one of them has to be (contains)".to_owned(),
        Kind::PropertyNames { error } => format!("the name {} of a field: {}", error.instance(), plain(error)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "it takes too long to compare with its pattern".to_owned()
        }
        Kind::Referencing(_) => {
            "it refers to what is not in it, and nothing outside is read: put that into its $defs, and refer to #/$defs/NAME".to_owned()
        }
        Kind::FromUtf8 { .. } => "what it encodes is no text in UTF-8".to_owned(),
        _ => error.masked_with("it").to_string(),
    }
}

/// Describes a union with the first error of each alternative.
fn fits_none(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> String {
    let here = error.instance_path().as_str();
    let mut reasons: Vec<String> = Vec::new();
    for first in context.iter().take(FORMS_MAX).filter_map(|of_form| of_form.first()) {
        let place = first.instance_path().as_str();
        let place = place.strip_prefix(here).unwrap_or(place);
        let reason = if place.is_empty() { plain(first) } else { format!("{place}: {}", plain(first)) };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let more = if context.len() > FORMS_MAX { "; …" } else { "" };
    format!("it fits none of the {} forms that it may have ({}{more})", context.len(), reasons.join("; or "))
}
