//! Reads the trees of a front matter and collects the problems.

use super::Problem;
use super::yaml::{Key, Kind, Tree};

/// A reader that collects problems.
#[derive(Default)]
pub(super) struct Reader {
    pub problems: Vec<Problem>,
}

/// The entries of a map, by name.
pub(super) struct Keys<'a>(Vec<(&'a Key, &'a Tree)>);

impl<'a> Keys<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Tree> {
        self.0.iter().find(|(key, _)| key.name == name).map(|(_, value)| *value)
    }
}

impl Reader {
    pub(super) fn add_problem(&mut self, line: usize, message: impl AsRef<str>) {
        self.problems.push(Problem::at(line, message));
    }

    /// Reads a map with only these keys. Keys of other programs, which have a dot, are allowed.
    pub(super) fn map<'a>(&mut self, tree: &'a Tree, what: &str, known: &[&str], others: bool) -> Keys<'a> {
        let Kind::Map(entries) = &tree.kind else {
            self.add_problem(tree.line, format!("{what} is a map, not {}", tree.word()));
            return Keys(Vec::new());
        };
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            if others && key.name.contains('.') {
                continue;
            }
            let near = mcp::tool::nearest(&key.name, known.iter().copied());
            let near =
                near.map_or_else(|| format!("keys: {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
            self.add_problem(key.line, format!("{what} has no key `{}`; {near}", key.name));
        }
        Keys(entries.iter().map(|(key, value)| (key, value)).collect())
    }

    pub(super) fn text(&mut self, tree: &Tree, what: &str) -> Option<String> {
        match &tree.kind {
            Kind::Text(text) => Some(text.clone()),
            _ => {
                self.add_problem(tree.line, format!("`{what}` is a text, not {}", tree.word()));
                None
            }
        }
    }

    /// Reads one text or a list of texts.
    pub(super) fn texts(&mut self, tree: &Tree, what: &str) -> Vec<String> {
        match &tree.kind {
            Kind::List(items) => items.iter().filter_map(|item| self.text(item, what)).collect(),
            _ => self.text(tree, what).into_iter().collect(),
        }
    }

    pub(super) fn number<T>(
        &mut self,
        tree: &Tree,
        what: &str,
        wanted: &str,
        read: impl Fn(&serde_json::Number) -> Option<T>,
    ) -> Option<T> {
        let number = match &tree.kind {
            Kind::Number(number) => read(number),
            _ => None,
        };
        if number.is_none() {
            self.add_problem(tree.line, format!("`{what}` is {wanted}"));
        }
        number
    }

    pub(super) fn list<'a>(&mut self, tree: &'a Tree, what: &str) -> &'a [Tree] {
        match &tree.kind {
            Kind::List(items) => items,
            _ => {
                self.add_problem(tree.line, format!("`{what}` is a list, not {}", tree.word()));
                &[]
            }
        }
    }
}
