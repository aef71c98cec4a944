//! The declarations of files as symbols: the symbol of a definition, and the one around a place.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::find;
use syntax::{Declaration, Kind, Language, bare_name, declarations};

use super::{KnownDefinitions, Symbol};
use crate::answer::Texts;
use crate::definition::Definition;
use crate::line_column::Lines;
use crate::search::{Scope, read};
use crate::test_detection::is_test_file;
use crate::tools::display_path;

/// The declarations of files, each parsed once.
pub(super) struct Declared<'a> {
    scope: &'a Scope,
    texts: Texts,
    files: BTreeMap<Arc<Path>, Option<Parsed>>,
}

struct Parsed {
    language: Language,
    text: Arc<[u8]>,
    all: Vec<Declaration>,
    /// The symbols around places, by the offsets of their names.
    around: RefCell<HashMap<usize, Symbol>>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(scope: &'a Scope, texts: Texts) -> Declared<'a> {
        Declared { scope, texts, files: BTreeMap::new() }
    }

    fn file(&mut self, path: &Arc<Path>) -> Option<&Parsed> {
        let (scope, texts) = (self.scope, &self.texts);
        let parsed = self.files.entry(path.clone()).or_insert_with(|| {
            let text = match texts.get(path) {
                Some(text) => text.clone(),
                None => read(&scope.root.join(path)).ok()?.into(),
            };
            let language = Language::detect(path, &text)?;
            Some(Parsed {
                language,
                all: declarations(language, &text, scope.until)?,
                text,
                around: RefCell::default(),
            })
        });
        parsed.as_ref()
    }

    pub(super) fn symbol(&mut self, definition: &Definition) -> Option<Symbol> {
        let path = definition.path.clone();
        let file = self.file(&path)?;
        let mut chain = chain(&file.all, &|one| one.at == definition.at);
        // An overload only declares types: its implementation is the last one of that name.
        if let Some(one) = chain.pop_if(|one| is_overload(&one.signature)) {
            let all = chain.last().map_or(&file.all, |parent| &parent.members);
            chain.extend(all.iter().rfind(|other| other.name == one.name));
        }
        let one = chain.last();
        let (at, bytes) = one.map_or((definition.at, &definition.bytes), |one| (one.at, &one.bytes));
        let names = (definition.label.clone(), last_part(&definition.label), definition.kind);
        let symbol = file.new_symbol(&path, &chain, at, bytes, names);
        Some(Symbol { beginning_end: one.map_or(symbol.beginning_end, |one| file.beginning_end(one)), ..symbol })
    }

    /// Returns the function, type or value around an offset.
    pub(super) fn enclosing_symbol(&mut self, path: &Arc<Path>, at: usize) -> Option<Symbol> {
        let file = self.file(path)?;
        let mut chain = chain(&file.all, &|one| one.bytes.contains(&at));
        chain.truncate(chain.iter().rposition(|one| is_unit(one.kind))? + 1);
        let one = *chain.last()?;
        if let Some(known) = file.around.borrow().get(&one.at) {
            return Some(known.clone());
        }
        let separator = crate::definition::separator(file.language);
        // An implementation is labelled by its type.
        let label_of = |one: &&'_ Declaration| match one.kind {
            Kind::Impl => one.within.first().unwrap_or(&one.name).clone(),
            _ => one.name.clone(),
        };
        let labels: Vec<String> = chain.iter().map(label_of).collect();
        let names = (labels.join(separator), one.name.clone(), one.kind);
        let symbol = file.new_symbol(path, &chain, one.at, &one.bytes, names);
        file.around.borrow_mut().insert(one.at, symbol.clone());
        Some(symbol)
    }

    /// Returns the type of a method. Of several ones with its name, that in the file of the method is meant.
    pub(super) fn container(&mut self, method: &Symbol, known: &KnownDefinitions) -> Option<Symbol> {
        let name = container_name(method)?;
        let file = Scope { below: self.scope.root.join(&method.file), ..self.scope.clone() };
        let is_type = |one: &Definition| one.kind.is_type();
        let own = self.of_name(&file, name, method, &KnownDefinitions::default()).into_iter().find(is_type);
        let one = own.or_else(|| {
            let mut all = self.of_name(self.scope, name, method, known);
            all.retain(is_type);
            all.pop().filter(|_| all.is_empty())
        });
        self.symbol(&one?)
    }

