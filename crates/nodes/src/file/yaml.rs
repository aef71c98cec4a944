//! Parses YAML for front matter, with the line of every value. Depth, aliases and size are bounded.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter, Spanned};

use super::Problem;

const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 20_000;
const ALIASES_MAX: usize = 100;

/// A value with its first line, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    pub line: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    /// The entries in the order of the file.
    Map(Vec<(Key, Tree)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub line: usize,
    pub name: String,
}

/// Parses a text whose first line has this number in its file.
pub(super) fn parse(text: &str, first_line: usize) -> Result<Tree, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX, max_nodes: NODES_MAX, max_aliases: ALIASES_MAX, max_documents: 1
        },
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        with_snippet: false,
    };
    let located = serde_saphyr::from_str_with_options::<Spanned<Kind>>(text, options);
    let mut tree = located.map(Tree::new).map_err(|error| {
        let line = error.location().map_or(1, |location| to_usize(location.line()));
        let said = error.without_snippet().render_with_formatter(&Words);
        // The position is reported once, in the form of all problems.
        let said = said.split_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        Problem::at(line + first_line - 1, format!("the front matter is not valid YAML: {said}"))
    })?;
    tree.shift(first_line - 1);
    Ok(tree)
}

/// Rewrites parser messages that are meant for programmers.
struct Words;

impl MessageFormatter for Words {
    fn format_message<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        let said = match error {
            Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key `{key}`"),
            Error::DuplicateMappingKey { .. } => "duplicate key".to_owned(),
            Error::NullIntoString { .. } => "a key is empty".to_owned(),
            Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
                "it must be one map, not several documents".to_owned()
            }
            Error::MergeKeyNotAllowed { .. } | Error::MergeValueNotMapOrSeqOfMaps { .. } => {
                "merge keys (`<<`) are not supported: write the keys out".to_owned()
            }
            Error::UnsupportedTag { tag, .. } => format!("the tag `{tag}` is not supported: remove it"),
            Error::BinaryNotUtf8 { .. }
            | Error::InvalidBinaryBase64 { .. }
            | Error::TaggedScalarCannotDeserializeIntoString { .. } => {
                "tags (`!name`) are not supported: remove this one".to_owned()
            }
            Error::NonFiniteFloat { value, .. } => format!("`{value}` is not a JSON number"),
            Error::UnknownAnchor { .. } => {
                "the alias (`*name`) has no anchor (`&name`) before it; a text that begins with `*` must be quoted"
                    .to_owned()
            }
            Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias refers to its own anchor".to_owned(),
            Error::AliasReplayCounterOverflow { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. } => {
                "its aliases expand to too much: write the values out".to_owned()
            }
            Error::Message { msg, .. } if !msg.starts_with("recursion limit") => return Cow::Borrowed(msg),
            Error::Budget { .. } | Error::Message { .. } => {
                format!(
                    "it is too large: at most {NODES_MAX} values, {ALIASES_MAX} aliases, and {DEPTH_MAX} levels are read"
                )
            }
            other => return DefaultMessageFormatter.format_message(other),
        };
        Cow::Owned(said)
    }
}

impl Tree {
    fn new(spanned: Spanned<Kind>) -> Tree {
        Tree { line: to_usize(spanned.referenced.line()), kind: spanned.value }
    }

    fn shift(&mut self, by: usize) {
        self.line += by;
        match &mut self.kind {
            Kind::List(items) => items.iter_mut().for_each(|item| item.shift(by)),
            Kind::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.line += by;
                value.shift(by);
            }),
            _ => {}
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Tree::to_json).collect(),
            Kind::Map(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.name.clone(), value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// Names the type of the value.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).max(1)
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        Kind::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| E::custom("a number that JSON does not have"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Kind>>()? {
            list.push(Tree::new(item));
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map: Vec<(Key, Tree)> = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let value = entries.next_value::<Spanned<Kind>>()?;
            let line = to_usize(key.referenced.line());
            if map.iter().any(|(former, _)| former.name == key.value) {
                return Err(A::Error::custom(format!("duplicate key `{}`", key.value)));
            }
            map.push((Key { line, name: key.value }, Tree::new(value)));
        }
        Ok(Kind::Map(map))
    }
}
