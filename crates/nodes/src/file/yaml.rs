//! YAML with the line of everything in it: what a front matter is read from. Depth, aliases and size are bounded.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::Problem;

/// A value and the line it begins at, from 1.
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
    /// In the order of the file.
    Map(Vec<(Key, Tree)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub line: usize,
    pub name: String,
}

/// Reads a text whose first line has this number in its file.
pub(super) fn parse(text: &str, first_line: usize) -> Result<Tree, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 64, max_nodes: 20_000, max_aliases: 100, max_documents: 1 },
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        with_snippet: false,
    };
    let located = serde_saphyr::from_str_with_options::<Spanned<Kind>>(text, options);
    let mut tree = located.map(Tree::of).map_err(|error| {
        let line = error.location().map_or(1, |location| to_usize(location.line()));
        let said = error.without_snippet().render();
        // The place is said once, in the form that all problems have.
        let said = said.split_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        Problem::at(line + first_line - 1, format!("the front matter is no valid YAML: {said}"))
    })?;
    tree.shift(first_line - 1);
    Ok(tree)
}

impl Tree {
    fn of(spanned: Spanned<Kind>) -> Tree {
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

    /// The word for what it is.
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
            list.push(Tree::of(item));
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map: Vec<(Key, Tree)> = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let value = entries.next_value::<Spanned<Kind>>()?;
            let line = to_usize(key.referenced.line());
            if map.iter().any(|(former, _)| former.name == key.value) {
                return Err(A::Error::custom(format!("`{}` is there twice", key.value)));
            }
            map.push((Key { line, name: key.value }, Tree::of(value)));
        }
        Ok(Kind::Map(map))
    }
}
