//! Checks a declaration when its tool is added. A declaration that would make clients drop the tool, or fail, is
//! refused with the reason.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Declaration;

/// The longest name (MCP 2025-11-25, "Tool Names").
const MAX_NAME: usize = 128;

/// Why a tool cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// The name is invalid.
    #[error("tool {tool:?}: a name has 1 to {MAX_NAME} characters of A-Z, a-z, 0-9, `_`, `-` and `.`")]
    Name {
        /// The name.
        tool: String,
    },
    /// A schema does not describe an object.
    #[error("tool {tool:?}: the {schema} schema must be that of an object: its `type` must be \"object\"")]
    Root {
        /// The tool's name.
        tool: String,
        /// `input` or `output`.
        schema: &'static str,
    },
    /// A schema refers to another that would have to be fetched, which no client does (MCP 2026-07-28, "Security
    /// Considerations").
    #[error("tool {tool:?}: the {schema} schema refers to {reference:?}: put the definition under `$defs`")]
    Reference {
        /// The tool's name.
        tool: String,
        /// `input` or `output`.
        schema: &'static str,
        /// The reference.
        reference: String,
    },
    /// An argument cannot be mirrored as a header field (MCP 2026-07-28, "Custom Headers from Tool Parameters").
    #[error("tool {tool:?}: `x-mcp-header` at `{path}`: {problem}")]
    Header {
        /// The tool's name.
        tool: String,
        /// The place in the schema.
        path: String,
        /// The problem.
        problem: &'static str,
    },
    /// The type of the arguments allows unknown fields.
    #[error(
        "tool {tool:?}: its arguments allow unknown fields, so a misspelt one would be dropped: write \
         `#[serde(deny_unknown_fields)]` above their type"
    )]
    UnknownFields {
        /// The tool's name.
        tool: String,
    },
    /// The type of the arguments is a choice between several shapes, which clients flatten or drop.
    #[error(
        "tool {tool:?}: its arguments are a choice at the root (`{keyword}`), which clients flatten: write a struct with a \
         field for the choice, such as `struct Args {{ what: Choice }}`"
    )]
    Choice {
        /// The tool's name.
        tool: String,
        /// The keyword of the choice.
        keyword: &'static str,
    },
    /// The tool has no description.
    #[error(
        "tool {tool:?}: it has no description: write `/// What it does.` above the type of its arguments, or \
         `const DESCRIPTION: &'static str = \"What it does.\";` (`.description(\"What it does.\")` for a function)"
    )]
    Undescribed {
        /// The tool's name.
        tool: String,
    },
}

impl Declaration {
    /// Checks that the tool can be served; `Err` with the reason if not.
    pub fn check(&self) -> Result<(), DeclarationError> {
        let tool = || self.name.clone();
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if !(1..=MAX_NAME).contains(&self.name.len()) || !self.name.bytes().all(legal) {
            return Err(DeclarationError::Name { tool: tool() });
        }
        let schemas = [("input", Some(&self.input_schema)), ("output", self.output_schema.as_ref())];
        for (schema, root) in schemas.into_iter().filter_map(|(schema, root)| Some((schema, root?))) {
            if !super::schema::is_object(root) {
                return Err(DeclarationError::Root { tool: tool(), schema });
            }
            let mut walk = Walk::default();
            walk.schema(root, &mut String::new(), Position::Reachable);
            if let Some(reference) = walk.reference {
                return Err(DeclarationError::Reference { tool: tool(), schema, reference });
            }
            if let Some((path, problem)) = walk.header.filter(|_| schema == "input") {
                return Err(DeclarationError::Header { tool: tool(), path, problem });
            }
        }
        Ok(())
    }
}

impl Declaration {
    /// Checks the further requirements for tools whose types the author wrote. They do not apply to tools of another
    /// origin.
    pub(super) fn check_types(&self) -> Result<(), DeclarationError> {
        let tool = || self.name.clone();
        let has = |keyword: &str| self.input_schema.get(keyword).is_some();
        if let Some(keyword) = ["oneOf", "anyOf", "allOf"].into_iter().find(|keyword| has(keyword)) {
            return Err(DeclarationError::Choice { tool: tool(), keyword });
        }
        if !has("additionalProperties") && !has("unevaluatedProperties") {
            return Err(DeclarationError::UnknownFields { tool: tool() });
        }
        if self.description.trim().is_empty() {
            return Err(DeclarationError::Undescribed { tool: tool() });
        }
        Ok(())
    }
}

/// A position in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// At the root, or below it by nothing but `properties`.
    Reachable,
    /// Reachable, and describes an argument.
    Argument,
    /// Anywhere else.
    Elsewhere,
}

