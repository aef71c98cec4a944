//! Makes ill-typed programs: a well-typed program with one expression, in a random place, that is invalid in any
//! context. Each kind is a function that makes such an expression in place of a number; invalid definitions are in
//! [`super::wrong`].

use std::rc::Rc;

use super::make::{Maker, Scope, binary, lambda};
use super::tree::*;
use super::unproved::*;

/// A kind of fault: its name and its maker, which returns `None` if the program lacks a precondition.
pub(crate) type Kind = (&'static str, fn(&mut Maker, &Scope) -> Option<Expr>);

/// Faults that matter only in reachable code, because a proof is missing.
pub(crate) const UNPROVED: &[Kind] = &[
    ("missing clause", missing_clause),
    ("guards that leave something out", open_guards),
    ("refinement violated by a number", literal_refinement),
    ("refinement not provable", open_refinement),
    ("refinement violated inside of a value", inner_refinement),
    ("division by what may be zero", division),
    ("wrong length", length),
    ("condition of a function not provable", condition),
    ("condition of a refinement not provable", refined_condition),
    ("pattern of let that may not match", open_let),
    ("Succ or Pred not provable", natural),
    ("class at a refined type", through_class),
    ("condition over a float or a text not provable", open_text),
];

/// Faults in any position.
pub(crate) const ANYWHERE: &[Kind] = &[
    ("argument of the wrong type", argument),
    ("wrong number of arguments", arity),
    ("unknown name", unknown),
    ("field of a record", field),
    ("wrong result", wrong_result),
    ("branches of different types", branches),
    ("elements of different types", elements),
    ("no instance", instance),
    ("called, but no function", not_a_function),
    ("constructor with wrong fields", constructor),
    ("operator on the wrong types", operator),
    ("test that is no truth value", test),
    ("pattern of another type", pattern),
    ("value of type Any used", any),
    ("unknown type", unknown_type),
    ("functions compared", functions_compared),
    ("guard that calls", calling_guard),
    ("message to what is no process", message),
];

impl Maker {
    fn raw(&mut self, text: &str) -> Expr {
        Expr::Raw(text.to_owned())
    }

    /// A value of an unrelated type.
    pub(super) fn other(&mut self, ty: &Type, scope: &Scope) -> Expr {
        let other = match ty {
            Type::Int | Type::Refined(_) => {
                [Type::Text, Type::Bool, Type::Float, Type::Unit][self.random.below(4)].clone()
            }
            Type::Text => [Type::Int, Type::Atom, Type::Bool][self.random.below(3)].clone(),
            _ => [Type::Int, Type::Text][self.random.below(2)].clone(),
        };
        // Not a variable of type Any and not an ambiguous choice: the type must be plain.
        let value = self.expr(&other, 2, scope);
        Expr::As(Box::new(value), other)
    }

    /// `(fn(z: Type) -> body end)(value)`: only the type of z is known.
    pub(super) fn unknown(
        &mut self,
        of: &Type,
        scope: &Scope,
        body: impl FnOnce(&mut Maker, Expr) -> Option<Expr>,
    ) -> Option<Expr> {
        let name = self.name("z");
        let body = body(self, Expr::Var(name.clone()))?;
        let value = self.leaf(of, &Scope { vars: Vec::new(), ..scope.clone() });
        Some(Expr::Apply(Box::new(Expr::Lambda(vec![(name, Some(of.clone()))], Rc::new(body))), vec![value]))
    }

    /// A function in whose body the expression is reachable in any context.
    pub(crate) fn reached(&mut self, kind: Kind) -> Option<Function> {
        let params = vec![
            ("p".to_owned(), Type::Bool),
            ("q".to_owned(), Type::Int),
            ("o".to_owned(), Type::Option(Box::new(Type::Int))),
        ];
        let functions = self.program.functions.len();
        let scope = Scope { vars: params.clone(), functions, wants: None, class: true };
        self.budget = 30;
        let mut body = kind.1(self, &scope)?;
        for _ in 0..self.random.below(5) {
            body = self.wrap(body, &scope);
        }
        let name = self.name("bad");
        let clauses = vec![(None, body)];
        let result = Type::Int;
        let (type_params, wants) = (Vec::new(), None);
        Some(Function { type_params, wants, ..Function::new(name, params, result, clauses) })
    }

    /// Wraps an expression in a context that leaves it reachable.
    fn wrap(&mut self, inner: Expr, scope: &Scope) -> Expr {
        let var = |name: &str| Expr::Var(name.to_owned());
        let name = self.name("v");
        match self.random.below(9) {
            0 => binary("+", self.small(scope), inner),
            1 => Expr::Native("Std.Math.abs", vec![inner]),
            2 => Expr::Let(
                vec![(Pattern::Var(name.clone()), None, inner)],
                Box::new(binary("*", var(&name), var(&name))),
            ),
            3 => Expr::Native("Std.Core.identity", vec![inner]),
            4 => Expr::Native("Std.List.length", vec![Expr::List(vec![self.small(scope), inner], None)]),
            5 => Expr::Apply(
                Box::new(Expr::Lambda(vec![(name, Some(Type::Int))], Rc::new(inner))),
                vec![self.small(scope)],
            ),
            6 => Expr::If(Box::new(var("p")), Box::new(self.small(scope)), Box::new(inner)),
            7 => {
                let one = Clause { pattern: Pattern::Int(5.into()), guard: None, body: self.small(scope) };
                let rest = Clause { pattern: Pattern::Any, guard: None, body: inner };
                Expr::Match(Box::new(var("q")), vec![one, rest])
            }
            _ => {
                let some = Pattern::Construct("Some".to_owned(), vec![Pattern::Var(name)], false);
                let none = Pattern::Construct("None".to_owned(), Vec::new(), false);
                let one = Clause { pattern: some, guard: None, body: inner };
                let rest = Clause { pattern: none, guard: None, body: self.small(scope) };
                Expr::Match(Box::new(var("o")), vec![one, rest])
            }
        }
    }

    pub(super) fn small(&mut self, scope: &Scope) -> Expr {
        self.expr(&Type::Int, 2, scope)
    }
}

fn argument(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let plain = |function: &Function| {
        function.type_params.is_empty() && function.result == Type::Int && !function.params.is_empty()
    };
    let all: Vec<usize> = (0..scope.functions).filter(|at| plain(&maker.program.functions[*at])).collect();
    if all.is_empty() {
        let value = maker.other(&Type::Int, scope);
        return Some(Expr::Native("Std.Math.abs", vec![value]));
    }
    let at = *maker.random.pick(&all);
    let types: Vec<Type> = maker.program.functions[at].params.iter().map(|(_, ty)| ty.clone()).collect();
    let wrong = maker.random.below(types.len());
    if types[wrong] == Type::Any {
        return None;
    }
    let args = types.iter().enumerate();
    let args = args.map(|(at, ty)| if at == wrong { maker.other(ty, scope) } else { maker.expr(ty, 1, scope) });
    let args = args.collect();
    Some(Expr::Call(at, Vec::new(), args))
}

fn arity(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let named = |function: &Function| {
        function.type_params.is_empty() && function.name.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    let all: Vec<usize> = (0..scope.functions).filter(|at| named(&maker.program.functions[*at])).collect();
    if all.is_empty() {
        let (one, two) = (maker.small(scope), maker.small(scope));
        return Some(Expr::Native("Std.Math.abs", vec![one, two]));
    }
    let at = *maker.random.pick(&all);
    let types: Vec<Type> = maker.program.functions[at].params.iter().map(|(_, ty)| ty.clone()).collect();
    let mut args: Vec<Expr> = types.iter().map(|ty| maker.expr(ty, 1, scope)).collect();
    if args.is_empty() || maker.random.chance(50) {
        args.push(maker.small(scope));
    } else {
        args.pop();
    }
    Some(Expr::Call(at, Vec::new(), args))
}

fn unknown(maker: &mut Maker, _: &Scope) -> Option<Expr> {
    let all = [
        "nowhere + 1",
        "nowhere(3)",
        "Nowhere(3)",
        "Std.Nowhere.f(3)",
        "Std.Math.nowhere(3)",
        "Std.Math.abs(nowhere)",
        "match 1 do Nowhere(x) -> x _ -> 1 end",
        "Nowhere{a: 1}.a",
    ];
    let text = *maker.random.pick(&all);
    Some(maker.raw(text))
}

fn field(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let records: Vec<usize> = (0..maker.program.data.len())
        .filter(
            |at| matches!(&maker.program.data[*at], Data { shape: Shape::Record(_), params, .. } if params.is_empty()),
        )
        .collect();
    if records.is_empty() {
        return None;
    }
    let at = *maker.random.pick(&records);
    let Shape::Record(fields) = maker.program.data[at].shape.clone() else { return None };
    let ty = Type::Named(at, Vec::new());
    let name = maker.program.data[at].name.clone();
    let v = maker.name("v");
    let value = maker.construct(at, &[], 1, scope);
    let bound =
        |body: Expr, value: Expr| Expr::Let(vec![(Pattern::Var(v.clone()), Some(ty.clone()), value)], Box::new(body));
    let count = Expr::Int(1.into());
    Some(match maker.random.below(5) {
        0 => bound(maker.raw(&format!("{v}.nowhere")), value),
        1 => bound(count, maker.raw(&format!("{name}{{nowhere: 1}}"))),
        2 if fields.len() > 1 => {
            let Expr::Record(_, mut given) = value else { return None };
            given.pop();
            bound(count, Expr::Record(at, given))
        }
        3 => {
            let Expr::Record(_, mut given) = value else { return None };
            let wrong = maker.random.below(given.len());
            // Nothing is invalid for Any.
            let ty = Some(fields[given[wrong].0].1.clone()).filter(|ty| *ty != Type::Any)?;
            given[wrong].1 = maker.other(&ty, scope);
            bound(count, Expr::Record(at, given))
        }
        _ => bound(maker.raw(&format!("match {name}{{{v} | nowhere: 1}} do _ -> 1 end")), value),
    })
}

fn wrong_result(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (f, z) = (maker.name("v"), maker.name("z"));
    let body = maker.other(&Type::Int, scope);
    let written = Type::Fn(vec![Type::Int], Box::new(Type::Int));
    let call = Expr::Apply(Box::new(Expr::Var(f.clone())), vec![maker.small(scope)]);
    Some(match maker.random.below(3) {
        0 => Expr::Let(vec![(Pattern::Var(f), Some(written), lambda(&z, body))], Box::new(call)),
        1 => Expr::As(Box::new(body), Type::Int),
        _ => Expr::Let(vec![(Pattern::Var(f), Some(Type::Int), body)], Box::new(maker.small(scope))),
    })
}

fn branches(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (one, other) = (maker.small(scope), maker.other(&Type::Int, scope));
    let test = maker.expr(&Type::Bool, 2, scope);
    Some(if maker.random.chance(50) {
        binary("+", Expr::If(Box::new(test), Box::new(one), Box::new(other)), Expr::Int(1.into()))
    } else {
        let clause = |value: bool, body: Expr| Clause { pattern: Pattern::Bool(value), guard: None, body };
        let chosen = Expr::Match(Box::new(test), vec![clause(false, one), clause(true, other)]);
        Expr::As(Box::new(chosen), Type::Int)
    })
}

fn elements(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (one, other) = (maker.small(scope), maker.other(&Type::Int, scope));
    let list = match maker.random.below(3) {
        0 => Expr::List(vec![one, other], None),
        1 => Expr::List(vec![one], Some(Box::new(Expr::List(vec![other], None)))),
        _ => binary("++", Expr::List(vec![one], None), Expr::List(vec![other], None)),
    };
    Some(Expr::Native("Std.List.length", vec![list]))
}

fn instance(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let text = match maker.random.below(6) {
        0 => Expr::Show(Type::Unit, Box::new(lambda("z", Expr::Int(1.into())))),
        1 => maker.raw("\"#{{1, fn(z: Int) -> z end}}\""),
        2 => maker.raw("\"#{[fn(z: Int) -> z end]}\""),
        3 if maker.program.class.is_some() && scope.class => return Some(maker.raw("score(1.5)")),
        4 => return Some(maker.raw("Std.Typeclasses.fmap(3, fn(z: Int) -> z end)")),
        _ => maker.raw("Std.Show.show(Some(fn(z: Int) -> z end))"),
    };
    Some(Expr::Native("Std.String.length", vec![text]))
}

fn not_a_function(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (name, value, arg) = (maker.name("v"), maker.small(scope), maker.small(scope));
    let call = Expr::Apply(Box::new(Expr::Var(name.clone())), vec![arg]);
    Some(Expr::Let(vec![(Pattern::Var(name), Some(Type::Int), value)], Box::new(call)))
}

fn constructor(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let body = Box::new(maker.small(scope));
    let name = maker.name("v");
    let of = |value: Expr, ty: Type| Some(Expr::Let(vec![(Pattern::Var(name), Some(ty), value)], body));
    let construct = |name: &str, fields: Vec<Expr>| Expr::Construct(name.to_owned(), fields, true);
    let int = Type::Option(Box::new(Type::Int));
    match maker.random.below(4) {
        0 => of(construct("Some", vec![Expr::Int(1.into()), Expr::Int(2.into())]), int),
        1 => of(construct("Some", vec![Expr::Text("x".to_owned())]), int),
        2 => of(construct("None", vec![Expr::Int(1.into())]), int),
        _ => {
            let sums = maker.program.data.iter().enumerate().filter_map(|(at, data)| match &data.shape {
                Shape::Sum(all) if data.params.is_empty() => Some((at, all[0].clone())),
                _ => None,
            });
            let (at, (name, fields)) = { sums }.next_back()?;
            let mut given: Vec<Expr> = fields.iter().map(|ty| maker.leaf(ty, &Scope::default())).collect();
            given.push(Expr::Unit);
            of(construct(&name, given), Type::Named(at, Vec::new()))
        }
    }
}

fn operator(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let int = maker.small(scope);
    let text = Expr::Text("x".to_owned());
    Some(match maker.random.below(8) {
        0 => binary("+", int, Expr::Float(2.0)),
        1 => binary("*", Expr::Bool(true), int),
        2 => Expr::Native("Std.String.length", vec![binary("<>", text, int)]),
        3 => Expr::If(Box::new(Expr::Not(Box::new(int))), Box::new(Expr::Int(1.into())), Box::new(Expr::Int(2.into()))),
        4 => Expr::If(
            Box::new(binary("and", Expr::Bool(true), int)),
            Box::new(Expr::Int(1.into())),
            Box::new(Expr::Int(2.into())),
        ),
        5 => Expr::Negate(Box::new(text)),
        6 => Expr::Native("Std.List.length", vec![binary("++", Expr::List(vec![Expr::Int(1.into())], None), int)]),
        _ => Expr::If(Box::new(binary("<", int, text)), Box::new(Expr::Int(1.into())), Box::new(Expr::Int(2.into()))),
    })
}

fn test(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (one, two) = (maker.small(scope), maker.small(scope));
    let test = [Type::Int, Type::Text, Type::Unit, Type::Atom][maker.random.below(4)].clone();
    let test = maker.expr(&test, 1, &Scope::default());
    Some(Expr::If(Box::new(test), Box::new(one), Box::new(two)))
}

fn pattern(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let all = [
        (Type::Int, Pattern::Text("x".to_owned())),
        (Type::Int, Pattern::List(Vec::new(), None)),
        (Type::Text, Pattern::Int(1.into())),
        (Type::Tuple(vec![Type::Int, Type::Int]), Pattern::Tuple(vec![Pattern::Any])),
        (Type::Option(Box::new(Type::Int)), Pattern::Construct("Ok".to_owned(), vec![Pattern::Any], false)),
        (
            Type::Option(Box::new(Type::Int)),
            Pattern::Construct("Some".to_owned(), vec![Pattern::Any, Pattern::Any], false),
        ),
        (Type::List(Box::new(Type::Int)), Pattern::List(vec![Pattern::Bool(true)], None)),
        (Type::Bool, Pattern::Tuple(vec![Pattern::Any, Pattern::Any])),
    ];
    let (of, pattern) = maker.random.pick(&all).clone();
    maker.unknown(&of, scope, |maker, z| {
        let first = Clause { pattern, guard: None, body: maker.small(scope) };
        let rest = Clause { pattern: Pattern::Any, guard: None, body: maker.small(scope) };
        Some(Expr::Match(Box::new(z), vec![first, rest]))
    })
}

fn any(maker: &mut Maker, _: &Scope) -> Option<Expr> {
    let text = [
        "(fn(z: Any) -> z + 1 end)(3)",
        "(fn(z: Any) -> Std.Math.abs(z) end)(3)",
        "(fn(z: Any) -> z as Int end)(3)",
        "(fn(z: Any) -> match z do [n | _] -> n + 1 _ -> 1 end end)([3])",
        "(fn(z: List(Any)) -> Std.Math.abs(Std.List.head(z, 1)) end)([3])",
    ];
    let text = *maker.random.pick(&text);
    Some(maker.raw(text))
}

fn message(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (value, target) = (maker.small(scope), maker.small(scope));
    let name = maker.name("v");
    let sent = binary("|->", value, target);
    Some(Expr::Let(vec![(Pattern::Var(name), None, sent)], Box::new(maker.small(scope))))
}

fn unknown_type(maker: &mut Maker, _: &Scope) -> Option<Expr> {
    let text = ["3 as Nowhere", "(fn(z: Nowhere) -> 3 end)(3)", "let v: List(Nowhere) = [] in 3"];
    let text = *maker.random.pick(&text);
    Some(maker.raw(text))
}

fn functions_compared(maker: &mut Maker, _: &Scope) -> Option<Expr> {
    let f = lambda("z", Expr::Int(1.into()));
    let of = Type::Fn(vec![Type::Int], Box::new(Type::Int));
    let (a, b) = (maker.name("v"), maker.name("v"));
    let bindings = vec![(Pattern::Var(a.clone()), Some(of.clone()), f.clone()), (Pattern::Var(b.clone()), Some(of), f)];
    let test = binary("==", Expr::Var(a), Expr::Var(b));
    let chosen = Expr::If(Box::new(test), Box::new(Expr::Int(1.into())), Box::new(Expr::Int(2.into())));
    Some(Expr::Let(bindings, Box::new(chosen)))
}

fn calling_guard(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    maker.unknown(&Type::Int, scope, |maker, z| {
        let name = maker.name("v");
        let call = Expr::Native("Std.Math.abs", vec![Expr::Var(name.clone())]);
        let guard = Some(binary(">", call, Expr::Int(1.into())));
        let first = Clause { pattern: Pattern::Var(name), guard, body: maker.small(scope) };
        let rest = Clause { pattern: Pattern::Any, guard: None, body: maker.small(scope) };
        Some(Expr::Match(Box::new(z), vec![first, rest]))
    })
}
