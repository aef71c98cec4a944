//! Evaluates a program by walking its tree. It is independent of the compiler, which is tested against the result.

use std::rc::Rc;

use num_bigint::BigInt;

use super::conversations::Machines;
use super::operators::{binary, float, int, ordering};
use super::tree::{Clause, Expr, Piece, Program, Type};
use super::value::{Closure, Value};

/// Why a program is not used: it runs too long, its numbers grow too large, or a float leaves its range.
#[derive(Debug)]
pub(crate) struct Unusable;

pub(super) type Outcome = Result<Value, Unusable>;

/// Variables, innermost first, and the values of the type parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    vars: Option<Rc<Bound>>,
    /// For a type constructor: the type of some value in it.
    types: Rc<Vec<(&'static str, Type)>>,
}

#[derive(Debug)]
struct Bound {
    name: String,
    value: Value,
    next: Option<Rc<Bound>>,
}

impl Env {
    /// No variables, and these types for the parameters.
    pub(super) fn with_types(types: Vec<(&'static str, Type)>) -> Env {
        Env { vars: None, types: Rc::new(types) }
    }

    pub(super) fn with(&self, name: &str, value: Value) -> Env {
        let bound = Bound { name: name.to_owned(), value, next: self.vars.clone() };
        Env { vars: Some(Rc::new(bound)), types: self.types.clone() }
    }

    fn get(&self, name: &str) -> Value {
        let mut at = self.vars.as_ref();
        while let Some(bound) = at {
            if bound.name == name {
                return bound.value.clone();
            }
            at = bound.next.as_ref();
        }
        panic!("the generator used `{name}`, which is not bound")
    }

    pub(super) fn ty(&self, ty: &Type) -> Type {
        let each = |types: &[Type]| types.iter().map(|ty| self.ty(ty)).collect();
        match ty {
            Type::Param(name) => {
                let found = self.types.iter().find(|(known, _)| known == name);
                found.map_or_else(|| ty.clone(), |(_, ty)| ty.clone())
            }
            Type::Applied(name, of) => {
                let container = self.types.iter().find(|(known, _)| known == name);
                with_inside(&container.expect("a type constructor is known").1, self.ty(of))
            }
            Type::List(of) => Type::List(Box::new(self.ty(of))),
            Type::Vector(of, length) => Type::Vector(Box::new(self.ty(of)), *length),
            Type::Option(of) => Type::Option(Box::new(self.ty(of))),
            Type::Result(of, error) => Type::Result(Box::new(self.ty(of)), Box::new(self.ty(error))),
            Type::Tuple(parts) => Type::Tuple(each(parts)),
            Type::Named(data, args) => Type::Named(*data, each(args)),
            Type::Fn(params, result) => Type::Fn(each(params), Box::new(self.ty(result))),
            other => other.clone(),
        }
    }
}

/// Returns the output and the result of `main`.
pub(crate) fn evaluate(program: &Program) -> Result<(String, Value), Unusable> {
    let mut run = Evaluator { program, fuel: 20_000, depth: 0, machines: Machines::default() };
    let mut output = String::new();
    for print in &program.prints {
        let Value::Text(line) = run.eval(print, &Env::default())? else { panic!("only text is printed") };
        output.push_str(&line);
        output.push('\n');
    }
    let parts = program.main.iter().map(|part| run.eval(part, &Env::default())).collect::<Result<_, _>>()?;
    Ok((output, Value::tuple(parts)))
}

pub(super) struct Evaluator<'p> {
    pub(super) program: &'p Program,
    fuel: u32,
    depth: u32,
    pub(super) machines: Machines,
}

/// A type that contains another one.
pub(super) fn with_inside(container: &Type, of: Type) -> Type {
    match container {
        Type::List(_) => Type::List(Box::new(of)),
        Type::Option(_) => Type::Option(Box::new(of)),
        Type::Named(data, _) => Type::Named(*data, vec![of]),
        other => panic!("{other:?} is no container"),
    }
}

