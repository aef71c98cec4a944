//! "Did you mean": finds the name that is most similar to a misspelt one.

use serde_json::Value;

/// The number of compared letters of a name.
const LETTERS: usize = 64;

/// Completes serde's message about an unknown field or value with the most similar name, or otherwise with the names that
/// the schema shows. Aliases are not listed, and neither are the arguments of the tool, which the usage lists. `None` for
/// other messages.
pub(super) fn unknown_name(problem: &str, input_schema: &Value) -> Option<String> {
    unknown_field(problem, input_schema).or_else(|| unknown_variant(problem, input_schema))
}

fn unknown_variant(problem: &str, input_schema: &Value) -> Option<String> {
    let (start, expected) = problem.rsplit_once("`, expected ")?;
    let is_variant = start.contains("unknown variant `");
    let names = expected.split('`').skip(1).step_by(2);
    let shown: Vec<String> =
        names.filter(|name| is_choice(input_schema, name)).map(|name| format!("`{name}`")).collect();
    (is_variant && !shown.is_empty()).then(|| format!("{start}`, expected {}", shown.join(" or ")))
}

fn unknown_field(problem: &str, input_schema: &Value) -> Option<String> {
    // The place of a field in an argument stands before.
    let (place, problem) = problem.split_at(problem.find("unknown field `")?);
    let (field, expected) = problem.strip_prefix("unknown field `")?.rsplit_once("`, expected ")?;
    let names = expected.split('`').skip(1).step_by(2);
    let shown: Vec<&str> = names.filter(|name| is_shown(input_schema, name)).collect();
    if shown.is_empty() {
        return None;
    }
    Some(match nearest(field, shown.iter().copied()) {
        Some(name) => format!("{place}unknown field `{field}`: did you mean `{name}`?"),
        None if shown.iter().all(|name| input_schema["properties"].get(name).is_some()) => {
            format!("{place}unknown field `{field}`")
        }
        None => {
            let names: Vec<String> = shown.iter().map(|name| format!("`{name}`")).collect();
            format!("{place}unknown field `{field}`, expected {}", names.join(" or "))
        }
    })
}

/// Returns the most similar name: the same except for case and signs (`waitMs`), one with the same beginning (`sess`),
/// or one with up to a third of its letters wrong.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(wanted);
    let allowed = (wanted.chars().count() / 3).min(3);
    let near = names.into_iter().filter_map(|name| {
        let other = letters(name);
        let begins = |long: &str, short: &str| short.chars().count() > 2 && long.starts_with(short);
        let far = strsim::osa_distance(&wanted, &other);
        let close = far <= allowed || begins(&other, &wanted) || begins(&wanted, &other);
        close.then_some((far, name))
    });
    near.min().map(|(_, name)| name)
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(LETTERS).collect()
}

/// Returns true if a property of this name is in a schema, at any depth.
fn is_shown(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(object) => {
            schema["properties"].get(name).is_some() || object.values().any(|value| is_shown(value, name))
        }
        Value::Array(items) => items.iter().any(|item| is_shown(item, name)),
        _ => false,
    }
}

/// Returns true if a text is one of the choices in a schema, at any depth.
fn is_choice(schema: &Value, text: &str) -> bool {
    match schema {
        Value::Object(object) => {
            schema["const"] == text
                || schema["enum"].as_array().is_some_and(|choices| choices.iter().any(|choice| choice == text))
                || object.values().any(|value| is_choice(value, text))
        }
        Value::Array(items) => items.iter().any(|item| is_choice(item, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn the_nearest_name_is_meant_and_a_far_one_is_not() {
        let meant = |wanted| nearest(wanted, ["code", "session", "wait_ms", "max_bytes", "stdin"]).unwrap_or("-");
        let all = [
            "cod",
            "codee",
            "ocde",
            "sess",
            "session_id",
            "waitMs",
            "wait-ms",
            "maxbytes",
            "std",
            "c",
            "timeout",
            "é",
            "",
        ];
        let said: Vec<String> = all.iter().map(|wanted| format!("{wanted:?} {}", meant(wanted))).collect();
        expect![[r#"
            "cod" code
            "codee" code
            "ocde" code
            "sess" session
            "session_id" session
            "waitMs" wait_ms
            "wait-ms" wait_ms
            "maxbytes" max_bytes
            "std" stdin
            "c" -
            "timeout" -
            "é" -
            "" -"#]]
        .assert_eq(&said.join("\n"));
    }

    #[test]
    fn what_is_understood_but_not_shown_is_not_named() {
        let schema = json!({"properties": {
            "code": {},
            "mode": {"enum": ["fast", "slow"]},
            "at": {"properties": {"line": {}, "column": {}}},
        }});
        let said = |problem: &str| unknown_name(problem, &schema).unwrap_or_else(|| "-".to_owned());
        expect!["unknown field `cod`: did you mean `code`?"]
            .assert_eq(&said("unknown field `cod`, expected one of `code`, `command`, `at`"));
        expect!["unknown field `comand`"]
            .assert_eq(&said("unknown field `comand`, expected one of `code`, `command`, `at`"));
        expect!["unknown field `col`: did you mean `column`?"]
            .assert_eq(&said("unknown field `col`, expected `line` or `column`"));
        expect!["unknown field `x`, expected `line` or `column`"]
            .assert_eq(&said("unknown field `x`, expected one of `line`, `row`, `column`"));
        expect!["`mode`: unknown variant `x`, expected `fast` or `slow`"]
            .assert_eq(&said("`mode`: unknown variant `x`, expected one of `fast`, `quick`, `slow`"));
        expect!["-"].assert_eq(&said("missing field `code`"));
    }
}
