//! Makes functions: plain ones, with guarded clauses, recursive over lists and numbers, with preconditions, generic
//! over all types or over those of a class, and operators.

use super::make::{Maker, Scope, binary};
use super::refinements::condition;
use super::tree::*;

impl Maker {
    fn scope(&self, params: &[(String, Type)]) -> Scope {
        let vars = params.to_vec();
        Scope { vars, functions: self.program.functions.len(), wants: None, class: true }
    }

    fn push(&mut self, function: Function) {
        self.note("functions");
        self.program.functions.push(function);
    }

    fn params(&mut self, count: usize) -> Vec<(String, Type)> {
        (0..count)
            .map(|_| {
                if self.random.chance(15) {
                    self.note("functions as arguments");
                    let known = self.program.functions.iter().filter(|one| {
                        let simple = one.type_params.is_empty() && !one.condition && !one.params.is_empty();
                        simple && !one.params.iter().any(|(_, ty)| matches!(ty, Type::Fn(..)))
                    });
                    let mut types: Vec<Type> = known
                        .map(|one| {
                            let params = one.params.iter().map(|(_, ty)| ty.clone()).collect();
                            Type::Fn(params, Box::new(one.result.clone()))
                        })
                        .collect();
                    types.push(Type::Fn(vec![self.ty(0)], Box::new(self.ty(0))));
                    return (self.name("v"), self.random.pick(&types).clone());
                }
                let ty = self.ty(2);
                (self.name("v"), ty)
            })
            .collect()
    }

    pub(super) fn function(&mut self) {
        let count = self.random.below(4);
        let params = self.params(count);
        let result = if self.random.chance(10) {
            self.note("functions as results");
            Type::Fn(vec![self.ty(0)], Box::new(self.ty(1)))
        } else {
            self.ty(2)
        };
        let scope = self.scope(&params);
        let mut clauses = Vec::new();
        if self.random.chance(25) && scope.vars.iter().any(|(_, ty)| matches!(ty, Type::Int | Type::Refined(_))) {
            self.note("clauses with guards");
            for _ in 0..1 + self.random.below(2) {
                let guard = self.guard(&scope);
                clauses.push((Some(guard), self.expr(&result, 3, &scope)));
            }
        }
        clauses.push((None, self.expr(&result, 5, &scope)));
        let name = self.name("fun");
        let in_block = self.random.chance(30);
        self.push(Function { in_block, ..Function::new(name, params, result, clauses) });
    }

    /// Recurses over a list, with or without a tail call.
    pub(super) fn recursion_on_list(&mut self) {
        self.note("recursion");
        let (of, result) = (self.ty(1), self.ty(1));
        let tail_call = self.random.chance(50);
        let params = vec![("xs".to_owned(), Type::List(Box::new(of.clone()))), ("acc".to_owned(), result.clone())];
        let own = self.program.functions.len();
        let scope = self.scope(&params).with("h", &of);
        let var = |name: &str| Expr::Var(name.to_owned());
        let body = if tail_call {
            let next = self.expr(&result, 3, &scope);
            Expr::Call(own, Vec::new(), vec![var("t"), next])
        } else {
            let inner = scope.with("r", &result);
            let value = self.expr(&result, 3, &inner);
            let call = Expr::Call(own, Vec::new(), vec![var("t"), var("acc")]);
            Expr::Let(vec![(Pattern::Var("r".to_owned()), None, call)], Box::new(value))
        };
        let clauses = vec![
            Clause { pattern: Pattern::List(Vec::new(), None), guard: None, body: var("acc") },
            Clause {
                pattern: Pattern::List(
                    vec![Pattern::Var("h".to_owned())],
                    Some(Box::new(Pattern::Var("t".to_owned()))),
                ),
                guard: None,
                body,
            },
        ];
        let body = Expr::Match(Box::new(var("xs")), clauses);
        let name = self.name("rec");
        let function = Function::new(name, params, result, vec![(None, body)]);
        self.push(Function { recursive: true, ..function });
    }

