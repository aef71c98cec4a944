//! The names that files of JavaScript and TypeScript give to what a module exports as a whole: `import area from "./geo"`,
//! `const area = require("./geo")`, `const { default: area } = await import("./geo")`.

use std::path::{Path, PathBuf};

use tree_sitter::Node;

use super::trail::{named_children, text_of};

/// What a module exports under this name gets its name from who imports it.
pub(crate) const DEFAULT: &str = "default";

/// A name that a file gives to the default export of a module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DefaultImport {
    /// [`DEFAULT`], where the file exports it so itself; empty where it is used without a name: `require("./geo")(1)`.
    pub name: String,
    /// Whether the file passes it on under that name.
    pub is_export: bool,
}

/// The names that the file at `path` gives to the default export of a module; both paths are from the root.
pub(super) fn default_imports(root: Node<'_>, text: &[u8], path: &Path, module: &Path) -> Vec<DefaultImport> {
    let reading = Reading { text, path, module };
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
    path: &'a Path,
    module: &'a Path,
}

impl Reading<'_> {
    fn said(&self, node: Node<'_>) -> String {
        text_of(self.text, node).into_owned()
    }

    fn is_of_module(&self, source: Node<'_>) -> bool {
        names_module(self.path, self.said(source).trim_matches(['"', '\'', '`']), self.module)
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
                    // `import * as geo from "./geo"`, then `geo.default(1)`.
                    "namespace_import" if self.takes_default(inner) => add(String::new(), false),
                    _ => {}
                }
            }
        }
    }

    /// Whether the file may take the default export out of the module that it has under this name.
    fn takes_default(&self, namespace: Node<'_>) -> bool {
        let name = namespace.named_child(0).map(|name| self.said(name)).unwrap_or_default();
        memchr::memmem::find_iter(self.text, DEFAULT).any(|at| {
            let (before, after) = (self.text[..at].trim_ascii_end(), &self.text[at + DEFAULT.len()..]);
            match before.strip_suffix(b".") {
                Some(of) => of.strip_suffix(b"?").unwrap_or(of).trim_ascii_end().ends_with(name.as_bytes()),
                // `geo["default"]`, `const { default: area } = geo`.
                None => match before.last() {
                    Some(b'{' | b',') => after.trim_ascii_start().starts_with(b":"),
                    _ => before.ends_with(b"[\"") || before.ends_with(b"['"),
                },
            }
        })
    }

    fn is_require(&self, call: Node<'_>) -> bool {
        if call.kind() != "call_expression" {
            return false;
        }
        let function = call.child_by_field_name("function");
        let source = call.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
        function.is_some_and(|function| function.kind() == "import" || self.said(function) == "require")
            && source.is_some_and(|source| source.kind() == "string" && self.is_of_module(source))
    }

    /// The name that is given to what a call of `require`, or `import`, returns.
    fn name_of(&self, call: Node<'_>) -> Option<DefaultImport> {
        let mut value = call;
        let mut parent = call.parent()?;
        let mut is_default = false;
        // `require("./geo").default`, `(await import("./geo"))`.
        loop {
            let is_member = parent.kind() == "member_expression";
            let property = parent.child_by_field_name("property").filter(|_| is_member).map(|name| self.said(name));
            is_default |= property.as_deref() == Some(DEFAULT);
            let is_around = matches!(parent.kind(), "parenthesized_expression" | "await_expression");
            if !is_around && property.as_deref() != Some(DEFAULT) {
                break;
            }
            (value, parent) = (parent, parent.parent()?);
        }
        // What an `import` gives is the module, whose members have their own names.
        let is_module = call.child_by_field_name("function").is_some_and(|function| function.kind() == "import");
        let named = |name: Node<'_>, is_export| {
            let name = self.said(name);
            let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
            is_name.then_some(DefaultImport { name, is_export })
        };
        let nameless = Some(DefaultImport { name: String::new(), is_export: false });
        let is_value = |field: &str| parent.child_by_field_name(field) == Some(value);
        match parent.kind() {
            // It is run, and nothing of it is used.
            "expression_statement" => None,
            "variable_declarator" if is_value("value") => {
                let name = parent.child_by_field_name("name")?;
                match name.kind() {
                    "object_pattern" => self.taken_by(name),
                    _ if is_module && !is_default => None,
                    _ => named(name, false),
                }
            }
            // Whoever has the object has it too.
            "pair" if is_value("value") && !is_module => named(parent.child_by_field_name("key")?, true),
            "assignment_expression" if is_value("right") && !is_module => {
                let left = parent.child_by_field_name("left")?;
                if matches!(&*self.said(left), "module.exports" | "exports") {
                    return Some(DefaultImport { name: DEFAULT.to_owned(), is_export: true });
                }
                named(left.child_by_field_name("property").unwrap_or(left), left.kind() == "member_expression")
            }
            "member_expression" => match &*self.said(parent.child_by_field_name("property")?) {
                // `import("./geo").then(({ default: area }) => …)`.
                "then" => self.taken_then(parent).or(nameless),
                // Other members have their own names.
                _ => None,
            },
            _ => nameless,
        }
    }

    /// `{ default: area }`.
    fn taken_by(&self, pattern: Node<'_>) -> Option<DefaultImport> {
        let is_default = |pair: &Node<'_>| pair.child_by_field_name("key").is_some_and(|key| self.said(key) == DEFAULT);
        let pair = named_children(pattern).into_iter().find(is_default)?;
        let name = pair.child_by_field_name("value").filter(|value| value.kind() == "identifier")?;
        Some(DefaultImport { name: self.said(name), is_export: false })
    }

    /// What a function takes that is given to `then`; an empty name where it takes the module by a name.
    fn taken_then(&self, then: Node<'_>) -> Option<DefaultImport> {
        let arguments = then.parent()?.child_by_field_name("arguments")?;
        let function = arguments.named_child(0).filter(|one| one.kind() == "arrow_function")?;
        let parameters = function.child_by_field_name("parameters")?;
        let pattern = parameters.named_child(0)?;
        let pattern = pattern.child_by_field_name("pattern").unwrap_or(pattern);
        // One that takes the module by a name, or other members, has it as `default` if at all.
        let other = || DefaultImport { name: DEFAULT.to_owned(), is_export: false };
        Some(self.taken_by(pattern).unwrap_or_else(other))
    }
}

