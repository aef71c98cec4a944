//! Values of a type as Cure source: those worth trying as arguments, and the result of a run.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use num_bigint::BigInt;

use crate::eval::value::{Value, float};
use crate::ir::ty::{Seq, Ty};
use crate::resolve::interface::{TypeInfo, TypeInfoKind};
use crate::standard;
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The maximal number of values for one argument.
const MOST_VALUES: usize = 12;
/// The maximal depth of a value of a recursive type.
const DEEPEST: usize = 3;

/// The constants in a function, near which its behaviour may change.
#[derive(Debug, Default)]
pub(super) struct Constants {
    pub ints: Vec<BigInt>,
    pub floats: Vec<String>,
    pub strings: Vec<String>,
    pub atoms: Vec<String>,
}

/// The known types.
pub(super) struct Types<'a> {
    pub info: &'a dyn Fn(&str) -> Option<Arc<TypeInfo>>,
    pub constants: Constants,
}

impl Types<'_> {
    /// Values worth trying, the simplest first; empty if none can be written.
    pub(super) fn worth_trying(&self, ty: &Ty, depth: usize) -> Vec<String> {
        let mut values = self.all(ty, depth);
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(value.clone()));
        values.truncate(MOST_VALUES);
        values
    }

    fn all(&self, ty: &Ty, depth: usize) -> Vec<String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        match ty {
            Ty::Refined(base, pred) => {
                let mut edges = Vec::new();
                numbers(&pred.condition, &mut edges);
                let edges = edges.iter().flat_map(neighbours).map(|number| integer(&number));
                edges.chain(self.all(base, depth)).collect()
            }
            Ty::Seq(seq, element, _) => {
                let (open, close) = if *seq == Seq::List { ("[", "]") } else { ("‹", "›") };
                let elements = self.worth_trying(element, depth + 1);
                let of = |count: usize, from: usize| {
                    let some = elements.iter().cycle().skip(from).take(if elements.is_empty() { 0 } else { count });
                    format!("{open}{}{close}", some.cloned().collect::<Vec<_>>().join(", "))
                };
                let mut all = vec![of(0, 0)];
                if !elements.is_empty() && depth < DEEPEST {
                    all.extend([of(1, 0), of(2, 1), of(3, 0)]);
                }
                all
            }
            Ty::Tuple(parts) => {
                let parts: Vec<Vec<String>> = parts.iter().map(|part| self.worth_trying(part, depth + 1)).collect();
                rows(&parts, 6).into_iter().map(|row| format!("{{{}}}", row.join(", "))).collect()
            }
            Ty::Fn(params, result) => {
                let names: Vec<String> = (0..params.len()).map(|at| format!("x{at}")).collect();
                let constant = self.worth_trying(result, depth + 1).into_iter().take(2);
                let constant = constant.map(|value| format!("fn({}) -> {value} end", names.join(", ")));
                let same = matches!((&params[..], &**result), ([Ty::Con(a, _)], Ty::Con(b, _)) if a == b)
                    || matches!((&params[..], &**result), ([Ty::Param(_)], Ty::Param(_)));
                same.then(|| "fn(x0) -> x0 end".to_owned()).into_iter().chain(constant).collect()
            }
            Ty::Param(_) => self.all(&Ty::int(), depth).into_iter().take(3).collect(),
            Ty::Any => texts(&["1", "\"a\"", "[]"]),
            Ty::Con(name, args) => self.named(name, args, depth),
            Ty::Ctor(_) | Ty::App(..) | Ty::Meta(_) | Ty::Wrong => Vec::new(),
        }
    }

    fn named(&self, name: &str, args: &[Ty], depth: usize) -> Vec<String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let constants = &self.constants;
        match name {
            "Int" => {
                let found = constants.ints.iter().flat_map(neighbours).map(|number| integer(&number));
                texts(&["0", "1", "-1", "2"]).into_iter().chain(found).chain(texts(&["10", "-7"])).collect()
            }
            "Float" => texts(&["0.0", "1.0", "-1.5"]).into_iter().chain(constants.floats.clone()).collect(),
            "Bool" => texts(&["true", "false"]),
            "String" => {
                let found = constants.strings.clone();
                texts(&["\"\"", "\"a\""]).into_iter().chain(found).chain(texts(&["\"Hello, World\""])).collect()
            }
            "Atom" => texts(&[":a"]).into_iter().chain(constants.atoms.clone()).collect(),
            "Unit" => texts(&["()"]),
            "Charlist" => texts(&["‘’", "‘ab’"]),
            _ => self.defined(name, args, depth),
        }
    }

    fn defined(&self, name: &str, args: &[Ty], depth: usize) -> Vec<String> {
        let Some(info) = (self.info)(name) else { return Vec::new() };
        let given: HashMap<&Name, &Ty> = info.params.iter().zip(args).collect();
        let filled = |ty: &Ty| fill(ty, &given);
        match &info.kind {
            TypeInfoKind::Alias(ty) => self.all(&filled(ty), depth),
            TypeInfoKind::Record(fields) => {
                let parts: Vec<Vec<String>> =
                    fields.iter().map(|(_, ty)| self.worth_trying(&filled(ty), depth + 1)).collect();
                let record = |row: Vec<String>| {
                    let fields = fields.iter().zip(row).map(|((name, _), value)| format!("{name}: {value}"));
                    format!("{}{{{}}}", short(name), fields.collect::<Vec<_>>().join(", "))
                };
                rows(&parts, 6).into_iter().map(record).collect()
            }
            TypeInfoKind::Sum(constructors) => {
                let mut all = Vec::new();
                for constructor in constructors {
                    if constructor.fields.is_empty() {
                        all.push(constructor.name.to_string());
                    } else if depth < DEEPEST {
                        let parts: Vec<Vec<String>> =
                            constructor.fields.iter().map(|ty| self.worth_trying(&filled(ty), depth + 1)).collect();
                        let most = if depth == 0 { 4 } else { 2 };
                        let one = |row: Vec<String>| format!("{}({})", constructor.name, row.join(", "));
                        all.extend(rows(&parts, most).into_iter().map(one));
                    }
                }
                all
            }
        }
    }

    /// How a value of this type is written; `None` if it cannot be.
    pub(super) fn written(&self, value: &Value, ty: &Ty) -> Option<String> {
        let all = |values: &[Value], types: &mut dyn Iterator<Item = Ty>| -> Option<Vec<String>> {
            values.iter().zip(types).map(|(value, ty)| self.written(value, &ty)).collect()
        };
        match (ty, value) {
            (Ty::Refined(base, _), _) => self.written(value, base),
            (Ty::Param(_), _) => self.written(value, &Ty::int()),
            (Ty::Seq(seq, element, _), _) => {
                let items = value.items()?;
                let items = all(&items, &mut std::iter::repeat((**element).clone()))?.join(", ");
                Some(if *seq == Seq::List { format!("[{items}]") } else { format!("‹{items}›") })
            }
            (Ty::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
                Some(format!("{{{}}}", all(parts, &mut types.iter().cloned())?.join(", ")))
            }
            (Ty::Con(name, args), _) => self.written_as(value, name, args),
            _ => None,
        }
    }

    fn written_as(&self, value: &Value, name: &str, args: &[Ty]) -> Option<String> {
        match (name, value) {
            ("Int", _) => value.as_big().map(|number| integer(&number)),
            ("Float", Value::Float(number)) => Some(float(*number)),
            ("Bool", Value::Atom(atom)) => Some(atom.to_string()),
            ("Unit", Value::Atom(_)) => Some("()".to_owned()),
            ("Atom", Value::Atom(atom)) => {
                let plain = atom.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && atom.starts_with(|c: char| c.is_ascii_alphabetic());
                plain.then(|| format!(":{atom}"))
            }
            ("String", Value::Binary(_)) => value.text().map(quoted),
            (_, Value::Tuple(parts)) => {
                let info = (self.info)(name)?;
                let given: HashMap<&Name, &Ty> = info.params.iter().zip(args).collect();
                let (tag, parts) = parts.split_first()?;
                match &info.kind {
                    TypeInfoKind::Alias(ty) => self.written(value, &fill(ty, &given)),
                    TypeInfoKind::Record(fields) => {
                        let fields = fields.iter().zip(parts).map(|((name, ty), value)| {
                            Some(format!("{name}: {}", self.written(value, &fill(ty, &given))?))
                        });
                        Some(format!("{}{{{}}}", short(name), fields.collect::<Option<Vec<_>>>()?.join(", ")))
                    }
                    TypeInfoKind::Sum(constructors) => {
                        let found =
                            constructors.iter().find(|one| tag.is_atom(&one.tag) && one.fields.len() == parts.len())?;
                        if parts.is_empty() {
                            return Some(found.name.to_string());
                        }
                        let parts =
                            found.fields.iter().zip(parts).map(|(ty, value)| self.written(value, &fill(ty, &given)));
                        Some(format!("{}({})", found.name, parts.collect::<Option<Vec<_>>>()?.join(", ")))
                    }
                }
            }
            _ => None,
        }
    }
}

