//! Hints for undefined names: the library modules that define them, and Cure's equivalents of names from other
//! languages.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::standard;
use crate::syntax;
use crate::syntax::ast::{Item, Module};

/// Types of other languages, and their Cure equivalents.
const TYPES: &[(&str, &str)] = &[
    ("Array", "`List`"),
    ("Boolean", "`Bool`"),
    ("Byte", "`Int`, or `{x: Int | x >= 0 and x < 256}`"),
    ("Char", "`Int`, the number of a character, or `String`"),
    ("Decimal", "`Float`"),
    ("Double", "`Float`"),
    ("Dynamic", "`Any`"),
    ("Either", "`Result`"),
    ("Integer", "`Int`"),
    ("Long", "`Int`"),
    ("Maybe", "`Option`"),
    ("Natural", "`Nat`"),
    ("Nil", "`Unit`"),
    ("None", "`Option`"),
    ("Number", "`Int` or `Float`"),
    ("Object", "`Any`"),
    ("Optional", "`Option`"),
    ("Positive", "`Pos`"),
    ("Real", "`Float`"),
    ("Seq", "`List`"),
    ("Str", "`String`"),
    ("Symbol", "`Atom`"),
    ("Term", "`Any`"),
    ("Text", "`String`"),
    ("Tuple", "`{A, B}`"),
    ("UInt", "`Nat`"),
    ("Void", "`Unit`"),
];

/// Values, constructors and functions of other languages, and their Cure equivalents.
const NAMES: &[(&str, &str)] = &[
    ("Err", "`Error`, of Result"),
    ("False", "`false`"),
    ("Just", "`Some`, of Option"),
    ("Left", "`Error`, of Result"),
    ("Nothing", "`None`, of Option"),
    ("Null", "`None`, of Option"),
    ("Right", "`Ok`, of Result"),
    ("True", "`true`"),
    ("len", "`length`, of Std.List, Std.String and Std.Vector"),
    ("nil", "`None`, of Option, or `[]`"),
    ("null", "`None`, of Option"),
    ("print_line", "`println`, of Std.Io"),
    ("puts", "`println`, of Std.Io"),
    ("to_string", "`\"#{…}\"`, or `show` of Std.Show"),
    ("toString", "`\"#{…}\"`, or `show` of Std.Show"),
];

/// The types of the language itself.
const BUILTIN: &[&str] = &["Int", "Float", "String", "Bool", "Atom", "Unit", "Nat", "Pos", "Any", "List", "Vector"];

/// Returns Cure's equivalent of a type from another language.
pub(crate) fn usual_type(name: &str) -> Option<String> {
    let known = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, here)| (*here).to_owned());
    let builtin = || BUILTIN.iter().find(|known| known.eq_ignore_ascii_case(name)).map(|known| format!("`{known}`"));
    known.or_else(builtin).map(|here| format!("in Cure it is {here}"))
}

/// Returns Cure's equivalent of a name from another language.
pub(crate) fn usual_name(name: &str) -> Option<String> {
    let known = NAMES.iter().find(|(known, _)| *known == name)?;
    Some(format!("in Cure it is {}", known.1))
}

/// Library modules that define a name, and for a function the number of its parameters.
type Places = Vec<(&'static str, Option<usize>)>;

static LIBRARY: LazyLock<HashMap<String, Places>> = LazyLock::new(|| {
    let mut library: HashMap<String, Places> = HashMap::new();
    for name in standard::names() {
        let text = standard::source(name).unwrap_or_default();
        for module in syntax::modules(&syntax::parse(text).tree()).iter().filter(|module| *module.name.name == *name) {
            offered(module, &mut |of: &str, arity| {
                let places = library.entry(of.to_owned()).or_default();
                if !places.contains(&(name, arity)) {
                    places.push((name, arity));
                }
            });
        }
    }
    library
});

fn offered(module: &Module, offer: &mut dyn FnMut(&str, Option<usize>)) {
    let exported = |name: &str, arity: usize| {
        module.exports.as_ref().is_none_or(|all| {
            all.iter().any(|one| *one.name.name == *name && one.arity.is_none_or(|known| known as usize == arity))
        })
    };
    for item in &module.items {
        let head = match item {
            Item::Def(def) => def,
            Item::Curify(foreign) => &foreign.head,
            Item::Record(record) => {
                offer(&record.name.name, None);
                continue;
            }
            Item::Type(def) => {
                offer(&def.name.name, None);
                continue;
            }
            Item::Class(class) => {
                offer(&class.name.name, None);
                class.methods.iter().for_each(|method| offer(&method.name.name, Some(method.params.len())));
                continue;
            }
            Item::Import(_) | Item::Instance(_) | Item::Fsm(_) => continue,
        };
        if exported(&head.name.name, head.params.len()) {
            offer(&head.name.name, Some(head.params.len()));
        }
    }
}

/// Returns the import of a library function for a call with this number of arguments. `meant` is the module with the
/// function that the program also defines for its own types.
pub(crate) fn import_of_function(name: &str, arity: Option<u32>, meant: Option<&str>) -> Option<String> {
    let places = LIBRARY.get(name)?;
    let functions = places.iter().filter_map(|(module, takes)| Some((*module, (*takes)?)));
    let fits = |takes: usize| arity.is_none_or(|arity| arity as usize == takes);
    let mut fitting: Vec<(&str, usize)> = functions.clone().filter(|(_, takes)| fits(*takes)).collect();
    if fitting.is_empty() {
        fitting = functions.collect();
    }
    if let Some(place) = fitting.iter().find(|(module, _)| Some(*module) == meant).copied() {
        fitting = vec![place];
    }
    // Lists are the most likely intention.
    let first = *fitting.iter().find(|(module, _)| *module == "Std.List").or(fitting.first())?;
    Some(describe(fitting.iter().map(|(module, _)| *module), first.0, &format!("{name}/{}", first.1)))
}

/// The import that brings a type, a record or a class of the library.
pub(crate) fn import_of_type(name: &str) -> Option<String> {
    let places = LIBRARY.get(name)?.iter().filter(|(_, arity)| arity.is_none());
    let modules: Vec<&str> = places.map(|(module, _)| *module).collect();
    Some(describe(modules.iter().copied(), modules.first()?, name))
}

fn describe<'a>(modules: impl Iterator<Item = &'a str>, first: &str, what: &str) -> String {
    let mut modules: Vec<&str> = modules.collect();
    modules.dedup();
    match modules[..] {
        [_] => format!("`{first}` has it: `import {first} [{what}]`"),
        _ => format!("{} have it: `import {first} [{what}]`", modules.join(", ")),
    }
}
