//! Parses `:browse`: the exports of a module.

use schemars::JsonSchema;
use serde::Serialize;

/// An export of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its declaration or type, as the compiler shows it.
    pub declaration: String,
}

/// Parses the answer of `:browse`.
pub fn browse(stdout: &str) -> Vec<Item> {
    let mut texts: Vec<String> = Vec::new();
    let mut kind_signature = false;
    for line in stdout.lines().filter(|line| !line.starts_with("--") && !line.trim().is_empty()) {
        // Indented lines belong to the declaration above, and so do lines after `type T :: kind`.
        match texts.last_mut().filter(|_| line.starts_with(' ') || kind_signature) {
            Some(open) => {
                open.push('\n');
                open.push_str(line);
            }
            None => texts.push(line.to_owned()),
        }
        if !line.starts_with(' ') {
            kind_signature = line.starts_with("type ") && line.contains(" :: ") && !line.contains(" = ");
        }
    }
    texts.into_iter().map(|declaration| Item { name: name(&declaration), declaration }).collect()
}

fn name(declaration: &str) -> String {
    const KEYWORDS: [&str; 6] = ["type family ", "data family ", "newtype ", "data ", "class ", "type "];
    let last = declaration.lines().find(|line| !is_kind_signature(line)).unwrap_or(declaration);
    let head = KEYWORDS.iter().find_map(|keyword| last.strip_prefix(keyword));
    match head {
        Some(rest) => {
            let rest = rest.rsplit_once("=> ").map_or(rest, |(_, rest)| rest);
            rest.split_whitespace().next().unwrap_or_default().to_owned()
        }
        None => last.split(" ::").next().unwrap_or_default().trim_start_matches("pattern ").trim().to_owned(),
    }
}

fn is_kind_signature(line: &str) -> bool {
    line.starts_with("type ") && line.contains(" :: ") && !line.contains(" = ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn items_of_all_sorts() {
        let stdout = "-- not currently imported\ntype Shape :: *\ndata Shape = Circle Double | Square {side :: Double}\n\
                      type Named :: * -> Constraint\nclass Show a => Named a where\n  name :: a -> String\n  {-# MINIMAL name \
                      #-}\nunit :: Shape\n(!!) :: [a] -> Int -> a\nlong ::\n  Int -> Int\ntype String :: *\ntype String = [Char]\n";
        let show = |item: Item| format!("{}: {:?}", item.name, item.declaration);
        expect![[r#"
            Shape: "type Shape :: *\ndata Shape = Circle Double | Square {side :: Double}"
            Named: "type Named :: * -> Constraint\nclass Show a => Named a where\n  name :: a -> String\n  {-# MINIMAL name #-}"
            unit: "unit :: Shape"
            (!!): "(!!) :: [a] -> Int -> a"
            long: "long ::\n  Int -> Int"
            String: "type String :: *\ntype String = [Char]""#]]
        .assert_eq(&browse(stdout).into_iter().map(show).collect::<Vec<_>>().join("\n"));
    }
}
