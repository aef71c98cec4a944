//! Makes expressions with a type's own operations: arithmetic for numbers, interpolation for text, and so on.

use super::make::{Maker, Scope, binary};
use super::tree::*;
use super::types::is_exact;

impl Maker {
    /// Returns an expression that is specific to its type; `None` if none is possible here.
    pub(crate) fn special(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        Some(match ty {
            Type::Int => self.int(depth, scope),
            Type::Float => self.float(depth, scope),
            Type::Bool => self.bool(depth, scope),
            Type::Text => self.text(depth, scope),
            Type::Unit if self.random.chance(20) => {
                self.note("messages");
                let of = self.ty(0);
                let message = Expr::As(self.boxed(&of, depth, scope), of);
                let atom = |name: &str| Expr::Atom(name.to_owned());
                let target = match self.random.below(4) {
                    0 => Expr::Tuple(vec![atom("global"), atom("nobody")]),
                    1 => Expr::Tuple(vec![atom("via"), atom("global"), Expr::Text("nobody".to_owned())]),
                    _ => atom("nobody"),
                };
                if matches!(target, Expr::Tuple(_)) {
                    self.note("messages to processes elsewhere");
                }
                binary("|->", message, target)
            }
            Type::Atom if self.random.chance(40) => {
                self.note("conditions over texts");
                self.program.templates.insert("other_side");
                let side = Expr::Atom(["left", "right"][self.random.below(2)].to_owned());
                let turned = Expr::Native("other_side", vec![side.clone()]);
                if self.random.chance(50) {
                    return Some(Expr::Native("other_side", vec![turned]));
                }
                let name = self.name("v");
                let var = || Expr::Var(name.clone());
                let test = binary("==", var(), side);
                let turned = Expr::Native("other_side", vec![var()]);
                let chosen = Expr::If(Box::new(test), Box::new(turned), Box::new(var()));
                let value = *self.boxed(&Type::Atom, depth, scope);
                Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(chosen))
            }
            Type::Atom | Type::Unit | Type::Param(_) => return None,
            Type::Any => self.anything(depth, scope),
            Type::Applied(..) => return None,
            Type::Ordering => {
                self.note("Ord");
                let of = self.plain(1);
                let (a, b) = (self.boxed(&of, depth, scope), self.boxed(&of, depth, scope));
                Expr::Compare(of.clone(), Box::new(Expr::As(a, of)), b)
            }
            Type::List(of) => self.list(of, depth, scope)?,
            Type::Vector(of, length) => self.vector(of, *length, depth, scope),
            Type::Tuple(parts) => Expr::Tuple(parts.iter().map(|part| self.expr(part, depth - 1, scope)).collect()),
            Type::Option(of) => match self.random.below(3) {
                0 if !is_exact(of) => {
                    let from = self.ty(0);
                    let option = Type::Option(Box::new(from.clone()));
                    let option = Expr::As(self.boxed(&option, depth, scope), option);
                    let function = self.function_literal(&[from], of, depth - 1, scope);
                    Expr::Native("Std.Core.map_option", vec![option, function])
                }
                _ => Expr::Construct("Some".to_owned(), vec![self.expr(of, depth - 1, scope)], true),
            },
            Type::Result(of, error) => self.result(of, error, depth, scope),
            Type::Named(data, args) => self.named_value(*data, args, depth, scope),
            Type::Fn(params, result) => self.function_literal(params, result, depth - 1, scope),
            Type::Refined(at) => self.refined(*at, depth, scope),
        })
    }

    fn int(&mut self, depth: usize, scope: &Scope) -> Expr {
        let int = Type::Int;
        match self.random.below(26) {
            18 => self.division_of_a_field(depth, scope),
            20 | 21 => self.conditions_through_library(depth, scope),
            22 => self.used_at_two_types(depth, scope),
            23 if self.random.chance(20) => self.chain(&Type::Int, scope),
            0..=4 => {
                self.note("arithmetic");
                let operator = ["+", "-", "*"][self.random.below(3)];
                binary(operator, *self.boxed(&int, depth, scope), *self.boxed(&int, depth, scope))
            }
            5 => Expr::Negate(self.boxed(&int, depth, scope)),
            6 => {
                self.note("division");
                let divisor = [-7, -2, -1, 1, 2, 3, 10, 1 << 40][self.random.below(8)];
                let operator = ["/", "%"][self.random.below(2)];
                binary(operator, *self.boxed(&int, depth, scope), Expr::Int(i64::into(divisor)))
            }
            7 => {
                self.note("division");
                self.note("refinements");
                let divisor = Type::Refined([ABOVE, NONZERO][self.random.below(2)]);
                let operator = ["/", "%"][self.random.below(2)];
                // A variable keeps its refinement; not every expression does.
                let name = self.name("v");
                let value = self.expr(&divisor, depth - 1, scope);
                let divided = binary(operator, *self.boxed(&int, depth, scope), Expr::Var(name.clone()));
                Expr::Let(vec![(Pattern::Var(name), Some(divisor), value)], Box::new(divided))
            }
            8 => {
                self.note("division");
                let dividend = self.expr(&int, depth - 1, scope);
                let operator = ["/", "%"][self.random.below(2)];
                self.division_under_test(depth, scope, operator, dividend)
            }
            9 | 10 => match self.scored(scope) {
                Some(of) => {
                    self.note("methods");
                    let arg = self.expr(&of, depth - 1, scope);
                    let said = if of == Type::Param("T") { arg } else { Expr::As(Box::new(arg), of.clone()) };
                    let methods = if self.program.class.as_ref().is_some_and(|class| class.upon) { 3 } else { 2 };
                    Expr::Method(self.random.below(methods), of, vec![said])
                }
                None => binary("+", *self.boxed(&int, depth, scope), *self.boxed(&int, depth, scope)),
            },
            11 => {
                self.note("the library");
                match self.random.below(5) {
                    3 => Expr::Native("Std.List.sum", vec![*self.boxed(&Type::List(Box::new(int)), depth, scope)]),
                    4 => {
                        let (a, b) = (self.boxed(&int, depth, scope), self.boxed(&int, depth, scope));
                        Expr::Native("Std.Math.gcd", vec![*a, *b])
                    }
                    0 => Expr::Native("Std.Math.abs", vec![*self.boxed(&int, depth, scope)]),
                    1 => Expr::Native("Std.String.length", vec![*self.boxed(&Type::Text, depth, scope)]),
                    _ => {
                        let of = Type::List(Box::new(self.ty(0)));
                        Expr::Native("Std.List.length", vec![Expr::As(self.boxed(&of, depth, scope), of)])
                    }
                }
            }
            12 => {
                self.note("lengths");
                self.program.templates.insert("dot");
                let of = Type::Vector(Box::new(int), self.random.below(4));
                Expr::Native("dot", vec![*self.boxed(&of, depth, scope), *self.boxed(&of, depth, scope)])
            }
            13 => {
                self.note("lengths");
                self.program.templates.insert("size_of");
                let of = Type::Vector(Box::new(self.ty(0)), self.random.below(4));
                Expr::Native("size_of", vec![*self.boxed(&of, depth, scope)])
            }
            14 => {
                self.note("lengths");
                self.program.templates.insert("first_of");
                let of = Type::Vector(Box::new(int), 1 + self.random.below(3));
                Expr::Native("first_of", vec![*self.boxed(&of, depth, scope)])
            }
            15 => {
                self.note("functions of Erlang");
                let name = *self.random.pick(&["absolute", "counted"]);
                self.program.templates.insert(name);
                let of = if name == "absolute" { int } else { Type::List(Box::new(self.ty(0))) };
                Expr::Native(name, vec![Expr::As(self.boxed(&of, depth, scope), of)])
            }
            16 => {
                self.note("lengths as values");
                self.program.templates.insert("mean");
                let of = Type::Vector(Box::new(int), self.random.below(4));
                Expr::Native("mean", vec![*self.boxed(&of, depth, scope)])
            }
            17 => {
                // n / (after(m) - m)
                self.note("results that depend on arguments");
                self.program.templates.insert("after");
                let name = self.name("v");
                let var = || Expr::Var(name.clone());
                let value = self.expr(&int, depth - 1, scope);
                let divisor = binary("-", Expr::Native("after", vec![var()]), var());
                let divided = binary("/", *self.boxed(&int, depth, scope), divisor);
                Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(divided))
            }
            _ => {
                let at = self.random.below(REFINEMENTS.len());
                self.expr(&Type::Refined(at), depth - 1, scope)
            }
        }
    }

    fn float(&mut self, depth: usize, scope: &Scope) -> Expr {
        self.note("floats");
        let (a, b) = (self.boxed(&Type::Float, depth, scope), self.boxed(&Type::Float, depth, scope));
        match self.random.below(8) {
            5 | 6 => {
                self.note("conditions over floats");
                self.program.templates.insert("chance");
                let rest = |value: Expr| Expr::Native("rest_of", vec![value]);
                match self.random.below(4) {
                    0 => rest(Expr::Float([0.0, 0.25, 0.5, 1.0][self.random.below(4)])),
                    1 => rest(Expr::Native("chance", vec![*a])),
                    2 => rest(rest(Expr::Native("chance", vec![*a]))),
                    _ => {
                        let name = self.name("v");
                        let var = || Expr::Var(name.clone());
                        let low = [0.0, 0.125][self.random.below(2)];
                        let test = binary(
                            "and",
                            binary(["<=", "<"][self.random.below(2)], Expr::Float(low), var()),
                            binary("<=", var(), Expr::Float([1.0, 0.75][self.random.below(2)])),
                        );
                        let chosen = Expr::If(Box::new(test), Box::new(rest(var())), b);
                        Expr::Let(vec![(Pattern::Var(name), None, *a)], Box::new(chosen))
                    }
                }
            }
            0 => Expr::Binary("/", a, Box::new(Expr::Float([2.0, -0.5, 3.0][self.random.below(3)]))),
            1 => {
                let name = self.name("v");
                let var = Expr::Var(name.clone());
                let divided = Box::new(binary("/", *b, var.clone()));
                let test = Box::new(binary([">", "<", "!="][self.random.below(3)], var, Expr::Float(0.0)));
                let otherwise = Box::new(Expr::Float(1.5));
                Expr::Let(vec![(Pattern::Var(name), None, *a)], Box::new(Expr::If(test, divided, otherwise)))
            }
            2 => {
                // Neither zero comes to the second clause.
                self.note("patterns of floats");
                let name = self.name("v");
                let divided = binary("/", *b, Expr::Var(name.clone()));
                let zero = Pattern::Float([0.0, -0.0][self.random.below(2)]);
                let clause = |pattern: Pattern, body: Expr| Clause { pattern, guard: None, body };
                let of = Expr::As(a, Type::Float);
                let clauses = vec![clause(zero, Expr::Float(1.5)), clause(Pattern::Var(name), divided)];
                Expr::Match(Box::new(of), clauses)
            }
            _ => Expr::Binary(["+", "-", "*"][self.random.below(3)], a, b),
        }
    }

    fn bool(&mut self, depth: usize, scope: &Scope) -> Expr {
        let comparison = ["==", "!=", "<", "<=", ">", ">="][self.random.below(6)];
        match self.random.below(12) {
            11 if self.random.chance(10) => self.chain(&Type::Bool, scope),
            10 => {
                self.note("closures");
                let of = self.plain(0);
                let list = Type::List(Box::new(of.clone()));
                let list = Expr::As(self.boxed(&list, depth, scope), list);
                let test = self.function_literal(std::slice::from_ref(&of), &Type::Bool, depth - 1, scope);
                Expr::Native(["Std.List.any", "Std.List.all"][self.random.below(2)], vec![list, test])
            }
            0 | 1 => {
                self.note("and, or");
                let operator = ["and", "or"][self.random.below(2)];
                Expr::Binary(operator, self.boxed(&Type::Bool, depth, scope), self.boxed(&Type::Bool, depth, scope))
            }
            2 => Expr::Not(self.boxed(&Type::Bool, depth, scope)),
            3 => {
                // b != 0 and a / b > 1, b == 0 or a / b > 1
                self.note("and, or");
                self.note("division");
                let name = self.name("v");
                let value = self.expr(&Type::Int, depth - 1, scope);
                let var = Expr::Var(name.clone());
                let divided =
                    binary(["/", "%"][self.random.below(2)], *self.boxed(&Type::Int, depth, scope), var.clone());
                let compared = binary(comparison, divided, *self.boxed(&Type::Int, depth, scope));
                let (test, word) = [("!=", "and"), ("==", "or")][self.random.below(2)];
                let both = binary(word, binary(test, var, Expr::Int(0.into())), compared);
                Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(both))
            }
            4 => {
                self.note("Eq");
                let of = self.plain(1);
                let (a, b) = (self.boxed(&of, depth, scope), self.boxed(&of, depth, scope));
                Expr::Equal(Box::new(Expr::As(a, of)), b)
            }
            5 => {
                self.note("the library");
                let of = self.plain(0);
                let list = Type::List(Box::new(of.clone()));
                let list = Expr::As(self.boxed(&list, depth, scope), list);
                Expr::Native("Std.List.contains", vec![list, *self.boxed(&of, depth, scope)])
            }
            6 => {
                let of = self.plain(1);
                let a = Expr::As(self.boxed(&of, depth, scope), of.clone());
                binary(comparison, a, *self.boxed(&of, depth, scope))
            }
            _ => binary(comparison, *self.boxed(&Type::Int, depth, scope), *self.boxed(&Type::Int, depth, scope)),
        }
    }

    fn text(&mut self, depth: usize, scope: &Scope) -> Expr {
        match self.random.below(12) {
            11 if self.random.chance(10) => self.chain(&Type::Text, scope),
            7 => {
                self.note("conditions over texts");
                self.program.templates.insert("filled");
                let loud = |value: Expr| Expr::Native("shouted", vec![value]);
                let text = *self.boxed(&Type::Text, depth, scope);
                match self.random.below(4) {
                    0 => loud(Expr::Native("filled", vec![text])),
                    1 => loud(binary("<>", Expr::Text("a".to_owned()), text)),
                    2 => {
                        let name = self.name("v");
                        let empty = Clause {
                            pattern: Pattern::Text(String::new()),
                            guard: None,
                            body: *self.boxed(&Type::Text, depth, scope),
                        };
                        let rest = loud(Expr::Var(name.clone()));
                        let rest = Clause { pattern: Pattern::Var(name), guard: None, body: rest };
                        Expr::Match(Box::new(text), vec![empty, rest])
                    }
                    _ => {
                        let name = self.name("v");
                        let test = binary("!=", Expr::Var(name.clone()), Expr::Text(String::new()));
                        let otherwise = self.boxed(&Type::Text, depth, scope);
                        let chosen = Expr::If(Box::new(test), Box::new(loud(Expr::Var(name.clone()))), otherwise);
                        Expr::Let(vec![(Pattern::Var(name), None, text)], Box::new(chosen))
                    }
                }
            }
            10 => {
                self.note("the library");
                Expr::Native("Std.String.capitalize", vec![*self.boxed(&Type::Text, depth, scope)])
            }
            8 => {
                self.note("the library");
                let width = Expr::Int(self.random.below(9).into());
                let (text, filling) = (*self.boxed(&Type::Text, depth, scope), Expr::Text(self.word()));
                let name = ["Std.String.pad_left", "Std.String.pad_right"][self.random.below(2)];
                Expr::Native(name, vec![text, width, filling])
            }
            9 => {
                self.note("the library");
                Expr::Native("Std.Show.show_list", vec![*self.boxed(&Type::List(Box::new(Type::Int)), depth, scope)])
            }
            0 | 1 => Expr::Binary("<>", self.boxed(&Type::Text, depth, scope), self.boxed(&Type::Text, depth, scope)),
            2 => {
                self.note("Show");
                let of = self.showable_type(scope);
                let value = self.boxed(&of, depth, scope);
                Expr::Show(of.clone(), self.annotated(value, &of))
            }
            3 => {
                self.note("the library");
                Expr::Native("Std.String.reverse", vec![*self.boxed(&Type::Text, depth, scope)])
            }
            4 => {
                self.note("the library");
                let list = Type::List(Box::new(Type::Text));
                let parts = *self.boxed(&list, depth, scope);
                Expr::Native("Std.String.join", vec![parts, *self.boxed(&Type::Text, depth, scope)])
            }
            _ => {
                self.note("interpolation");
                let mut pieces = Vec::new();
                for _ in 0..1 + self.random.below(3) {
                    pieces.push(Piece::Text(self.word()));
                    let of = self.showable_type(scope);
                    let value = self.boxed(&of, depth, scope);
                    pieces.push(Piece::Value(of.clone(), *self.annotated(value, &of)));
                }
                Expr::Interpolation(pieces)
            }
        }
    }

    /// The value, annotated if it does not determine its type.
    fn annotated(&self, value: Box<Expr>, ty: &Type) -> Box<Expr> {
        match ty {
            Type::Param(_) | Type::Int | Type::Text | Type::Bool => value,
            _ => Box::new(Expr::As(value, ty.clone())),
        }
    }

    /// A type that can be shown.
    fn showable_type(&mut self, scope: &Scope) -> Type {
        if has_class(scope.wants, "Show") && self.random.chance(60) {
            return Type::Param("T");
        }
        match self.random.below(8) {
            0 => Type::Option(Box::new(self.plain(1))),
            1 => Type::Result(Box::new(self.plain(0)), Box::new(Type::Text)),
            2 => Type::Atom,
            3 => Type::Unit,
            4 => Type::Vector(Box::new(self.plain(0)), self.random.below(4)),
            5 => Type::Ordering,
            _ => self.plain(2),
        }
    }

    fn result(&mut self, of: &Type, error: &Type, depth: usize, scope: &Scope) -> Expr {
        match self.random.below(5) {
            0 if !is_exact(of) => {
                // A pipe over results: each step applies to the value in `Ok`.
                self.note("pipes over results");
                let from = self.ty(0);
                let start = Type::Result(Box::new(from.clone()), Box::new(error.clone()));
                let value = Expr::As(self.boxed(&start, depth, scope), start);
                let whole = Type::Result(Box::new(of.clone()), Box::new(error.clone()));
                let nested = matches!(of, Type::Result(..));
                let wraps = !nested && self.random.chance(50);
                let to = if wraps { of.clone() } else { whole };
                let name = self.name("v");
                let function = self.function_literal(std::slice::from_ref(&from), &to, depth - 1, scope);
                let written = Type::Fn(vec![from], Box::new(to));
                let step = Expr::Var(name.clone());
                let piped = Expr::Pipe(Box::new(value), Box::new(step), Some(wraps));
                Expr::Let(vec![(Pattern::Var(name), Some(written), function)], Box::new(piped))
            }
            1 => Expr::Construct("Error".to_owned(), vec![self.expr(error, depth - 1, scope)], true),
            2 if !is_exact(of) => {
                let from = self.ty(0);
                let result = Type::Result(Box::new(from.clone()), Box::new(error.clone()));
                let value = Expr::As(self.boxed(&result, depth, scope), result);
                let function = self.function_literal(&[from], of, depth - 1, scope);
                Expr::Native("Std.Core.map_ok", vec![value, function])
            }
            _ => Expr::Construct("Ok".to_owned(), vec![self.expr(of, depth - 1, scope)], true),
        }
    }

    fn named_value(&mut self, data: usize, args: &[Type], depth: usize, scope: &Scope) -> Expr {
        let of = Type::Named(data, args.to_vec());
        let known: Vec<String> = scope.vars.iter().filter(|(_, ty)| *ty == of).map(|(name, _)| name.clone()).collect();
        let fields = match &self.program.data[data].shape {
            Shape::Record(fields) if args.is_empty() => fields.clone(),
            _ => Vec::new(),
        };
        if !known.is_empty() && !fields.is_empty() && self.random.chance(60) {
            self.note("update of records");
            let base = Expr::Var(self.random.pick(&known).clone());
            let at = self.random.below(fields.len());
            let value = self.expr(&fields[at].1, depth - 1, scope);
            return Expr::Update(data, Box::new(base), vec![(at, value)]);
        }
        self.construct(data, args, depth - 1, scope)
    }
}
