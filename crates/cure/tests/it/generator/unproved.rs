//! Makes expressions that are invalid because a proof is missing, in place of a number.

use std::rc::Rc;

use super::make::{Maker, Scope, binary, lambda};
use super::tree::*;

pub(super) fn missing_clause(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let construct = |name: &str, fields: usize| {
        Pattern::Construct(name.to_owned(), (0..fields).map(|_| Pattern::Any).collect(), false)
    };
    let int = Box::new(Type::Int);
    let sums: Vec<usize> = (0..maker.program.data.len())
        .filter(|at| matches!(&maker.program.data[*at].shape, Shape::Sum(all) if all.len() > 1))
        .collect();
    let (of, mut patterns) = match maker.random.below(8) {
        0 => (Type::Bool, vec![Pattern::Bool(true), Pattern::Bool(false)]),
        1 => (Type::Option(int), vec![construct("Some", 1), construct("None", 0)]),
        2 => (Type::Result(int, Box::new(Type::Text)), vec![construct("Ok", 1), construct("Error", 1)]),
        3 => (Type::Ordering, vec![construct("Lt", 0), construct("Eq", 0), construct("Gt", 0)]),
        4 => {
            let cell = Pattern::List(vec![Pattern::Any], Some(Box::new(Pattern::Any)));
            (Type::List(int), vec![Pattern::List(Vec::new(), None), cell])
        }
        5 => (Type::Int, vec![Pattern::Int(0.into()), Pattern::Int(1.into()), Pattern::Int((-1).into())]),
        6 => {
            let pair = |a: bool, b: bool| Pattern::Tuple(vec![Pattern::Bool(a), Pattern::Bool(b)]);
            let all = vec![pair(true, true), pair(true, false), pair(false, true), pair(false, false)];
            (Type::Tuple(vec![Type::Bool, Type::Bool]), all)
        }
        _ if !sums.is_empty() => {
            let at = *maker.random.pick(&sums);
            let data = maker.program.data[at].clone();
            let Shape::Sum(all) = &data.shape else { return None };
            let patterns = all.iter().map(|(name, fields)| construct(name, fields.len())).collect();
            (Type::Named(at, data.params.iter().map(|_| Type::Int).collect()), patterns)
        }
        _ => (Type::Text, vec![Pattern::Text("a".to_owned()), Pattern::Text(String::new())]),
    };
    let gone = maker.random.below(patterns.len());
    patterns.remove(gone);
    maker.random.shuffle(&mut patterns);
    maker.unknown(&of, scope, |maker, z| {
        let clauses = patterns.into_iter().map(|pattern| {
            let body = maker.small(scope);
            Clause { pattern, guard: None, body }
        });
        Some(Expr::Match(Box::new(z), clauses.collect()))
    })
}

pub(super) fn open_guards(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let limit = maker.number();
    let pairs = [("<", ">"), ("<", "=="), (">", "=="), ("<=", "=="), ("!=", ">"), ("!=", "<")];
    let (one, other) = *maker.random.pick(&pairs);
    maker.unknown(&Type::Int, scope, |maker, z| {
        let clauses = [one, other].map(|operator| {
            let name = maker.name("v");
            let guard = binary(operator, Expr::Var(name.clone()), Expr::Int(limit.clone()));
            Clause { pattern: Pattern::Var(name), guard: Some(guard), body: maker.small(scope) }
        });
        Some(Expr::Match(Box::new(z), clauses.to_vec()))
    })
}

/// A number that violates the refinement.
fn unproved_expression(maker: &mut Maker, at: usize) -> Expr {
    let all: &[i64] = match REFINEMENTS[at].name {
        "Above" => &[0, -1, -1000],
        "NonZero" => &[0],
        "Small" => &[-1, 10, 99],
        "Nat" => &[-1, -2],
        "Far" => &[9, -9, 0],
        _ => &[1, -1, 27],
    };
    Expr::Int((*maker.random.pick(all)).into())
}