    /// Returns the methods of a class, except its constructor.
    pub(super) fn methods(&mut self, class: &Symbol) -> Vec<Symbol> {
        let path: Arc<Path> = Path::new(&class.file).into();
        let Some(file) = self.file(&path).filter(|_| class.kind == Kind::Class) else { return Vec::new() };
        let lines = Lines::new(&file.text);
        let chain = chain(&file.all, &|one| one.name == class.name && lines.line(one.at) == class.line);
        let members = chain.last().map(|one| &one.members[..]).unwrap_or_default();
        let is_method =
            |one: &&Declaration| one.kind == Kind::Method && !is_constructor(one) && !is_overload(&one.signature);
        let places: Vec<usize> = members.iter().filter(is_method).map(|one| one.at).collect();
        places.into_iter().filter_map(|at| self.enclosing_symbol(&path, at)).collect()
    }

    /// Returns the definitions of a name in the language of a symbol.
    fn of_name(&self, scope: &Scope, name: &str, symbol: &Symbol, known: &KnownDefinitions) -> Vec<Definition> {
        let (mut all, ..) = known.declared(scope, &HashSet::from([name]));
        let mut all = all.remove(name).unwrap_or_default();
        let is_declaration = |file: &str| file.ends_with(".d.ts");
        all.retain(|one| {
            one.language == symbol.language && is_declaration(&display_path(&one.path)) == is_declaration(&symbol.file)
        });
        all
    }

    /// Returns the methods that override one, directly or not, as the heads of their classes tell; the longest first.
    pub(super) fn overriders(&mut self, symbol: &Symbol, known: &KnownDefinitions) -> Vec<Symbol> {
        let Some(class) = container_name(symbol).filter(|_| !symbol.name.starts_with("__")) else {
            return Vec::new();
        };
        let mut open = self.of_name(self.scope, &symbol.name, symbol, known);
        open.retain(|one| one.kind == Kind::Method);
        let (mut classes, mut found) = (vec![class.to_owned()], Vec::new());
        let mut count = 0;
        while count < classes.len() {
            count = classes.len();
            open.retain(|one| {
                let Some((name, is_derived)) = self.class_of(one, &classes) else { return false };
                if is_derived {
                    classes.push(name);
                    // Overloads are one method.
                    found.extend(self.symbol(one).filter(|one| !one.in_test && !found.contains(one)));
                }
                !is_derived
            });
        }
        found.sort_by_key(|one: &Symbol| std::cmp::Reverse(one.lines.1 - one.lines.0));
        found
    }

    /// Returns the class around a method, and whether its head names one of some classes.
    fn class_of(&mut self, method: &Definition, bases: &[String]) -> Option<(String, bool)> {
        if method.language == Language::Rust {
            let of = method.of_trait.as_ref().filter(|of| of.is_impl && bases[0] == of.name)?;
            return Some((of.name.clone(), true));
        }
        let file = self.file(&method.path)?;
        let [.., class, _] = chain(&file.all, &|one| one.at == method.at)[..] else { return None };
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let words = class.signature.split(|c| !is_of_name(c));
        let is_derived = bases.iter().any(|base| *base != class.name && words.clone().any(|word| word == base));
        Some((class.name.clone(), is_derived))
    }

    pub(super) fn around_line(&mut self, path: Arc<Path>, line: usize) -> Option<Symbol> {
        let file = self.file(&path)?;
        let lines = Lines::new(&file.text);
        let start = lines.offset(line, 1)?;
        let text = &file.text[start..];
        let blank = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or_default();
        self.enclosing_symbol(&path, start + blank)
    }
}

impl Parsed {
    /// Returns the last line of a class's constructor, or the line before its first method.
    fn beginning_end(&self, class: &Declaration) -> usize {
        let lines = Lines::new(&self.text);
        let mut methods = class.members.iter().filter(|one| one.kind == Kind::Method);
        let constructor = methods.clone().find(|one| is_constructor(one));
        match constructor.or_else(|| methods.next()) {
            Some(one) if constructor.is_some() => lines.line(one.bytes.end.saturating_sub(1)),
            Some(first) => lines.line(first.bytes.start).saturating_sub(1).max(lines.line(class.at)),
            None => lines.line(class.bytes.end.saturating_sub(1)),
        }
    }

