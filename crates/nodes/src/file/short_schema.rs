//! Converts short schemas to JSON Schema: dotprompt's Picoschema, with lengths (`string ..200`) and ranges (`integer 1..5`).
//!
//! `{ name: string, age?: "integer 0..150, in years", tags(array, what it is about): string, mood(enum): [good, bad] }`.
//! An object is closed. A map that has a `type` of JSON Schema, or `properties`, is JSON Schema and is not converted.

use serde_json::{Map, Value, json};

use super::Problem;
use super::yaml::{Kind, Tree};

const SCALARS: &[&str] = &["string", "number", "integer", "boolean", "null", "any"];
const JSON_TYPES: &[&str] = &["string", "number", "integer", "boolean", "null", "object", "array"];

/// Converts a schema of the front matter to JSON Schema.
pub(super) fn schema(tree: &Tree) -> Result<Value, Problem> {
    match &tree.kind {
        Kind::Text(text) => scalar(text, tree.line),
        Kind::Map(entries) if is_json_schema(entries) => Ok(tree.to_json()),
        Kind::Map(_) => object(tree),
        Kind::Null => Err(Problem::at(tree.line, "the type is missing; write the null type in quotes: \"null\"")),
        _ => Err(Problem::at(tree.line, format!("a schema is a map or a text such as `string`, not {}", tree.word()))),
    }
}

fn is_json_schema(entries: &[(super::yaml::Key, Tree)]) -> bool {
    entries.iter().any(|(key, value)| match (key.name.as_str(), &value.kind) {
        ("type", Kind::Text(text)) => JSON_TYPES.contains(&text.as_str()),
        ("type", Kind::List(_)) | ("properties", Kind::Map(_)) => true,
        ("$ref" | "anyOf" | "oneOf" | "allOf" | "$defs" | "$schema", _) => true,
        _ => false,
    })
}