pub(super) fn literal_refinement(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let at = maker.random.below(REFINEMENTS.len());
    let number = unproved_expression(maker, at);
    let ty = Type::Refined(at);
    let name = maker.name("v");
    Some(match maker.random.below(4) {
        0 => Expr::As(Box::new(number), ty),
        1 => Expr::Let(vec![(Pattern::Var(name.clone()), Some(ty), number)], Box::new(Expr::Var(name))),
        2 => {
            let body = maker.small(scope);
            Expr::Apply(Box::new(Expr::Lambda(vec![(name, Some(ty))], Rc::new(body))), vec![number])
        }
        _ => {
            // Through a variable and a sum.
            let (a, b) = (maker.name("v"), maker.name("v"));
            let Expr::Int(value) = number else { return None };
            let bindings = vec![
                (Pattern::Var(a.clone()), None, Expr::Int(&value - 5)),
                (Pattern::Var(b.clone()), None, binary("+", Expr::Var(a), Expr::Int(5.into()))),
            ];
            Expr::Let(bindings, Box::new(Expr::As(Box::new(Expr::Var(b)), ty)))
        }
    })
}

pub(super) fn open_refinement(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let at = maker.random.below(REFINEMENTS.len());
    let ty = Type::Refined(at);
    let test = super::refinements::condition;
    match maker.random.below(5) {
        0 => maker.unknown(&Type::Int, scope, |_, z| Some(Expr::As(Box::new(z), ty))),
        1 => {
            // One more than the type promises.
            let step = if REFINEMENTS[at].name == "Small" || REFINEMENTS[at].name == "Even" { 1 } else { -1 };
            maker.unknown(&ty.clone(), scope, |_, z| {
                Some(Expr::As(Box::new(binary("+", z, Expr::Int(step.into()))), ty))
            })
        }
        2 => maker.unknown(&Type::Int, scope, |maker, z| {
            // The wrong branch of a test.
            let Expr::Var(name) = &z else { return None };
            let condition = test(at, name);
            let fine = maker.leaf(&ty, &Scope::default());
            Some(Expr::As(Box::new(Expr::If(Box::new(condition), Box::new(fine), Box::new(z.clone()))), ty.clone()))
        }),
        3 => maker.unknown(&Type::Int, scope, |maker, z| {
            // A test of another value.
            let Expr::Var(name) = &z else { return None };
            let condition = binary("or", test(at, name), Expr::Bool(true));
            let fine = maker.leaf(&ty, &Scope::default());
            Some(Expr::As(Box::new(Expr::If(Box::new(condition), Box::new(z.clone()), Box::new(fine))), ty.clone()))
        }),
        _ => {
            let Some(count) = (0..scope.functions).find(|at| {
                matches!(maker.program.functions[*at].params.first(), Some((_, Type::Refined(_))))
                    && maker.program.functions[*at].result == Type::Int
                    && maker.program.functions[*at].params.len() == 2
            }) else {
                return maker.unknown(&Type::Int, scope, |_, z| Some(Expr::As(Box::new(z), ty)));
            };
            let second = maker.program.functions[count].params[1].1.clone();
            maker.unknown(&Type::Int, scope, |maker, z| {
                let rest = maker.expr(&second, 1, scope);
                Some(Expr::Call(count, Vec::new(), vec![z, rest]))
            })
        }
    }
}

pub(super) fn natural(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let (name, of) =
        [("Succ", Type::Int), ("Pred", Type::Int), ("Pred", Type::Refined(NAT)), ("Pred", Type::Refined(SMALL))]
            [maker.random.below(4)]
        .clone();
    maker.unknown(&of, scope, |_, z| Some(Expr::Natural(name, vec![z])))
}

pub(super) fn inner_refinement(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let at = maker.random.below(REFINEMENTS.len());
    let ty = Type::Refined(at);
    let (good, bad) = (maker.leaf(&ty, &Scope::default()), unproved_expression(maker, at));
    let (value, of) = match maker.random.below(6) {
        0 => (Expr::List(vec![good, bad], None), Type::List(Box::new(ty))),
        1 => (Expr::Construct("Some".to_owned(), vec![bad], true), Type::Option(Box::new(ty))),
        2 => (Expr::Tuple(vec![good, bad]), Type::Tuple(vec![Type::Int, ty])),
        3 => (Expr::Construct("Ok".to_owned(), vec![bad], true), Type::Result(Box::new(ty), Box::new(Type::Text))),
        4 => (Expr::Vector(vec![bad, good]), Type::Vector(Box::new(ty), 2)),
        _ => {
            let name = maker.name("v");
            (Expr::Lambda(vec![(name, None)], Rc::new(bad)), Type::Fn(vec![Type::Unit], Box::new(ty)))
        }
    };
    let name = maker.name("v");
    Some(Expr::Let(vec![(Pattern::Var(name), Some(of), value)], Box::new(maker.small(scope))))
}

