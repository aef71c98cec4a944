//! The names that files of JavaScript and TypeScript give to what a module exports as a whole: `import area from "./geo"`,
//! `const area = require("./geo")`.

use tree_sitter::Node;

use super::trail::{named_children, text_of};

/// What a module exports under this name gets its name from who imports it.
pub(crate) const DEFAULT: &str = "default";

/// A name that a file gives to the default export of a module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DefaultImport {
    /// [`DEFAULT`], where the file exports it so itself.
    pub name: String,
    /// Whether the file passes it on under that name.
    pub is_export: bool,
}

/// The names that a file gives to the default export of the modules of this name.
pub(super) fn default_imports(root: Node<'_>, text: &[u8], module: &str) -> Vec<DefaultImport> {
    let reading = Reading { text, module };
    let mut found = Vec::new();
    for statement in named_children(root) {
        reading.statement(statement, &mut found);
    }
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if reading.is_require(node) {
            found.extend(reading.name_of(node));
        }
        open.extend(named_children(node));
    }
    found
}

struct Reading<'a> {
    text: &'a [u8],
    module: &'a str,
}

impl Reading<'_> {
    fn said(&self, node: Node<'_>) -> String {
        text_of(self.text, node).into_owned()
    }

    fn is_of_module(&self, source: Node<'_>) -> bool {
        is_of_module(self.said(source).trim_matches(['"', '\'', '`']), self.module)
    }

    /// Of `import` and `export … from`.
    fn statement(&self, statement: Node<'_>, found: &mut Vec<DefaultImport>) {
        if !statement.child_by_field_name("source").is_some_and(|source| self.is_of_module(source)) {
            return;
        }
        // `default as name`; `default` alone passes it on as it is.
        let renamed = |specifier: Node<'_>| {
            let is_default = specifier.child_by_field_name("name").is_some_and(|name| self.said(name) == DEFAULT);
            let alias = specifier.child_by_field_name("alias").map(|alias| self.said(alias));
            is_default.then(|| alias.unwrap_or_else(|| DEFAULT.to_owned()))
        };
        let mut add = |name, is_export| found.push(DefaultImport { name, is_export });
        for clause in named_children(statement) {
            // `import area = require("./geo")`.
            if clause.kind() == "import_require_clause"
                && let Some(name) = clause.named_child(0)
            {
                add(self.said(name), false);
            }
            for inner in named_children(clause) {
                match inner.kind() {
                    "identifier" if clause.kind() == "import_clause" => add(self.said(inner), false),
                    "named_imports" => {
                        named_children(inner).into_iter().filter_map(renamed).for_each(|one| add(one, false));
                    }
                    "export_specifier" => renamed(inner).into_iter().for_each(|one| add(one, true)),
                    _ => {}
                }
            }
        }
    }

    fn is_require(&self, call: Node<'_>) -> bool {
        if call.kind() != "call_expression" {
            return false;
        }
        let function = call.child_by_field_name("function");
        let source = call.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
        function.is_some_and(|function| self.said(function) == "require")
            && source.is_some_and(|source| source.kind() == "string" && self.is_of_module(source))
    }

    /// The name that is given to what a call of `require` returns.
    fn name_of(&self, call: Node<'_>) -> Option<DefaultImport> {
        let mut value = call;
        let mut parent = call.parent()?;
        // `require("./geo").default`, `(require("./geo"))`.
        while parent.kind() == "parenthesized_expression"
            || parent.kind() == "member_expression"
                && parent.child_by_field_name("property").is_some_and(|property| self.said(property) == DEFAULT)
        {
            (value, parent) = (parent, parent.parent()?);
        }
        // `const { default: area } = require("./geo")`.
        let pattern = parent.child_by_field_name("name").filter(|name| name.kind() == "object_pattern");
        if let Some(pattern) = pattern {
            let is_default =
                |pair: &Node<'_>| pair.child_by_field_name("key").is_some_and(|key| self.said(key) == DEFAULT);
            let pair = named_children(pattern).into_iter().find(is_default)?;
            let name = pair.child_by_field_name("value").filter(|value| value.kind() == "identifier")?;
            return Some(DefaultImport { name: self.said(name), is_export: false });
        }
        let is_value = |field: &str| parent.child_by_field_name(field) == Some(value);
        let (name, is_export) = match parent.kind() {
            "variable_declarator" if is_value("value") => (parent.child_by_field_name("name")?, false),
            // Whoever has the object has it too.
            "pair" if is_value("value") => (parent.child_by_field_name("key")?, true),
            "assignment_expression" if is_value("right") => {
                let left = parent.child_by_field_name("left")?;
                if matches!(&*self.said(left), "module.exports" | "exports") {
                    return Some(DefaultImport { name: DEFAULT.to_owned(), is_export: true });
                }
                (left.child_by_field_name("property").unwrap_or(left), left.kind() == "member_expression")
            }
            _ => return None,
        };
        let name = self.said(name);
        let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
        is_name.then_some(DefaultImport { name, is_export })
    }
}

/// Whether `./geo`, `../geo/index.js` or `geo.ts` names the module `geo`; `.` and `..` may name any.
fn is_of_module(source: &str, module: &str) -> bool {
    let bare = |part: &str| part.split_once('.').map_or(part.to_owned(), |(stem, _)| stem.to_owned());
    let source = source.trim_end_matches('/');
    if !source.is_empty() && source.split('/').all(|part| matches!(part, "." | "..")) {
        return true;
    }
    let mut parts = source.rsplit('/');
    match parts.next().map(bare).as_deref() {
        Some("index") => module == "index" || parts.next() == Some(module),
        Some(last) => last == module,
        None => false,
    }
}
