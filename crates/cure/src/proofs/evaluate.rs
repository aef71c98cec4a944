//! What a program is worth, by walking its tree. Knows nothing of the compiler: this is what the compiler is held to.

use std::cmp::Ordering;
use std::rc::Rc;

use super::operators::{binary, float, ordering};
use super::tree::{Clause, Expr, Pattern, Piece, Program, Shape, Type};
use super::value::{Closure, Value};

/// Why a program is not used: it is too long, its numbers grow too large, a float leaves its range.
#[derive(Debug)]
pub(crate) struct Unusable;

pub(super) type Outcome = Result<Value, Unusable>;

/// Variables, innermost first, and what the type parameters are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    vars: Option<Rc<Bound>>,
    types: Rc<Vec<(&'static str, Type)>>,
}

#[derive(Debug)]
struct Bound {
    name: String,
    value: Value,
    next: Option<Rc<Bound>>,
}

impl Env {
    fn with(&self, name: &str, value: Value) -> Env {
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

    fn ty(&self, ty: &Type) -> Type {
        let each = |types: &[Type]| types.iter().map(|ty| self.ty(ty)).collect();
        match ty {
            Type::Param(name) => {
                let found = self.types.iter().find(|(known, _)| known == name);
                found.map_or_else(|| ty.clone(), |(_, ty)| ty.clone())
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

/// What `main` prints and returns.
pub(crate) fn evaluate(program: &Program) -> Result<(String, Value), Unusable> {
    let mut run = Evaluator { program, fuel: 20_000, depth: 0 };
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
    program: &'p Program,
    fuel: u32,
    depth: u32,
}

impl Evaluator<'_> {
    fn eval(&mut self, expr: &Expr, env: &Env) -> Outcome {
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
            Expr::FunctionValue(function) => Value::Function(Rc::new(Closure::Function(*function))),
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
            Expr::Pipe(left, function, on_result) => {
                let value = self.eval(left, env)?;
                if value.is("error") {
                    panic!("errors are tuples");
                }
                let value = match (*on_result, value.fields("error"), value.fields("ok")) {
                    (true, Some(_), _) => return Ok(value),
                    (true, _, Some(inner)) => inner[0].clone(),
                    _ => value,
                };
                let function = self.eval(function, env)?;
                let applied = self.apply(&function, vec![value])?;
                let is_result = applied.fields("ok").or(applied.fields("error")).is_some();
                if *on_result && !is_result { Value::construct("Ok", vec![applied]) } else { applied }
            }
            Expr::As(inner, _) => self.eval(inner, env)?,
            Expr::Raw(text) => panic!("`{text}` has no value"),
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

    /// What the pattern binds, if it matches. A name written twice means the same value.
    fn bind(&self, pattern: &Pattern, value: &Value, env: Env) -> Option<Env> {
        let mut bound: Vec<(String, Value)> = Vec::new();
        self.take(pattern, value, &mut bound)
            .then(|| bound.into_iter().fold(env, |env, (name, value)| env.with(&name, value)))
    }

    fn take(&self, pattern: &Pattern, value: &Value, bound: &mut Vec<(String, Value)>) -> bool {
        match (pattern, value) {
            (Pattern::Any, _) => true,
            (Pattern::Var(name), _) => match bound.iter().find(|(known, _)| known == name) {
                Some((_, known)) => known.order(value).is_eq(),
                None => {
                    bound.push((name.clone(), value.clone()));
                    true
                }
            },
            (Pattern::Int(wanted), Value::Int(value)) => wanted == value,
            (Pattern::Bool(wanted), _) => value.is(if *wanted { "true" } else { "false" }),
            (Pattern::Text(wanted), Value::Text(value)) => **wanted == **value,
            (Pattern::Atom(wanted), _) => value.is(wanted),
            (Pattern::List(heads, rest), Value::List(items)) => {
                let enough = if rest.is_some() { items.len() >= heads.len() } else { items.len() == heads.len() };
                enough
                    && heads.iter().zip(items.iter()).all(|(head, item)| self.take(head, item, bound))
                    && rest
                        .as_ref()
                        .is_none_or(|rest| self.take(rest, &Value::list(items[heads.len()..].to_vec()), bound))
            }
            (Pattern::Tuple(wanted), Value::Tuple(parts)) => {
                wanted.iter().zip(parts.iter()).all(|(pattern, part)| self.take(pattern, part, bound))
            }
            (Pattern::Construct(name, wanted, _), Value::Tuple(_)) => {
                let tag = Value::construct(name, Vec::new());
                let Value::Tuple(tag) = tag else { return false };
                let Value::Atom(tag) = &tag[0] else { return false };
                value
                    .fields(tag)
                    .is_some_and(|fields| wanted.iter().zip(fields).all(|(one, field)| self.take(one, field, bound)))
            }
            (Pattern::Record(_, wanted), Value::Tuple(parts)) => {
                wanted.iter().all(|(at, pattern)| self.take(pattern, &parts[at + 1], bound))
            }
            _ => false,
        }
    }

    fn call(&mut self, function: usize, types: Vec<Type>, args: Vec<Value>) -> Outcome {
        let program = self.program;
        let function = &program.functions[function];
        let types = function.type_params.iter().copied().zip(types).collect();
        let mut env = Env { vars: None, types: Rc::new(types) };
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
            Closure::Function(function) => self.call(*function, Vec::new(), args),
            Closure::Native(name, given) => self.native(name, given.iter().cloned().chain(args).collect()),
        }
    }

    fn method(&mut self, at: usize, ty: &Type, arg: Value) -> Outcome {
        let program = self.program;
        let class = program.class.as_ref().expect("there is a class");
        let heads = |of: &Type| match (of, ty) {
            (Type::List(_), Type::List(inner)) | (Type::Option(_), Type::Option(inner)) => Some((**inner).clone()),
            (of, ty) => (of == ty).then(|| ty.clone()),
        };
        let found = class.instances.iter().find_map(|one| Some((one, heads(&one.of)?)));
        let (instance, inner) = found.expect("there is an instance");
        let body = match (at, &instance.twice) {
            (0, _) => &instance.score,
            (_, Some(body)) => body,
            (_, None) => &class.default,
        };
        // The default speaks of the instance's type, the instance of what is in it.
        let own = if at == 1 && instance.twice.is_none() { ty.clone() } else { inner };
        let env = Env { vars: None, types: Rc::new(vec![("T", own)]) }.with("x", arg);
        self.eval(body, &env)
    }

    /// The text that the library's Show gives.
    fn show(&self, ty: &Type, value: &Value) -> String {
        let listed =
            |of: &Type, items: &[Value]| items.iter().map(|item| self.show(of, item)).collect::<Vec<_>>().join(", ");
        match (ty, value) {
            (Type::Int | Type::Refined(_), Value::Int(value)) => value.to_string(),
            (Type::Bool, Value::Atom(name)) => name.to_string(),
            (Type::Text, Value::Text(text)) => text.to_string(),
            (Type::Atom, Value::Atom(name)) => format!(":{name}"),
            (Type::Unit, _) => "()".to_owned(),
            (Type::List(of), Value::List(items)) => format!("[{}]", listed(of, items)),
            (Type::Vector(of, _), Value::List(items)) => format!("‹{}›", listed(of, items)),
            (Type::Ordering, Value::Tuple(parts)) => {
                if parts[0].is("lt") {
                    "Lt".to_owned()
                } else if parts[0].is("eq") {
                    "Eq".to_owned()
                } else {
                    "Gt".to_owned()
                }
            }
            (Type::Option(of), value) => match value.fields("some") {
                Some(inner) => format!("Some({})", self.show(of, &inner[0])),
                None => "None".to_owned(),
            },
            (Type::Result(of, error), value) => match (value.fields("ok"), value.fields("error")) {
                (Some(inner), _) => format!("Ok({})", self.show(of, &inner[0])),
                (_, Some(inner)) => format!("Error({})", self.show(error, &inner[0])),
                _ => panic!("{value:?} is no Result"),
            },
            (Type::Named(data, args), Value::Tuple(parts)) => {
                let data = &self.program.data[*data];
                let (_, fields) = self.shape(data, parts, args);
                let shown = |at: usize, ty: &Type| self.show(ty, &parts[at + 1]);
                match &data.shape {
                    Shape::Record(labels) => {
                        let fields = fields.iter().zip(labels).enumerate();
                        let fields: Vec<_> =
                            fields.map(|(at, (ty, (label, _)))| format!("{label}: {}", shown(at, ty))).collect();
                        format!("{}{{{}}}", data.name, fields.join(", "))
                    }
                    Shape::Sum(all) => {
                        let (at, _) = self.shape(data, parts, args);
                        let name = &all[at].0;
                        let fields: Vec<_> = fields.iter().enumerate().map(|(at, ty)| shown(at, ty)).collect();
                        if fields.is_empty() { name.clone() } else { format!("{name}({})", fields.join(", ")) }
                    }
                }
            }
            _ => panic!("{value:?} is not shown as {ty:?}"),
        }
    }

    /// Which constructor a value has, and the types of its fields.
    fn shape(&self, data: &super::tree::Data, parts: &[Value], args: &[Type]) -> (usize, Vec<Type>) {
        let types = data.params.iter().copied().zip(args.iter().cloned()).collect();
        let env = Env { vars: None, types: Rc::new(types) };
        match &data.shape {
            Shape::Record(fields) => (0, fields.iter().map(|(_, ty)| env.ty(ty)).collect()),
            Shape::Sum(all) => {
                let tag = |name: &str| {
                    let mut tag = name.to_owned();
                    tag[..1].make_ascii_lowercase();
                    parts[0].is(&tag)
                };
                let at = all.iter().position(|(name, _)| tag(name)).expect("the value has one of the constructors");
                (at, all[at].1.iter().map(|ty| env.ty(ty)).collect())
            }
        }
    }

    /// The order that the library's Ord gives, derived or not.
    fn compare(&self, ty: &Type, a: &Value, b: &Value) -> Ordering {
        match (ty, a, b) {
            (Type::List(of), Value::List(a), Value::List(b)) => {
                let orders = a.iter().zip(b.iter()).map(|(a, b)| self.compare(of, a, b));
                let first = orders.into_iter().find(|order| order.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Type::Named(data, args), Value::Tuple(x), Value::Tuple(y)) => {
                let data = &self.program.data[*data];
                let ((one, fields), (other, _)) = (self.shape(data, x, args), self.shape(data, y, args));
                let orders = fields.iter().enumerate().map(|(at, ty)| self.compare(ty, &x[at + 1], &y[at + 1]));
                if one != other {
                    return one.cmp(&other);
                }
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
            _ => a.order(b),
        }
    }
}