pub(super) fn division(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let word = ["/", "%"][maker.random.below(2)];
    let zero = || Expr::Int(0.into());
    let a = maker.small(scope);
    let of = [Type::Int, Type::Refined(NAT), Type::Refined(SMALL)][maker.random.below(3)].clone();
    let kind = maker.random.below(14);
    if kind >= 10 {
        // Type variables keep what all say that comes in, and no more.
        return maker.unknown(&Type::Refined(NAT), scope, |maker, z| {
            let list = |items: Vec<Expr>, of: usize| {
                Expr::As(Box::new(Expr::List(items, None)), Type::List(Box::new(Type::Refined(of))))
            };
            let two = || vec![Expr::Int(2.into()), Expr::Int(3.into())];
            let (above, x) = (Expr::As(Box::new(Expr::Int(7.into())), Type::Refined(ABOVE)), maker.name("v"));
            Some(match kind {
                10 => binary(word, a, Expr::Native("Std.List.head", vec![list(two(), ABOVE), z])),
                11 => {
                    let joined = Expr::Native("Std.List.cons", vec![z, list(two(), ABOVE)]);
                    binary(word, a, Expr::Native("Std.List.head", vec![joined, above]))
                }
                12 => {
                    let divides = Box::new(lambda(&x, binary(word, a, Expr::Var(x.clone()))));
                    Expr::Pipe(Box::new(z), divides, None)
                }
                _ => {
                    let body = binary(word, a, Expr::Var(x.clone()));
                    let mapped = Expr::Native("Std.List.map", vec![list(two(), NAT), lambda(&x, body)]);
                    Expr::Native("Std.List.head", vec![mapped, zero()])
                }
            })
        });
    }
    if kind >= 8 {
        // A field of which earlier clauses say something else.
        let option = Type::Option(Box::new(Type::Int));
        return maker.unknown(&option, scope, |maker, z| {
            let v = maker.name("v");
            let some = |inner: Pattern| Pattern::Construct("Some".to_owned(), vec![inner], true);
            let first = if kind == 8 { some(Pattern::Int(1.into())) } else { some(Pattern::Int(0.into())) };
            let guard = (kind == 9).then(|| Expr::Var("p".to_owned()));
            let clauses = vec![
                Clause { pattern: first, guard, body: zero() },
                Clause { pattern: some(Pattern::Var(v.clone())), guard: None, body: binary(word, a, Expr::Var(v)) },
                Clause { pattern: Pattern::Any, guard: None, body: zero() },
            ];
            Some(Expr::Match(Box::new(z), clauses))
        });
    }
    if kind == 7 {
        return maker.unknown(&Type::Float, scope, |maker, z| {
            let divided = binary("/", Expr::Float(1.0), z.clone());
            let guarded = match maker.random.below(4) {
                0 => {
                    let clause = |pattern: Pattern, body: Expr| Clause { pattern, guard: None, body };
                    let other = Pattern::Float([1.0, -2.5][maker.random.below(2)]);
                    let clauses = vec![clause(other, Expr::Float(1.0)), clause(Pattern::Any, divided)];
                    Expr::Match(Box::new(z), clauses)
                }
                at => {
                    let test = binary(["==", "<=", ">="][at - 1], z, Expr::Float(0.0));
                    Expr::If(Box::new(test), Box::new(divided), Box::new(Expr::Float(1.0)))
                }
            };
            Some(Expr::If(Box::new(binary(">", guarded, Expr::Float(0.5))), Box::new(a), Box::new(zero())))
        });
    }
    maker.unknown(&of, scope, |maker, z| {
        let divided = |by: Expr| binary(word, a.clone(), by);
        let choice = |test: Expr, one: Expr, other: Expr| Expr::If(Box::new(test), Box::new(one), Box::new(other));
        Some(match kind {
            0 => divided(zero()),
            1 => divided(z),
            2 => choice(binary("==", z.clone(), zero()), divided(z), zero()),
            3 => choice(binary(">=", z.clone(), zero()), divided(z), zero()),
            4 => choice(binary("or", binary("!=", z.clone(), zero()), binary(">", divided(z), zero())), zero(), zero()),
            5 => choice(binary("!=", z.clone(), zero()), divided(binary("-", z, Expr::Int(1.into()))), zero()),
            _ => {
                let one = Clause { pattern: Pattern::Int(1.into()), guard: None, body: zero() };
                let name = maker.name("v");
                let rest = divided(Expr::Var(name.clone()));
                Expr::Match(Box::new(z), vec![one, Clause { pattern: Pattern::Var(name), guard: None, body: rest }])
            }
        })
    })
}