fn object(tree: &Tree) -> Result<Value, Problem> {
    let Kind::Map(entries) = &tree.kind else {
        return Err(Problem::at(tree.line, format!("the fields of an object are a map, not {}", tree.word())));
    };
    let (mut properties, mut required, mut others) = (Map::new(), Vec::new(), Value::Bool(false));
    for (key, value) in entries {
        let field = Field::parse(&key.name).map_err(|why| Problem::at(key.line, why))?;
        let schema = field.schema(value)?;
        if field.name == "*" {
            others = schema;
            continue;
        }
        if !field.is_optional {
            required.push(Value::from(field.name));
        }
        if properties.insert(field.name.to_owned(), schema).is_some() {
            return Err(Problem::at(key.line, format!("duplicate field `{}`", field.name)));
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema["additionalProperties"] = others;
    Ok(schema)
}

/// The key of a field: `name?(array, description)`.
struct Field<'a> {
    name: &'a str,
    is_optional: bool,
    /// `array`, `object` or `enum`.
    kind: Option<&'a str>,
    description: Option<&'a str>,
}

impl<'a> Field<'a> {
    fn parse(key: &'a str) -> Result<Field<'a>, String> {
        let (name, inside) = match key.split_once('(') {
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(inside) => (name, Some(inside)),
                None => return Err(format!("`{key}`: the parenthesis is not closed")),
            },
            None => (key, None),
        };
        let (kind, description) = match inside.map(|inside| inside.split_once(',').unwrap_or((inside, ""))) {
            Some((kind, description)) => (Some(kind.trim()), Some(description.trim()).filter(|text| !text.is_empty())),
            None => (None, None),
        };
        if name.is_empty() && kind == Some("*") {
            return Ok(Field { name: "*", is_optional: true, kind: None, description });
        }
        if let Some(kind) = kind.filter(|kind| !["array", "object", "enum"].contains(kind)) {
            return Err(format!("`{key}`: expected array, object or enum in parentheses, not `{kind}`"));
        }
        let is_optional = name.ends_with('?');
        let name = name.trim_end_matches('?');
        if name.is_empty() {
            return Err(format!("`{key}`: a field needs a name"));
        }
        Ok(Field { name, is_optional, kind, description })
    }

    fn schema(&self, value: &Tree) -> Result<Value, Problem> {
        let mut schema = match (self.kind, &value.kind) {
            (Some("array"), _) => json!({"type": "array", "items": schema(value)?}),
            (Some("object"), _) => object(value)?,
            (Some("enum"), Kind::List(choices)) if !choices.is_empty() => {
                json!({"enum": choices.iter().map(Tree::to_json).collect::<Vec<_>>()})
            }
            (Some("enum"), _) => {
                let why = format!("`{}`: an enum is a list of its values, not {}", self.name, value.word());
                return Err(Problem::at(value.line, why));
            }
            _ => schema(value)?,
        };
        if let (Some(description), Some(schema)) = (self.description, schema.as_object_mut()) {
            schema.insert("description".to_owned(), description.into());
        }
        Ok(schema)
    }
}

/// Converts a scalar such as `string ..200, description`.
fn scalar(text: &str, line: usize) -> Result<Value, Problem> {
    let (kind, description) = match text.split_once(',') {
        Some((kind, description)) => (kind.trim(), Some(description.trim())),
        None => (text.trim(), None),
    };
    let (kind, bounds) = match kind.split_once(char::is_whitespace) {
        Some((kind, bounds)) => (kind, Some(bounds.trim())),
        None => (kind, None),
    };
    if !SCALARS.contains(&kind) {
        let near = mcp::tool::nearest(kind, SCALARS.iter().copied());
        let near = near.map_or(String::new(), |near| format!(": did you mean `{near}`?"));
        return Err(Problem::at(line, format!("unknown type `{kind}`{near} (types: {})", SCALARS.join(", "))));
    }
    let mut schema = if kind == "any" { Map::new() } else { Map::from_iter([("type".to_owned(), kind.into())]) };
    if let Some(bounds) = bounds {
        let names = match kind {
            "string" => ("minLength", "maxLength"),
            "integer" | "number" => ("minimum", "maximum"),
            _ => return Err(Problem::at(line, format!("`{kind}` has no bounds: `{bounds}`"))),
        };
        let wrong = || {
            Problem::at(line, format!("invalid bounds `{bounds}` for the type {kind}: write `1..5`, `..200` or `1..`"))
        };
        let (least, most) = bounds.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| -> Result<Option<Value>, Problem> {
            let number = match (text.trim(), kind) {
                ("", _) => return Ok(None),
                (text, "number") => text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number),
                (text, "integer") => text.parse::<i64>().ok().map(Value::from),
                (text, _) => text.parse::<u64>().ok().map(Value::from),
            };
            number.map(Some).ok_or_else(wrong)
        };
        let (least, most) = (number(least)?, number(most)?);
        if least.is_none() && most.is_none() {
            return Err(wrong());
        }
        schema.extend(least.map(|least| (names.0.to_owned(), least)));
        schema.extend(most.map(|most| (names.1.to_owned(), most)));
    }
    schema.extend(description.filter(|text| !text.is_empty()).map(|text| ("description".to_owned(), text.into())));
    Ok(Value::Object(schema))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::file::yaml;

    fn check(text: &str, expected: Expect) {
        let said = match yaml::parse(text, 1).and_then(|tree| schema(&tree)) {
            Ok(schema) => schema.to_string(),
            Err(problem) => format!("{}: {}", problem.line, problem.message),
        };
        expected.assert_eq(&said);
    }

    #[test]
    fn a_short_schema_is_a_closed_object_in_the_order_of_its_fields() {
        check(
            "{ question: string, hover?: 'string ..200, what a hover says', score: integer 1..5, share: 'number 0..0.5' }",
            expect![[
                r#"{"type":"object","properties":{"question":{"type":"string"},"hover":{"type":"string","maxLength":200,"description":"what a hover says"},"score":{"type":"integer","minimum":1,"maximum":5},"share":{"type":"number","minimum":0.0,"maximum":0.5}},"required":["question","score","share"],"additionalProperties":false}"#
            ]],
        );
        check(
            "tags(array, what it is about): string\nmood?(enum): [good, bad]\nwhere(object, a place):\n  file: string\n  line: integer 1..\n",
            expect![[
                r#"{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"},"description":"what it is about"},"mood":{"enum":["good","bad"]},"where":{"type":"object","properties":{"file":{"type":"string"},"line":{"type":"integer","minimum":1}},"required":["file","line"],"additionalProperties":false,"description":"a place"}},"required":["tags","where"],"additionalProperties":false}"#
            ]],
        );
    }

    #[test]
    fn json_schema_and_scalars_are_what_they_are() {
        check("{ type: array, items: { type: integer } }", expect![[r#"{"type":"array","items":{"type":"integer"}}"#]]);
        check("boolean, whether it is so", expect![[r#"{"type":"boolean","description":"whether it is so"}"#]]);
        check("any", expect![[r#"{}"#]]);
        check(
            "(*): integer",
            expect![[r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#]],
        );
    }

    #[test]
    fn problems_have_their_line() {
        check(
            "a: string\nb: strin",
            expect![
                "2: unknown type `strin`: did you mean `string`? (types: string, number, integer, boolean, null, any)"
            ],
        );
        check(
            "a: string\nb: integer 1-5",
            expect!["2: invalid bounds `1-5` for the type integer: write `1..5`, `..200` or `1..`"],
        );
        check("a: boolean 1..2", expect!["1: `boolean` has no bounds: `1..2`"]);
        check("a(list): string", expect!["1: `a(list)`: expected array, object or enum in parentheses, not `list`"]);
        check("a(array: string", expect!["1: `a(array`: the parenthesis is not closed"]);
        check("mood(enum): good", expect!["1: `mood`: an enum is a list of its values, not a text"]);
        check("a: [string]", expect!["1: a schema is a map or a text such as `string`, not a list"]);
        check("a: 1\na: 2", expect!["2: the front matter is not valid YAML: duplicate key `a`"]);
    }
}