    /// Recurses down to zero; the checker must prove that the argument keeps its type.
    pub(super) fn countdown(&mut self) {
        self.note("recursion");
        self.note("refinements");
        let result = self.ty(1);
        let params = vec![("n".to_owned(), Type::Refined(SMALL)), ("acc".to_owned(), result.clone())];
        let own = self.program.functions.len();
        let scope = self.scope(&params);
        let var = |name: &str| Expr::Var(name.to_owned());
        let next = self.expr(&result, 3, &scope);
        let less = binary("-", var("n"), Expr::Int(1.into()));
        let again = Expr::Call(own, Vec::new(), vec![less, next]);
        let zero = || Expr::Int(0.into());
        let clauses = match self.random.below(5) {
            3 | 4 if self.naturals => {
                self.note("recursion over Succ");
                let done = Pattern::Construct("Zero".to_owned(), Vec::new(), self.random.chance(20));
                let before = Pattern::Construct("Succ".to_owned(), vec![Pattern::Var("m".to_owned())], true);
                let Expr::Call(_, _, args) = again else { panic!("it calls itself") };
                let again = Expr::Call(own, Vec::new(), vec![var("m"), args[1].clone()]);
                let mut clauses = vec![
                    Clause { pattern: done, guard: None, body: var("acc") },
                    Clause { pattern: before, guard: None, body: again },
                ];
                self.random.shuffle(&mut clauses);
                vec![(None, Expr::Match(Box::new(var("n")), clauses))]
            }
            0 => vec![(Some(binary("<=", var("n"), zero())), var("acc")), (Some(binary(">", var("n"), zero())), again)],
            1 => {
                let test = binary("==", var("n"), zero());
                vec![(None, Expr::If(Box::new(test), Box::new(var("acc")), Box::new(again)))]
            }
            _ => {
                let done = Clause { pattern: Pattern::Int(0.into()), guard: None, body: var("acc") };
                let more = Clause { pattern: Pattern::Any, guard: None, body: again };
                vec![(None, Expr::Match(Box::new(var("n")), vec![done, more]))]
            }
        };
        let name = self.name("count");
        self.push(Function { recursive: true, ..Function::new(name, params, result, clauses) });
    }

    /// A single clause with a guard: callers prove it, and the body may rely on it.
    pub(super) fn condition(&mut self) {
        self.note("conditions that callers prove");
        let params = vec![("a".to_owned(), Type::Int), ("b".to_owned(), Type::Int)];
        let mut scope = self.scope(&params);
        let var = |name: &str| Expr::Var(name.to_owned());
        let divided = binary(["/", "%"][self.random.below(2)], var("a"), var("b"));
        scope.vars.push(("q".to_owned(), Type::Int));
        let rest = self.expr(&Type::Int, 3, &scope);
        let body = Expr::Let(vec![(Pattern::Var("q".to_owned()), None, divided)], Box::new(rest));
        let guard = binary("!=", var("b"), Expr::Int(0.into()));
        let name = self.name("given");
        let function = Function::new(name, params, Type::Int, vec![(Some(guard), body)]);
        self.push(Function { condition: true, ..function });
    }

    /// Like [`Maker::condition`], with the condition of a refinement.
    pub(super) fn refined_condition(&mut self) {
        self.note("conditions that callers prove");
        let at = self.random.below(REFINEMENTS.len());
        let guard = condition(at, "n");
        // Inside, the parameter has the refined type.
        let scope = self.scope(&[("n".to_owned(), Type::Refined(at))]);
        let body = self.expr(&Type::Int, 4, &scope);
        let (name, params) = (self.name("given"), vec![("n".to_owned(), Type::Int)]);
        let function = Function::new(name, params, Type::Int, vec![(Some(guard), body)]);
        self.push(Function { condition: true, given: Some(at), ..function });
    }

    /// Generic over all types, or over the types of a class.
    pub(super) fn generic(&mut self) {
        self.note("type parameters");
        let param = Type::Param("T");
        let mut params = vec![("x".to_owned(), param.clone())];
        if self.random.chance(50) {
            params.push(("y".to_owned(), param.clone()));
        }
        if self.random.chance(50) {
            let ty = if self.random.chance(50) { Type::List(Box::new(param.clone())) } else { Type::Int };
            params.push(("z".to_owned(), ty));
        }
        let wants = match self.random.below(4) {
            0 if self.program.class.is_some() => Some("Score"),
            3 if self.program.class.is_some() => {
                self.note("functions over two classes");
                Some(BOTH)
            }
            0 | 1 => Some("Show"),
            _ => None,
        };
        if wants.is_some() {
            self.note("functions over a class");
        }
        let result = match (wants, self.random.below(5)) {
            (Some(BOTH), at) => [Type::Int, Type::Text][at % 2].clone(),
            (Some("Score"), 0..3) => Type::Int,
            (Some("Score"), _) => param,
            (Some(_), _) => Type::Text,
            (None, 0) => Type::List(Box::new(param)),
            (None, 1) => Type::Tuple(vec![param.clone(), param]),
            (None, 2) => Type::Option(Box::new(param)),
            (None, _) => param,
        };
        let scope = Scope { wants, ..self.scope(&params) };
        let clauses = vec![(None, self.expr(&result, 4, &scope))];
        let name = self.name("gen");
        let type_params = vec!["T"];
        self.push(Function { type_params, wants, ..Function::new(name, params, result, clauses) });
    }

    /// A user-defined operator, on numbers.
    pub(super) fn operator(&mut self) {
        let name = ["<$", "<*", "$>", "*>", "<*>", ">>=", ">>"][self.random.below(7)];
        if self.program.functions.iter().any(|function| function.name == name) {
            return self.function();
        }
        self.note("operators of the program");
        let params = vec![("a".to_owned(), Type::Int), ("b".to_owned(), Type::Int)];
        let scope = self.scope(&params);
        let clauses = vec![(None, self.expr(&Type::Int, 3, &scope))];
        self.push(Function::new(name.to_owned(), params, Type::Int, clauses));
    }
}