pub(super) fn length(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    maker.program.templates.extend(["dot", "first_of", "plus_each"]);
    let size = maker.random.below(3);
    let vector = |length: usize| Type::Vector(Box::new(Type::Int), length);
    let (a, b) = (maker.leaf(&vector(size), &Scope::default()), maker.leaf(&vector(size + 1), &Scope::default()));
    Some(match maker.random.below(6) {
        0 => Expr::Native("dot", vec![a, b]),
        1 => Expr::Native("first_of", vec![Expr::Vector(Vec::new())]),
        2 => Expr::Native("dot", vec![Expr::Native("plus_each", vec![a.clone(), a]), b]),
        3 => {
            let name = maker.name("v");
            Expr::Let(vec![(Pattern::Var(name), Some(vector(size)), b)], Box::new(maker.small(scope)))
        }
        4 => {
            let longer = Expr::List(vec![Expr::Int(1.into())], Some(Box::new(b)));
            Expr::Native("dot", vec![Expr::As(Box::new(longer), vector(size + 1)), a])
        }
        _ => {
            return maker.unknown(&Type::Bool, scope, |_, z| {
                let chosen = Expr::If(Box::new(z), Box::new(a.clone()), Box::new(b));
                Some(Expr::Native("dot", vec![a, chosen]))
            });
        }
    })
}

pub(super) fn open_text(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    maker.program.templates.extend(["chance", "filled", "other_side"]);
    let choice = |test: Expr, one: Expr, other: Expr| Expr::If(Box::new(test), Box::new(one), Box::new(other));
    let (one, two) = (maker.small(scope), maker.small(scope));
    let kind = maker.random.below(4);
    match maker.random.below(3) {
        0 => maker.unknown(&Type::Float, scope, |_, z| {
            let rest = |value: Expr| Expr::Native("rest_of", vec![value]);
            let float = match kind {
                0 => rest(Expr::Float(1.0000000000000002)),
                1 => rest(z),
                2 => choice(binary("<=", z.clone(), Expr::Float(1.0)), rest(z.clone()), z),
                _ => choice(binary("<", Expr::Float(0.5), z.clone()), rest(z.clone()), z),
            };
            Some(choice(binary(">", float, Expr::Float(0.5)), one, two))
        }),
        1 => maker.unknown(&Type::Text, scope, |maker, z| {
            let loud = |value: Expr| Expr::Native("shouted", vec![value]);
            let text = match kind {
                0 => loud(Expr::Text(String::new())),
                1 => loud(z),
                2 => choice(binary("!=", z.clone(), Expr::Text("a".to_owned())), loud(z.clone()), z),
                _ => {
                    let name = maker.name("v");
                    let rest = loud(Expr::Var(name.clone()));
                    let first = Pattern::Text("a".to_owned());
                    let first = Clause { pattern: first, guard: None, body: z.clone() };
                    let rest = Clause { pattern: Pattern::Var(name), guard: None, body: rest };
                    Expr::Match(Box::new(z), vec![first, rest])
                }
            };
            Some(Expr::Native("Std.String.length", vec![text]))
        }),
        _ => maker.unknown(&Type::Atom, scope, |_, z| {
            let turned = |value: Expr| Expr::Native("other_side", vec![value]);
            let left = || Expr::Atom("left".to_owned());
            let atom = match kind {
                0 => turned(Expr::Atom("Left".to_owned())),
                1 => turned(z),
                2 => choice(binary("!=", z.clone(), left()), turned(z.clone()), z),
                _ => choice(binary("==", z.clone(), left()), z.clone(), turned(z)),
            };
            Some(choice(binary("==", atom, left()), one, two))
        }),
    }
}