    /// Returns the symbol of a declaration, from the declarations around and including it, its place, its label, name and kind.
    fn new_symbol(
        &self,
        path: &Path,
        chain: &[&Declaration],
        at: usize,
        bytes: &Range<usize>,
        (label, name, kind): (String, String, Kind),
    ) -> Symbol {
        let one = chain.last();
        let lines = Lines::new(&self.text);
        let (line, last) = (lines.line(at), lines.line(bytes.end.saturating_sub(1)));
        let in_test = is_test_file(path) || chain.iter().any(|one| is_test_declaration(&self.text, one));
        Symbol {
            label,
            name,
            kind,
            language: self.language,
            file: display_path(path),
            line,
            column: lines.column(at),
            lines: (lines.line(bytes.start), last),
            beginning_end: last,
            signature: one.map(|one| one.signature.clone()).unwrap_or_default(),
            doc: one.and_then(|one| one.doc.clone()),
            text: project::visible::escaped(&lines.excerpt(line, None).unwrap_or_default()),
            in_test,
            is_test: in_test && one.is_some_and(|one| is_run_by_name(self, one)),
        }
    }
}

/// Returns the declarations from the outermost to the innermost that fits.
fn chain<'d>(all: &'d [Declaration], fits: &dyn Fn(&Declaration) -> bool) -> Vec<&'d Declaration> {
    for one in all {
        let inner = chain(&one.members, fits);
        if !inner.is_empty() || fits(one) {
            return std::iter::once(one).chain(inner).collect();
        }
    }
    Vec::new()
}

fn is_constructor(method: &Declaration) -> bool {
    matches!(&*method.name, "__init__" | "constructor")
}

/// True for a Python function that only declares the types of an overload.
fn is_overload(signature: &str) -> bool {
    signature.split_whitespace().any(|word| word.starts_with('@') && word.ends_with("overload"))
}

/// True for a declaration that a person reads as one unit.
fn is_unit(kind: Kind) -> bool {
    !matches!(kind, Kind::Impl | Kind::Module | Kind::Field | Kind::Constructor | Kind::Unknown)
}

fn is_test_declaration(text: &[u8], one: &Declaration) -> bool {
    match one.kind {
        Kind::Function if has_test_attribute(text, one) => true,
        Kind::Module => matches!(&*one.name, "tests" | "test") || one.name.starts_with("tests_"),
        _ => one.name.starts_with("test_"),
    }
}

/// True for a function of tests that a test runner can run by its name.
fn is_run_by_name(file: &Parsed, one: &Declaration) -> bool {
    // `TestArea`, but not `Testify`.
    let is_of_go = |rest: &str| !rest.starts_with(char::is_lowercase) && rest != "Main";
    let begins = |word: &&str| one.name.strip_prefix(word).is_some_and(is_of_go);
    matches!(one.kind, Kind::Function | Kind::Method)
        && match file.language {
            Language::Rust => has_test_attribute(&file.text, one),
            Language::Python => one.name.starts_with("test"),
            Language::Go => one.kind == Kind::Function && ["Test", "Example", "Fuzz"].iter().any(begins),
            _ => false,
        }
}

/// True if an attribute in a declaration, or on the lines above it, marks a test.
fn has_test_attribute(text: &[u8], one: &Declaration) -> bool {
    let has_mark =
        |text: &[u8]| [&b"#[test]"[..], b"::test]", b"::test("].iter().any(|mark| find(text, mark).is_some());
    let is_attribute = |line: &[u8]| line.trim_ascii().starts_with(b"#[");
    let above = text.get(..one.bytes.start).unwrap_or_default().rsplit(|byte| *byte == b'\n').enumerate();
    let above = above.take_while(|(number, line)| {
        let line = line.trim_ascii();
        // The first line is the part of the declaration's line in front of it.
        is_attribute(line) || line.starts_with(b"//") || *number == 0 && line.is_empty()
    });
    has_mark(text.get(one.bytes.start..one.at).unwrap_or_default())
        || above.into_iter().any(|(_, line)| is_attribute(line) && has_mark(line))
}

/// Returns the name of the type of a method.
fn container_name(method: &Symbol) -> Option<&str> {
    let mut parts = method.label.rsplit([':', '.']).filter(|part| !part.is_empty());
    parts.nth(1).filter(|_| method.kind == Kind::Method)
}

fn last_part(label: &str) -> String {
    let name = label.rsplit("::").next().unwrap_or(label);
    let name = if name.ends_with('.') { name } else { name.rsplit('.').next().unwrap_or(name) };
    String::from_utf8_lossy(bare_name(name.as_bytes())).into_owned()
}
