//! Parses `:info` and `:instances`.

use schemars::JsonSchema;
use serde::Serialize;

use super::one_line;

/// The information about a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Info {
    /// The declarations of the name, as the compiler shows them.
    pub declarations: Vec<Instance>,
    /// The instances of a class or of a type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
    /// The fixity, such as `infixl 6 +`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixity: Option<String>,
}

/// A declaration and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// The declaration.
    pub declaration: String,
    /// The source location, or the module, that defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defined: Option<String>,
}

/// Parses the answer of `:info`; `None` if the text is something else.
pub fn info(stdout: &str) -> Option<Info> {
    let mut info = Info::default();
    for entry in entries(stdout) {
        if entry.declaration.starts_with("instance ") {
            push_new(&mut info.instances, entry);
        } else if entry.declaration.starts_with("infix") {
            info.fixity = Some(entry.declaration);
        } else {
            info.declarations.push(entry);
        }
    }
    (!info.declarations.is_empty()).then_some(info)
}

/// Parses the answer of `:instances`.
pub fn instances(stdout: &str) -> Vec<Instance> {
    let mut list = Vec::new();
    for entry in entries(stdout).into_iter().filter(|entry| entry.declaration.starts_with("instance ")) {
        push_new(&mut list, entry);
    }
    list
}

/// GHC 9.0 names some instances twice.
fn push_new(list: &mut Vec<Instance>, entry: Instance) {
    if !list.contains(&entry) {
        list.push(entry);
    }
}

/// Splits at `-- Defined …`, which ends a declaration, and at lines that cannot continue one.
fn entries(stdout: &str) -> Vec<Instance> {
    let mut list = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for line in stdout.lines() {
        let alone = line.starts_with("instance ") || line.starts_with("infix");
        if alone {
            finish(&mut list, &mut open, None);
        }
        match line.split_once("-- Defined ") {
            Some((before, place)) => {
                open.extend(Some(before.trim_end()).filter(|before| !before.trim().is_empty()));
                let place = place.strip_prefix("in ").or_else(|| place.strip_prefix("at ")).unwrap_or(place);
                finish(&mut list, &mut open, Some(place.trim_matches(['‘', '’', '\'', '`', ' ']).to_owned()));
            }
            None => open.push(line),
        }
    }
    finish(&mut list, &mut open, None);
    list
}

fn finish(list: &mut Vec<Instance>, open: &mut Vec<&str>, defined: Option<String>) {
    let text = open.join("\n").trim().to_owned();
    open.clear();
    if text.is_empty() {
        return;
    }
    let declaration = if text.starts_with("instance ") {
        // `[safe]` concerns Safe Haskell, not the instance.
        one_line(&text).replacen("instance [safe] ", "instance ", 1)
    } else {
        text
    };
    list.push(Instance { declaration, defined });
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(stdout: &str, expected: Expect) {
        expected.assert_eq(&serde_json::to_string_pretty(&info(stdout)).expect("serializable"));
    }

    #[test]
    fn a_type_with_instances() {
        check(
            "type Shape :: *\ndata Shape = Circle Double | Square {side :: Double}\n  \t-- Defined at src/Shape.hs:7:1\n\
             instance [safe] Eq Shape -- Defined at src/Shape.hs:11:13\ninstance Semigroup a => Semigroup (Maybe a)\n  -- \
             Defined in ‘GHC.Base’\n",
            expect![[r#"
                {
                  "declarations": [
                    {
                      "declaration": "type Shape :: *\ndata Shape = Circle Double | Square {side :: Double}",
                      "defined": "src/Shape.hs:7:1"
                    }
                  ],
                  "instances": [
                    {
                      "declaration": "instance Eq Shape",
                      "defined": "src/Shape.hs:11:13"
                    },
                    {
                      "declaration": "instance Semigroup a => Semigroup (Maybe a)",
                      "defined": "GHC.Base"
                    }
                  ]
                }"#]],
        );
    }

    #[test]
    fn a_function_and_an_operator() {
        check(
            "map :: (a -> b) -> [a] -> [b] \t-- Defined in ‘GHC.Base’\n",
            expect![[r#"
                {
                  "declarations": [
                    {
                      "declaration": "map :: (a -> b) -> [a] -> [b]",
                      "defined": "GHC.Base"
                    }
                  ]
                }"#]],
        );
        check(
            "type Num :: * -> Constraint\nclass Num a where\n  (+) :: a -> a -> a\n  ...\n  \t-- Defined in ‘GHC.Num’\ninfixl 6 \
             +\n",
            expect![[r#"
                {
                  "declarations": [
                    {
                      "declaration": "type Num :: * -> Constraint\nclass Num a where\n  (+) :: a -> a -> a\n  ...",
                      "defined": "GHC.Num"
                    }
                  ],
                  "fixity": "infixl 6 +"
                }"#]],
        );
        assert_eq!(info(""), None);
    }

    #[test]
    fn instances_are_named_once() {
        let stdout = "instance [safe] Eq Shape -- Defined at src/Shape.hs:11:13\ninstance [safe] Eq Shape -- Defined at \
                      src/Shape.hs:11:13\ninstance GHC.Generics.Generic (Maybe Int)\n  -- Defined in ‘GHC.Generics’\n";
        let list = instances(stdout);
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].defined.as_deref(), Some("GHC.Generics"));
    }
}
