//! Error messages for invalid values. The validator's messages are used unless they only repeat keywords.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

/// The maximum number of explained alternatives of a union.
const FORMS_MAX: usize = 4;

/// Describes an error of `it`.
pub(super) fn describe(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => describe_union(error, context),
        _ => plain(error),
    }
}

/// Returns true if the error is a missing key.
pub(super) fn is_missing(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Required { .. })
}

fn plain(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("it matches none of the {} allowed forms", context.len())
        }
        Kind::OneOfMultipleValid { .. } => "it matches more than one of the forms, and exactly one is allowed (oneOf)".to_owned(),
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => "it has no fields".to_owned(),
        // In quotation marks: a command line shows a name in backquotes as a flag.
        Kind::Required { property } => format!("{property} is missing"),
        Kind::FalseSchema => "no value is allowed here".to_owned(),
        Kind::Not { schema } => format!("it matches a forbidden schema: {schema}"),
        Kind::Contains => "none of its items matches the required schema (contains)".to_owned(),
        Kind::PropertyNames { error } => format!("the name {} of a field: {}", error.instance(), plain(error)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "it takes too long to compare with its pattern".to_owned()
        }
        Kind::Referencing(_) => {
            "it has an external reference, which is not supported: copy the definition into its $defs, and refer to #/$defs/NAME".to_owned()
        }
        Kind::FromUtf8 { .. } => "its encoded content is not valid UTF-8".to_owned(),
        _ => error.masked_with("it").to_string(),
    }
}

/// Describes a union with the first error of each alternative.
fn describe_union(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> String {
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
    format!("it matches none of the {} allowed forms ({}{more})", context.len(), reasons.join("; or "))
}