/// Passes a value through a class method. The result is a number without known conditions.
pub(super) fn through_class(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    maker.program.class.as_ref()?;
    let giving: Vec<usize> = (0..scope.functions)
        .filter(|at| {
            let function = &maker.program.functions[*at];
            function.wants.is_some() && function.result == Type::Param("T") && function.params.len() == 1
        })
        .collect();
    let at = maker.random.below(REFINEMENTS.len());
    let ty = Type::Refined(at);
    maker.unknown(&ty.clone(), scope, |maker, z| {
        let stepped = if giving.is_empty() || maker.random.chance(50) {
            Expr::Method(STEP, Type::Int, vec![z.clone()])
        } else {
            Expr::Call(*maker.random.pick(&giving), vec![Type::Int], vec![z.clone()])
        };
        let (a, b) = (maker.name("v"), maker.name("v"));
        let var = |name: &str| Expr::Var(name.to_owned());
        let bound = |pattern: Pattern, ty: Option<Type>, value: Expr, body: Expr| {
            Expr::Let(vec![(pattern, ty, value)], Box::new(body))
        };
        Some(match maker.random.below(8) {
            0 => Expr::As(Box::new(stepped), ty),
            1 => bound(Pattern::Var(a.clone()), Some(ty), stepped, var(&a)),
            2 => {
                // A test that always holds would leave nothing to prove.
                return maker.unknown(&Type::Bool, scope, |_, test| {
                    Some(Expr::As(Box::new(Expr::If(Box::new(test), Box::new(z), Box::new(stepped))), ty))
                });
            }
            3 => {
                let list = Expr::List(vec![z, stepped], None);
                bound(Pattern::Var(a), Some(Type::List(Box::new(ty))), list, maker.small(scope))
            }
            4 => {
                let option = Expr::Construct("Some".to_owned(), vec![stepped], true);
                bound(Pattern::Var(a), Some(Type::Option(Box::new(ty))), option, maker.small(scope))
            }
            5 => {
                // A method as a function over the refined type.
                let of = Type::Fn(vec![ty.clone()], Box::new(ty));
                bound(Pattern::Var(a), Some(of), Expr::MethodValue(STEP, Type::Int), maker.small(scope))
            }
            6 => {
                let of = Type::Fn(vec![ty.clone()], Box::new(ty));
                let method = Expr::Method(STEP, Type::Int, vec![var(&b)]);
                bound(Pattern::Var(a), Some(of), Expr::Lambda(vec![(b, None)], Rc::new(method)), maker.small(scope))
            }
            _ => binary("/", maker.small(scope), stepped),
        })
    })
}

pub(super) fn condition(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let all = &maker.program.functions[..scope.functions];
    let at = all.iter().position(|one| one.condition && one.given.is_none())?;
    let a = maker.small(scope);
    match maker.random.below(3) {
        0 => Some(Expr::Call(at, Vec::new(), vec![a, Expr::Int(0.into())])),
        1 => maker.unknown(&Type::Int, scope, |_, z| Some(Expr::Call(at, Vec::new(), vec![a, z]))),
        _ => {
            // A function with a condition cannot be used as a value.
            let (f, of) = (maker.name("v"), Type::Fn(vec![Type::Int, Type::Int], Box::new(Type::Int)));
            let call = Expr::Apply(Box::new(Expr::Var(f.clone())), vec![a, Expr::Int(0.into())]);
            Some(Expr::Let(vec![(Pattern::Var(f), Some(of), Expr::FunctionValue(at))], Box::new(call)))
        }
    }
}

pub(super) fn refined_condition(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let all = &maker.program.functions[..scope.functions];
    let (at, given) = all.iter().enumerate().find_map(|(at, one)| Some((at, one.given?)))?;
    if maker.random.chance(50) {
        let wrong = unproved_expression(maker, given);
        return Some(Expr::Call(at, Vec::new(), vec![wrong]));
    }
    maker.unknown(&Type::Int, scope, |_, z| Some(Expr::Call(at, Vec::new(), vec![z])))
}

pub(super) fn open_let(maker: &mut Maker, scope: &Scope) -> Option<Expr> {
    let construct = |name: &str, inner: Pattern| Pattern::Construct(name.to_owned(), vec![inner], false);
    let int = Box::new(Type::Int);
    let all = [
        (Type::Option(int.clone()), construct("Some", Pattern::Any)),
        (Type::Tuple(vec![Type::Int, Type::Int]), Pattern::Tuple(vec![Pattern::Int(1.into()), Pattern::Any])),
        (Type::List(int.clone()), Pattern::List(vec![Pattern::Any], Some(Box::new(Pattern::Any)))),
        (Type::Int, Pattern::Int(3.into())),
        (Type::Result(int, Box::new(Type::Text)), construct("Error", Pattern::Any)),
    ];
    let (of, pattern) = maker.random.pick(&all).clone();
    maker.unknown(&of, scope, |maker, z| Some(Expr::Let(vec![(pattern, None, z)], Box::new(maker.small(scope)))))
}