/// The modules that must be imported to write values of a type.
pub(super) fn modules_of(ty: &Ty, into: &mut BTreeSet<String>) {
    ty.map(&mut |part| {
        if let Ty::Con(name, _) = part
            && let Some((module, _)) = name.rsplit_once('.')
            && !standard::PRELUDE.contains(&module)
        {
            into.insert(module.to_owned());
        }
        None
    });
}

/// Rows that use every value of every column at least once; the first row has the first value of each.
pub(super) fn rows(columns: &[Vec<String>], most: usize) -> Vec<Vec<String>> {
    if columns.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let row = |at: usize, step: usize| {
        let pick = |(index, column): (usize, &Vec<String>)| column[(at + index * step) % column.len()].clone();
        columns.iter().enumerate().map(pick).collect::<Vec<_>>()
    };
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for step in 0..3 {
        for at in 0..longest.max(1) {
            let next = row(at, step);
            if rows.len() < most && !rows.contains(&next) {
                rows.push(next);
            }
        }
    }
    rows
}

fn fill(ty: &Ty, given: &HashMap<&Name, &Ty>) -> Ty {
    ty.map(&mut |part| match part {
        Ty::Param(name) => given.get(name).map(|ty| (*ty).clone()),
        _ => None,
    })
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// A number and its neighbours.
fn neighbours(number: &BigInt) -> [BigInt; 3] {
    [number.clone(), number - 1, number + 1]
}

fn integer(number: &BigInt) -> String {
    number.to_string()
}

/// The numbers in a condition.
fn numbers(condition: &Expr, into: &mut Vec<BigInt>) {
    match &condition.kind {
        ExprKind::Int(number) => into.push(number.clone()),
        ExprKind::Unary(_, one) => {
            let before = into.len();
            numbers(one, into);
            let negated: Vec<BigInt> = into[before..].iter().map(|number| -number).collect();
            into.extend(negated);
        }
        ExprKind::Binary(_, _, left, right) => {
            numbers(left, into);
            numbers(right, into);
        }
        _ => {}
    }
}

/// A text as a string literal of Cure.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '#' if rest.peek() == Some(&'{') => out.push_str("\\#"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
