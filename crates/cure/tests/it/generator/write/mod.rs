//! Prints a program. Parentheses appear only where precedence requires them, so that precedence is tested too. Where
//! the language has several notations, the program's style selects one.

mod expressions;
mod items;
mod types;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use testkit::Random;

use super::tree::*;

/// Marks the place of a fault.
pub(super) const WRONG: &str = "something wrong";

/// How a library module is imported.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reach {
    /// By its full name, without an import.
    Full,
    /// `import Std.List`
    Whole,
    /// `import Std.List as L`
    Alias,
    /// `import Std.List [map/2]`
    Named,
    /// `import Std.List [map/2 as map_2]`
    Renamed,
}

struct Writer<'p> {
    program: &'p Program,
    /// True if this is the second of two modules, which may call into the first by full name.
    outside: bool,
    random: RefCell<Random>,
    /// Features that only the text shows.
    notes: RefCell<BTreeSet<&'static str>>,
    /// The imports of library modules, and the functions used from them: name and arity.
    reach: BTreeMap<&'static str, Reach>,
    used: RefCell<BTreeMap<&'static str, BTreeSet<(&'static str, usize)>>>,
    /// Aliases of the defined types.
    ranges: bool,
    sizes: bool,
    short: bool,
    /// True if line breaks are inserted anywhere.
    ragged: bool,
}

impl Program {
    /// The text, and the features that only the text shows.
    pub(crate) fn text(&self) -> (String, BTreeSet<&'static str>) {
        let mut random = Random::new(self.style);
        let mut reach = BTreeMap::new();
        for module in ["Std.List", "Std.Core", "Std.Math", "Std.Fsm", "Std.System", "Std.Typeclasses"] {
            let ways = [Reach::Full, Reach::Full, Reach::Whole, Reach::Alias, Reach::Named, Reach::Renamed];
            reach.insert(module, *random.pick(&ways));
        }
        // Lists have these names too, so they are not imported unqualified.
        for module in ["Std.String", "Std.Io", "Std.Show"] {
            reach.insert(module, *random.pick(&[Reach::Full, Reach::Alias, Reach::Renamed]));
        }
        let [ranges, sizes, short, ragged] = [30, 30, 20, 30].map(|percent| random.chance(percent));
        let mut writer = Writer {
            program: self,
            outside: false,
            random: RefCell::new(random),
            notes: RefCell::default(),
            reach,
            used: RefCell::default(),
            ranges,
            sizes,
            short,
            ragged,
        };
        let text = writer.program();
        (text, writer.notes.into_inner())
    }

    /// The module that the other one uses.
    fn library_name(&self) -> String {
        if self.style.is_multiple_of(3) { format!("{}.Lib", self.name) } else { format!("{}Lib", self.name) }
    }
}

impl Writer<'_> {
    fn chance(&self, percent: usize) -> bool {
        self.random.borrow_mut().chance(percent)
    }

    fn below(&self, limit: usize) -> usize {
        self.random.borrow_mut().below(limit)
    }

    fn note(&self, feature: &'static str) {
        self.notes.borrow_mut().insert(feature);
    }

    /// A library function by its name in this module. Functions of templates belong to the program.
    fn library(&self, name: &'static str, arity: usize) -> String {
        let Some((module, function)) = name.rsplit_once('.') else { return name.to_owned() };
        self.used.borrow_mut().entry(module).or_default().insert((function, arity));
        match self.reach.get(module).copied().unwrap_or(Reach::Full) {
            Reach::Full => name.to_owned(),
            Reach::Whole | Reach::Named => function.to_owned(),
            Reach::Alias => format!("{}.{function}", alias(module)),
            Reach::Renamed => format!("{}_{function}_{arity}", alias(module).to_lowercase()),
        }
    }

    /// The imports that match [`Writer::library`].
    fn imports(&self) -> Vec<String> {
        let used = std::mem::take(&mut *self.used.borrow_mut());
        let lines = used.into_iter().filter_map(|(module, functions)| {
            let listed = |renamed: bool| {
                let names = functions.iter().map(|(name, arity)| {
                    let new = if renamed {
                        format!(" as {}_{name}_{arity}", alias(module).to_lowercase())
                    } else {
                        String::new()
                    };
                    if self.chance(10) {
                        self.note("quoted names in imports");
                        return format!("'{name}'/{arity}{new}");
                    }
                    format!("{name}/{arity}{new}")
                });
                names.collect::<Vec<_>>().join(", ")
            };
            Some(match self.reach.get(module).copied().unwrap_or(Reach::Full) {
                Reach::Full => return None,
                Reach::Whole => {
                    self.note("imports of whole modules");
                    format!("  import {module}\n")
                }
                Reach::Alias => {
                    self.note("imports under another name");
                    format!("  import {module} as {}\n", alias(module))
                }
                Reach::Named => {
                    self.note("imports of names");
                    format!("  import {module} [{}]\n", listed(false))
                }
                Reach::Renamed => {
                    self.note("imports of names under others");
                    format!("  import {module} [{}]\n", listed(true))
                }
            })
        });
        lines.collect()
    }
}

fn alias(module: &str) -> &str {
    &module[4..6]
}