/// A walk through a schema, which keeps the first problem.
#[derive(Default)]
struct Walk {
    names: HashSet<String>,
    reference: Option<String>,
    header: Option<(String, &'static str)>,
}

impl Walk {
    fn schema(&mut self, schema: &Value, path: &mut String, place: Position) {
        match schema {
            Value::Object(object) => self.object(object, path, place),
            Value::Array(items) => items.iter().for_each(|item| self.schema(item, path, Position::Elsewhere)),
            _ => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, path: &mut String, place: Position) {
        for (key, value) in object {
            match (key.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(reference)) if !reference.starts_with('#') => {
                    self.reference.get_or_insert_with(|| reference.clone());
                }
                ("x-mcp-header", name) => {
                    if let Err(problem) = self.check_header(name, object, place) {
                        self.header.get_or_insert_with(|| (path.clone(), problem));
                    }
                }
                // The keys below these are the author's names, not keywords.
                ("properties", Value::Object(named)) => {
                    let place = if place == Position::Elsewhere { Position::Elsewhere } else { Position::Argument };
                    named.iter().for_each(|(name, value)| self.check_nested(name, value, path, place));
                }
                ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                    named.iter().for_each(|(name, value)| self.check_nested(name, value, path, Position::Elsewhere));
                }
                // These hold values, not schemas.
                ("enum" | "const" | "default" | "examples" | "required", _) => {}
                (keyword, value) => self.check_nested(keyword, value, path, Position::Elsewhere),
            }
        }
    }

    fn check_nested(&mut self, name: &str, schema: &Value, path: &mut String, place: Position) {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        self.schema(schema, path, place);
        path.truncate(length);
    }