impl Evaluator<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, env: &Env) -> Outcome {
        self.fuel = self.fuel.checked_sub(1).ok_or(Unusable)?;
        self.depth += 1;
        let value = if self.depth > 400 { Err(Unusable) } else { self.value(expr, env) };
        self.depth -= 1;
        value
    }

    fn all(&mut self, exprs: &[Expr], env: &Env) -> Result<Vec<Value>, Unusable> {
        exprs.iter().map(|expr| self.eval(expr, env)).collect()
    }

    fn value(&mut self, expr: &Expr, env: &Env) -> Outcome {
        Ok(match expr {
            Expr::Int(value) => Value::Int(value.clone()),
            Expr::Float(value) => Value::Float(*value),
            Expr::Bool(value) => Value::bool(*value),
            Expr::Text(text) => Value::text(text),
            Expr::Atom(name) => Value::atom(name),
            Expr::Unit => Value::atom("unit"),
            Expr::Var(name) => env.get(name),
            Expr::Binary("and", left, right) => match self.eval(left, env)? {
                left if left.is("false") => left,
                _ => self.eval(right, env)?,
            },
            Expr::Binary("or", left, right) => match self.eval(left, env)? {
                left if left.is("true") => left,
                _ => self.eval(right, env)?,
            },
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.eval(left, env)?, self.eval(right, env)?);
                binary(operator, &left, &right)?
            }
            Expr::Not(inner) => Value::bool(self.eval(inner, env)?.is("false")),
            Expr::Negate(inner) => match self.eval(inner, env)? {
                Value::Int(value) => Value::Int(-value),
                Value::Float(value) => float(-value)?,
                other => panic!("-{other:?}"),
            },
            Expr::If(test, then, otherwise) => {
                let holds = self.eval(test, env)?.is("true");
                self.eval(if holds { then } else { otherwise }, env)?
            }
            Expr::Let(bindings, body) => {
                let mut inner = env.clone();
                for (pattern, _, value) in bindings {
                    let value = self.eval(value, &inner)?;
                    inner = self.bind(pattern, &value, inner).expect("a pattern of `let` matches");
                }
                self.eval(body, &inner)?
            }
            Expr::Match(scrutinee, clauses) => {
                let value = self.eval(scrutinee, env)?;
                self.matched(&value, clauses, env)?
            }
            Expr::List(items, rest) => {
                let mut items = self.all(items, env)?;
                if let Some(rest) = rest {
                    let Value::List(rest) = self.eval(rest, env)? else { panic!("the rest of a list is one") };
                    items.extend(rest.iter().cloned());
                }
                Value::list(items)
            }
            Expr::Vector(items) => Value::list(self.all(items, env)?),
            Expr::Tuple(parts) => Value::tuple(self.all(parts, env)?),
            Expr::Construct(name, fields, _) => Value::construct(name, self.all(fields, env)?),
            Expr::Record(data, fields) => {
                let mut values = vec![Value::atom("missing"); fields.len()];
                for (at, field) in fields {
                    values[*at] = self.eval(field, env)?;
                }
                let tag = Value::atom(&self.program.data[*data].name);
                Value::tuple(std::iter::once(tag).chain(values).collect())
            }
            Expr::Update(_, base, fields) => {
                let Value::Tuple(parts) = self.eval(base, env)? else { panic!("a record is a tuple") };
                let mut parts = (*parts).clone();
                for (at, field) in fields {
                    parts[at + 1] = self.eval(field, env)?;
                }
                Value::tuple(parts)
            }
            Expr::Field(_, at, base) => {
                let Value::Tuple(parts) = self.eval(base, env)? else { panic!("a record is a tuple") };
                parts[at + 1].clone()
            }
            Expr::Call(function, types, args) => {
                let args = self.all(args, env)?;
                let types = types.iter().map(|ty| env.ty(ty)).collect();
                self.call(*function, types, args)?
            }
            Expr::Native(name, args) => {
                let args = self.all(args, env)?;
                self.native(name, args)?
            }
            Expr::Apply(function, args) => {
                let function = self.eval(function, env)?;
                let args = self.all(args, env)?;
                self.apply(&function, args)?
            }
            Expr::Lambda(params, body) => {
                let names = params.iter().map(|(name, _)| name.clone()).collect();
                Value::Function(Rc::new(Closure::Lambda(names, body.clone(), env.clone())))
            }
            Expr::Taking(params, body) => {
                let patterns = params.iter().map(|(pattern, _)| pattern.clone()).collect();
                Value::Function(Rc::new(Closure::Taking(patterns, body.clone(), env.clone())))
            }
            Expr::FunctionValue(function) => Value::Function(Rc::new(Closure::Function(*function))),
            Expr::ConstructorValue(name) => Value::Function(Rc::new(Closure::Constructor(name.clone()))),
            Expr::MethodValue(at, ty) => Value::Function(Rc::new(Closure::Method(*at, env.ty(ty)))),
            Expr::ShowValue(ty) => Value::Function(Rc::new(Closure::Show(env.ty(ty)))),
            Expr::Contained(name, ty, args) => {
                let args = self.all(args, env)?;
                self.contained(name, &env.ty(ty), args)?
            }
            Expr::Lift(at, ty, arg) => {
                let (arg, ty) = (self.eval(arg, env)?, env.ty(ty));
                let program = self.program;
                let containers = program.containers.as_ref().expect("there are functions over containers");
                let env = Env::with_types(vec![("F", ty)]).with("x", arg);
                self.eval(&containers.lifts[*at].3, &env)?
            }
            Expr::Natural(name, args) => match (*name, &self.all(args, env)?[..]) {
                ("Zero", []) => Value::Int(BigInt::ZERO),
                ("Succ", [Value::Int(n)]) => int(n + 1)?,
                ("Pred", [Value::Int(n)]) => Value::Int(n - 1),
                (name, args) => panic!("{name} of {args:?}"),
            },
            Expr::Machine(at, name, args) => {
                let args = self.all(args, env)?;
                self.machine(*at, name, args)?
            }
            Expr::Method(at, ty, args) => {
                let args = self.all(args, env)?;
                self.method(*at, &env.ty(ty), args[0].clone())?
            }
            Expr::Show(ty, inner) => {
                let value = self.eval(inner, env)?;
                Value::text(&self.show(&env.ty(ty), &value))
            }
            Expr::Equal(left, right) => {
                let (left, right) = (self.eval(left, env)?, self.eval(right, env)?);
                Value::bool(left.order(&right).is_eq())
            }
            Expr::Compare(ty, left, right) => {
                let (left, right) = (self.eval(left, env)?, self.eval(right, env)?);
                ordering(self.compare(&env.ty(ty), &left, &right))
            }
            Expr::Interpolation(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(part) => text.push_str(part),
                        Piece::Value(ty, inner) => {
                            let value = self.eval(inner, env)?;
                            text.push_str(&self.show(&env.ty(ty), &value));
                        }
                    }
                }
                Value::text(&text)
            }
            Expr::Pipe(left, function, wraps) => {
                let value = self.eval(left, env)?;
                let value = match (wraps, value.fields("error"), value.fields("ok")) {
                    (Some(_), Some(_), _) => return Ok(value),
                    (Some(_), _, Some(inner)) => inner[0].clone(),
                    _ => value,
                };
                let function = self.eval(function, env)?;
                let applied = self.apply(&function, vec![value])?;
                if *wraps == Some(true) { Value::construct("Ok", vec![applied]) } else { applied }
            }
            Expr::Piped(inner) | Expr::As(inner, _) => self.eval(inner, env)?,
            Expr::Raw(text) => panic!("`{text}` has no value"),
            Expr::Wrong(wrong) => panic!("{wrong:?} has no value"),
        })
    }

    fn matched(&mut self, value: &Value, clauses: &[Clause], env: &Env) -> Outcome {
        for clause in clauses {
            let Some(inner) = self.bind(&clause.pattern, value, env.clone()) else { continue };
            if let Some(guard) = &clause.guard
                && !self.eval(guard, &inner)?.is("true")
            {
                continue;
            }
            return self.eval(&clause.body, &inner);
        }
        panic!("the generator left out {value:?}")
    }

    fn call(&mut self, function: usize, types: Vec<Type>, args: Vec<Value>) -> Outcome {
        let program = self.program;
        let function = &program.functions[function];
        let mut env = Env::with_types(function.type_params.iter().copied().zip(types).collect());
        for ((name, _), arg) in function.params.iter().zip(args) {
            env = env.with(name, arg);
        }
        for (guard, body) in &function.clauses {
            let holds = match guard {
                None => true,
                Some(guard) => self.eval(guard, &env)?.is("true"),
            };
            if holds {
                return self.eval(body, &env);
            }
        }
        panic!("no clause of `{}` holds", function.name)
    }

    pub(super) fn apply(&mut self, function: &Value, args: Vec<Value>) -> Outcome {
        let Value::Function(closure) = function else { panic!("{function:?} is called") };
        match &**closure {
            Closure::Lambda(params, body, env) => {
                let env = params.iter().zip(args).fold(env.clone(), |env, (name, arg)| env.with(name, arg));
                self.eval(body, &env)
            }
            Closure::Taking(params, body, env) => {
                let all = params.iter().zip(&args);
                let env = all.fold(env.clone(), |env, (pattern, arg)| {
                    self.bind(pattern, arg, env).expect("a pattern of `fn` matches")
                });
                self.eval(body, &env)
            }
            Closure::Function(function) => self.call(*function, Vec::new(), args),
            Closure::Constructor(name) => Ok(Value::construct(name, args)),
            Closure::Method(at, ty) => self.method(*at, ty, args[0].clone()),
            Closure::Show(ty) => Ok(Value::text(&self.show(ty, &args[0]))),
            Closure::Native(name, given) => self.native(name, given.iter().cloned().chain(args).collect()),
        }
    }
}