/// Whether what a file names as a module is that one: `./geo`, `../geo/index.js`, `..` by their place, `@/lib/geo` by its last name.
pub(crate) fn names_module(path: &Path, source: &str, module: &Path) -> bool {
    let stem = module.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = module.parent().unwrap_or(Path::new(""));
    if source.starts_with('.') {
        let file = beside(path, source);
        let is_file = |file: &Path| file == module || file == module.with_extension("");
        // `geo.js` may be written for `geo.ts`.
        return is_file(&file)
            || file.extension().is_some() && is_file(&file.with_extension(""))
            || file == folder && matches!(stem, "index" | "lib" | "main");
    }
    let bare = |part: &str| part.split_once('.').map_or(part.to_owned(), |(stem, _)| stem.to_owned());
    let folder = folder.file_name().and_then(|name| name.to_str());
    let mut parts = source.trim_end_matches('/').rsplit('/');
    match parts.next().map(bare).as_deref() {
        Some("index") => stem == "index" && parts.next() == folder,
        Some(last) => last == stem || stem == "index" && Some(last) == folder,
        None => false,
    }
}

/// What a module names from its folder: `../geo`.
pub(crate) fn beside(module: &Path, source: &str) -> PathBuf {
    let mut path = module.parent().map(PathBuf::from).unwrap_or_default();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = path.pop(),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_what_files_write() {
        let check = |path: &str, source: &str, module: &str, wanted: bool| {
            assert_eq!(names_module(Path::new(path), source, Path::new(module)), wanted, "{path} {source} {module}");
        };
        check("app.js", "./lib/log", "lib/log.js", true);
        check("lib/a.js", "./log.js", "lib/log.ts", true);
        check("lib/a.js", "../log", "lib/log.js", false);
        check("routes/users.js", "../controllers/users", "routes/users.js", false);
        check("lib/deep/a.js", "..", "lib/index.js", true);
        check("a.js", "./lib", "lib/index.js", true);
        check("a.js", "./lib/", "other/index.js", false);
        check("a.ts", "@/lib/log", "src/lib/log.ts", true);
        check("a.ts", "log", "packages/log/index.js", true);
        check("a.ts", "events", "lib/log.js", false);
    }
}