    fn check_header(&mut self, name: &Value, schema: &Map<String, Value>, place: Position) -> Result<(), &'static str> {
        // RFC 9110, "token".
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let Some(name) = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(is_token)) else {
            return Err("it must be the name of a header field, after `Mcp-Param-`");
        };
        if place != Position::Argument {
            return Err("only an argument can be mirrored: it must be reached by `properties` alone");
        }
        if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err("only arguments of `type` string, integer or boolean can be mirrored");
        }
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err("another argument has the same name, whatever its case");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;
    use crate::tool::{Effect, Registry, tool_fn};

    fn declaration(name: &str, input: Value, output: Option<Value>) -> Declaration {
        Declaration { output_schema: output, ..Declaration::new(name, "", input, Effect::READ) }
    }

    fn check(inputs: &[Value], expected: Expect) {
        let said = inputs.iter().map(|input| match declaration("t", input.clone(), None).check() {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        });
        expected.assert_eq(&said.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn names() {
        let legal = |name: &str| declaration(name, json!({"type": "object"}), None).check().is_ok();
        for name in ["a", "repl_eval", "A-z.9", &"x".repeat(128)] {
            assert!(legal(name), "{name}");
        }
        for name in ["", "a b", "a/b", "ä", "a\n", &"x".repeat(129)] {
            assert!(!legal(name), "{name}");
        }
        let error = declaration("a b", json!({"type": "object"}), None).check().expect_err("illegal").to_string();
        expect![[r#"tool "a b": a name has 1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`"#]].assert_eq(&error);
    }

    #[test]
    fn roots_are_objects() {
        check(
            &[
                // The other keywords of a schema are its author's responsibility (MCP 2026-07-28, "Schema Dialect").
                json!({"type": "object", "anyOf": [{"required": ["a"]}], "if": {}, "$defs": {"x": true}}),
                json!(true),
                json!({"properties": {}}),
                json!({"type": ["object", "null"]}),
            ],
            expect![[r#"
                ok
                tool "t": the input schema must be that of an object: its `type` must be "object"
                tool "t": the input schema must be that of an object: its `type` must be "object"
                tool "t": the input schema must be that of an object: its `type` must be "object""#]],
        );
        let output = Some(json!({"type": "string"}));
        let error = declaration("t", json!({"type": "object"}), output).check().expect_err("no object").to_string();
        expect![[r#"tool "t": the output schema must be that of an object: its `type` must be "object""#]]
            .assert_eq(&error);
    }

    /// Why a tool with arguments of this type is refused.
    fn refused<A: JsonSchema + DeserializeOwned + Send + 'static>() -> String {
        let registry = Registry::default();
        let tool = tool_fn("t", Effect::READ, |_, _: A| async { Ok("done".to_owned()) });
        registry.add(tool).map_or_else(|error| error.to_string(), |()| "ok".to_owned())
    }

    #[test]
    fn arguments_that_allow_unknown_fields_are_refused() {
        /// Does it.
        #[derive(Deserialize, JsonSchema)]
        struct Open {}
        /// Does it.
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Closed {}
        /// Does it.
        #[derive(Deserialize, JsonSchema)]
        struct OpenOnPurpose {
            #[serde(flatten)]
            _rest: Map<String, Value>,
        }
        assert_eq!((refused::<Closed>(), refused::<OpenOnPurpose>()), ("ok".to_owned(), "ok".to_owned()));
        expect![[r#"tool "t": its arguments allow unknown fields, so a misspelt one would be dropped: write `#[serde(deny_unknown_fields)]` above their type"#]].assert_eq(&refused::<Open>());
    }

    #[test]
    fn arguments_that_are_a_choice_are_refused() {
        /// Does one or the other.
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        enum Choice {
            _One { _a: u8 },
            _Other { _b: u8 },
        }
        expect![[r#"tool "t": its arguments are a choice at the root (`oneOf`), which clients flatten: write a struct with a field for the choice, such as `struct Args { what: Choice }`"#]].assert_eq(&refused::<Choice>());
    }

    #[test]
    fn a_tool_without_a_description_is_refused() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Silent {}
        expect![[r#"tool "t": it has no description: write `/// What it does.` above the type of its arguments, or `const DESCRIPTION: &'static str = "What it does.";` (`.description("What it does.")` for a function)"#]].assert_eq(&refused::<Silent>());
        assert_eq!(refused::<()>(), refused::<Silent>());
    }

    #[test]
    fn nothing_is_fetched() {
        let with = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        check(
            &[
                with(json!({"$ref": "#/$defs/x"})),
                // Not keywords.
                json!({"type": "object", "properties": {"$ref": {"type": "string"}}}),
                with(json!({"enum": [{"$ref": "https://example.com"}]})),
                with(json!({"$ref": "https://example.com/schema.json"})),
                with(json!({"items": {"anyOf": [{"$dynamicRef": "other.json#x"}]}})),
            ],
            expect![[r#"
                ok
                ok
                ok
                tool "t": the input schema refers to "https://example.com/schema.json": put the definition under `$defs`
                tool "t": the input schema refers to "other.json#x": put the definition under `$defs`"#]],
        );
    }

    #[test]
    fn mirrored_arguments_are_plain_values_under_names_of_their_own() {
        let one = |name: Value, kind: &str| json!({"type": "object", "properties": {"a": {"type": kind, "x-mcp-header": name}}});
        let mirrored = json!({"type": "string", "x-mcp-header": "Region"});
        check(
            &[
                one(json!("Region"), "string"),
                one(json!("Floor_1"), "integer"),
                one(json!("Sure"), "boolean"),
                json!({"type": "object", "properties": {"x-mcp-header": {"type": "string"}}}),
                json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": mirrored}}}}),
                one(json!(""), "string"),
                one(json!("My Region"), "string"),
                one(json!("Region\r\nX"), "string"),
                one(json!("Régión"), "string"),
                one(json!(7), "string"),
                one(json!("Height"), "number"),
                one(json!("All"), "array"),
                json!({"type": "object", "properties": {"a": mirrored, "b": {"type": "string", "x-mcp-header": "REGION"}}}),
                json!({"type": "object", "properties": {"a": {"type": "array", "items": mirrored}}}),
                json!({"type": "object", "properties": {"a": {"anyOf": [{"properties": {"b": mirrored}}]}}}),
                json!({"type": "object", "$defs": {"place": mirrored}}),
                json!({"type": "object", "x-mcp-header": "Region"}),
            ],
            expect![[r#"
                ok
                ok
                ok
                ok
                ok
                tool "t": `x-mcp-header` at `a`: it must be the name of a header field, after `Mcp-Param-`
                tool "t": `x-mcp-header` at `a`: it must be the name of a header field, after `Mcp-Param-`
                tool "t": `x-mcp-header` at `a`: it must be the name of a header field, after `Mcp-Param-`
                tool "t": `x-mcp-header` at `a`: it must be the name of a header field, after `Mcp-Param-`
                tool "t": `x-mcp-header` at `a`: it must be the name of a header field, after `Mcp-Param-`
                tool "t": `x-mcp-header` at `a`: only arguments of `type` string, integer or boolean can be mirrored
                tool "t": `x-mcp-header` at `a`: only arguments of `type` string, integer or boolean can be mirrored
                tool "t": `x-mcp-header` at `b`: another argument has the same name, whatever its case
                tool "t": `x-mcp-header` at `a.items`: only an argument can be mirrored: it must be reached by `properties` alone
                tool "t": `x-mcp-header` at `a.anyOf.b`: only an argument can be mirrored: it must be reached by `properties` alone
                tool "t": `x-mcp-header` at `place`: only an argument can be mirrored: it must be reached by `properties` alone
                tool "t": `x-mcp-header` at ``: only an argument can be mirrored: it must be reached by `properties` alone"#]],
        );
    }
}
