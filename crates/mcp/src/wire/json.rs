//! JSON text whose parts are read on demand: the way from a line to a method's arguments copies nothing.
//!
//! serde_json decides which text is valid JSON.

use std::borrow::Cow;
use std::fmt;
use std::vec;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The text of one JSON value, known to be valid, without surrounding blanks.
#[derive(Clone, Copy)]
pub struct Json<'a>(&'a RawValue);

impl<'a> Json<'a> {
    pub(super) const NULL: Json<'static> = Json(RawValue::NULL);

    /// Checks a text, which must be one JSON value with nothing but blanks around it.
    pub fn check(text: &'a str) -> Option<Json<'a>> {
        serde_json::from_str(text).ok().map(Json)
    }

    /// Returns the text.
    pub fn get(self) -> &'a str {
        self.0.get()
    }

    /// Returns true if it is an object.
    pub fn is_object(self) -> bool {
        self.get().starts_with('{')
    }

    /// Returns true if it is null.
    pub fn is_null(self) -> bool {
        self.get() == "null"
    }

    /// The string it is, if it is one; borrowed unless it has escapes. Escapes that make no character have no string.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.get().strip_prefix('"')?.strip_suffix('"')?;
        match memchr::memchr(b'\\', inner.as_bytes()) {
            None => Some(Cow::Borrowed(inner)),
            Some(_) => serde_json::from_str(self.get()).ok().map(Cow::Owned),
        }
    }

    /// Returns its members in order, if it is an object; none otherwise. A name may come twice. Names that are no text
    /// (half a surrogate pair) are left out.
    pub fn members(self) -> Members<'a> {
        Members::read(self.get()).unwrap_or_default()
    }

    /// Returns the first member of that name.
    pub fn member(self, name: &str) -> Option<Json<'a>> {
        self.members().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns its elements, if it is an array; none otherwise.
    pub fn items(self) -> Items<'a> {
        let items: Option<Vec<&RawValue>> =
            if self.get().starts_with('[') { serde_json::from_str(self.get()).ok() } else { None };
        Items(items.unwrap_or_default().into_iter())
    }

    /// Reads it as a type.
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Returns the same for serde.
    pub fn raw(self) -> &'a RawValue {
        self.0
    }
}

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json<'_> {}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// The members of an object.
#[derive(Default)]
pub struct Members<'a>(vec::IntoIter<(Cow<'a, str>, Json<'a>)>);

impl<'a> Members<'a> {
    /// Those of the object that a text is, in one reading.
    pub(super) fn read(text: &'a str) -> Option<Members<'a>> {
        let Object(members) = serde_json::from_str(text).ok()?;
        Some(Members(members.into_iter()))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// The elements of an array.
pub struct Items<'a>(vec::IntoIter<&'a RawValue>);

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        self.0.next().map(Json)
    }
}

/// An object as a list, since a map would forget that a name came twice.
struct Object<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    if let Some(name) = Json(key).text() {
                        members.push((name, Json(value)));
                    }
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    /// Asserts that serde_json judges a text alike, and finds the same parts in a valid one.
    fn agree(text: &str) {
        let known = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let checked = Json::check(text);
        assert_eq!(checked.is_some(), known, "{text:?}");
        let Some(json) = checked else { return };
        assert_eq!(json.get(), text.trim_matches([' ', '\t', '\n', '\r']));
        if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
            let found: Vec<&str> = json.items().map(Json::get).collect();
            assert_eq!(found, items.iter().map(|item| item.get()).collect::<Vec<_>>(), "{text:?}");
        }
        if let Ok(members) = serde_json::from_str::<std::collections::BTreeMap<String, &RawValue>>(text) {
            for (name, value) in members {
                let last = json.members().filter(|(key, _)| *key == name).last().map(|(_, value)| value.get());
                assert_eq!(last, Some(value.get()), "{text:?}");
            }
        }
    }

    #[test]
    fn odd_texts_are_judged_as_serde_json_judges_them() {
        let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
        let mixed = |count: usize| format!("{}1{}", "[{\"a\":".repeat(count), "}]".repeat(count));
        let texts = [
            "",
            " ",
            "{",
            "}",
            "{}",
            "{ }",
            "[]",
            "[ ]",
            "[,]",
            "[1,]",
            "[1 2]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":1,\"a\":2}",
            "{\"\\u0061\":1}",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12G4\"",
            "\"\\ud800\"",
            "\"\t\"",
            "\"\u{7f}\"",
            "\"ä\u{1F600}\"",
            "01",
            "-",
            "-0",
            "-01",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e+",
            "1e+5",
            "1E-5",
            "1.5e5x",
            "+1",
            "tru",
            "true",
            "truex",
            "nul",
            "null",
            "nullnull",
            "1 ",
            " 1",
            "1\u{b}",
            "\u{feff}1",
            "[1}",
            "{\"a\":1]",
            "[[]",
            "[]]",
            "1,2",
            "NaN",
            "Infinity",
            "[\"\\\"\",\"]\",{\"}\":\"[\"}, 1 , true,null ]",
            "{\"a\":{\"b\":[1,2,{\"c\":\"}\"}]},\"d\" : -1.5e3 }",
        ];
        texts.iter().for_each(|text| agree(text));
        for count in [1, 63, 64, 65, 127, 128, 129, 1000, 100_000] {
            agree(&deep(count));
            agree(&deep(count)[1..]);
            agree(&mixed(count));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_as_serde_json_judges_it(
            text in r#"([\[\]{}:, \t"\\ntue0-9.+eE-]|"a"|"[a-c\\"]{0,12}"|\\u[0-9a-d]{4}|true|null|-1\.5|[ä\x00-\x7f]){0,24}"#,
        ) {
            agree(&text);
            agree(&format!("[{text}]"));
            agree(&format!("{{\"k\":{text}}}"));
            agree(&format!("\"{text}\""));
        }
    }
}
