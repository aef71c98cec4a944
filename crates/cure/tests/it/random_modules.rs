//! Random modules in the core form: the interpreter and Erlang give the same, and Erlang's validator accepts the code.
//! They have what programs rarely have: many live variables, deeply nested blocks, choices that fail late, calls that
//! permute their arguments.

use std::sync::Arc;

use num_bigint::BigInt;
use testkit::Random;
use testkit::otp::{Job, Otp};

use cure::diagnostic::Span;
use cure::form::{Block, Call, End, Function, Literal, Module, Operand, Operation, Step, Test, Value, Var};
use cure::{Failure, Limits, Stop, Watched, beam, form, interpret};

/// The types that keep random programs from raising errors all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ty {
    Int,
    Bool,
    List,
    Pair,
    Fun,
}

const TYPES: [Ty; 5] = [Ty::Int, Ty::Int, Ty::List, Ty::Pair, Ty::Fun];

#[derive(Debug, Clone)]
struct Head {
    name: form::Function,
    params: Vec<Ty>,
    result: Ty,
}

struct Generator<'r> {
    random: &'r mut Random,
    /// The functions that may be called: those after this one.
    heads: Vec<Head>,
    /// The variables in scope, and those known to be list cells.
    scope: Vec<(Var, Ty)>,
    cells: Vec<Var>,
    variables: u32,
}

fn int(value: i64) -> Literal {
    Literal::Int(value.into())
}

impl Generator<'_> {
    fn fresh(&mut self) -> Var {
        self.variables += 1;
        Var(self.variables - 1)
    }

    fn literal(&mut self, ty: Ty) -> Literal {
        let number = [0, 1, -1, 7, 15, 16, 2047, 2048, -2049, 1 << 31, 1 << 40, (1 << 59) - 1, -(1 << 59), i64::MAX];
        match ty {
            Ty::Int if self.random.chance(5) => Literal::Int(BigInt::from(3).pow(60)),
            Ty::Int => int(number[self.random.below(number.len())]),
            Ty::Bool => Literal::atom(if self.random.chance(50) { "true" } else { "false" }),
            Ty::List => {
                let count = self.random.below(4);
                Literal::List((0..count).map(|_| self.literal(Ty::Int)).collect())
            }
            Ty::Pair => Literal::Tuple(vec![self.literal(Ty::Int), self.literal(Ty::Int)]),
            Ty::Fun => unreachable!("functions are no literals"),
        }
    }

    fn var(&mut self, ty: Ty) -> Option<Var> {
        let fit: Vec<Var> = self.scope.iter().filter(|(_, known)| *known == ty).map(|(var, _)| *var).collect();
        if fit.is_empty() { None } else { Some(fit[self.random.below(fit.len())]) }
    }

    fn operand(&mut self, ty: Ty) -> Option<Operand> {
        match self.var(ty) {
            Some(var) if ty == Ty::Fun || self.random.chance(80) => Some(Operand::Var(var)),
            _ if ty == Ty::Fun => None,
            _ => Some(Operand::Literal(self.literal(ty))),
        }
    }

    fn call(&mut self, wanted: Option<Ty>) -> Option<(Call, Ty)> {
        if self.random.chance(25) {
            let (module, name, param, result) = [
                ("erlang", "abs", Ty::Int, Ty::Int),
                ("lists", "sum", Ty::List, Ty::Int),
                ("lists", "reverse", Ty::List, Ty::List),
                ("erlang", "tuple_to_list", Ty::Pair, Ty::List),
            ][self.random.below(4)];
            if wanted.is_none_or(|wanted| wanted == result) {
                let args = vec![self.operand(param)?];
                return Some((Call::Remote { module: module.into(), function: name.into(), args }, result));
            }
        }
        if wanted.is_none_or(|wanted| wanted == Ty::Int)
            && self.random.chance(30)
            && let Some(function) = self.operand(Ty::Fun)
        {
            return Some((Call::Apply { function, args: vec![self.operand(Ty::Int)?] }, Ty::Int));
        }
        let fit: Vec<Head> =
            self.heads.iter().filter(|head| wanted.is_none_or(|wanted| head.result == wanted)).cloned().collect();
        if fit.is_empty() {
            return None;
        }
        let head = &fit[self.random.below(fit.len())];
        let args = head.params.iter().map(|ty| self.operand(*ty)).collect::<Option<_>>()?;
        Some((Call::Local { function: head.name.name.clone(), args }, head.result))
    }

    fn value(&mut self, depth: u32) -> Option<(Value, Ty)> {
        let two = |this: &mut Self, ty| Some(vec![this.operand(ty)?, this.operand(ty)?]);
        Some(match self.random.below(16) {
            0 | 1 => {
                let operation = [Operation::Add, Operation::Subtract, Operation::Add][self.random.below(3)];
                (Value::Operation(operation, two(self, Ty::Int)?), Ty::Int)
            }
            2 => (Value::Operation(Operation::Negate, vec![self.operand(Ty::Int)?]), Ty::Int),
            3 => (Value::Operation(Operation::Length, vec![self.operand(Ty::List)?]), Ty::Int),
            4 => (Value::Cons(self.operand(Ty::Int)?, self.operand(Ty::List)?), Ty::List),
            5 => {
                let operation = [Operation::Append, Operation::Without][self.random.below(2)];
                (Value::Operation(operation, two(self, Ty::List)?), Ty::List)
            }
            6 => (Value::Tuple(two(self, Ty::Int)?), Ty::Pair),
            7 => (Value::Element(self.operand(Ty::Pair)?, self.random.below(2) as u32), Ty::Int),
            8 => {
                let changes = (0..=self.random.below(2) as u32).map(|at| Some((at, self.operand(Ty::Int)?)));
                let changes = changes.collect::<Option<_>>()?;
                (Value::SetElements(self.operand(Ty::Pair)?, changes), Ty::Pair)
            }
            9 => {
                use Operation::{AtLeast, AtMost, Equal, Greater, Less, NotEqual};
                let operation = [Less, AtMost, Greater, AtLeast, Equal, NotEqual][self.random.below(6)];
                let ty = [Ty::Int, Ty::Int, Ty::List, Ty::Pair][self.random.below(4)];
                (Value::Operation(operation, two(self, ty)?), Ty::Bool)
            }
            10 => (Value::Operation(Operation::Not, vec![self.operand(Ty::Bool)?]), Ty::Bool),
            11 => {
                let whole = |head: &&Head| head.name.captured > 0 || head.params == [Ty::Int];
                let fit: Vec<Head> = self.heads.iter().filter(whole).cloned().collect();
                let head = fit.get(self.random.below(fit.len().max(1)))?;
                if head.result != Ty::Int {
                    return None;
                }
                let captured = (0..head.name.captured).map(|_| self.var(Ty::Int)).collect::<Option<_>>()?;
                (Value::Closure { function: head.name.name.clone(), arity: 1, captured }, Ty::Fun)
            }
            12 => (Value::External { module: "erlang".into(), function: "abs".into(), arity: 1 }, Ty::Fun),
            13 if !self.cells.is_empty() => {
                let cell = Operand::Var(self.cells[self.random.below(self.cells.len())]);
                if self.random.chance(50) { (Value::Head(cell), Ty::Int) } else { (Value::Tail(cell), Ty::List) }
            }
            14 if depth > 0 => {
                let ty = [Ty::Int, Ty::Bool, Ty::List, Ty::Pair][self.random.below(4)];
                (Value::Nested(Box::new(self.block(depth.min(2) - 1, ty, false, false))), ty)
            }
            _ => {
                let (call, ty) = self.call(None)?;
                (Value::Call(call), ty)
            }
        })
    }

    /// A block with a value of this type. `fails`: whether it may reach a `Fail`.
    fn block(&mut self, depth: u32, ty: Ty, tail: bool, fails: bool) -> Block {
        let outer = (self.scope.len(), self.cells.len());
        let mut steps = Vec::new();
        let count = if self.random.chance(3) { 40 } else { self.random.below(6) };
        for _ in 0..count {
            let Some((value, ty)) = self.value(depth) else { continue };
            let var = self.fresh();
            steps.push(Step { var, value, span: Span::default() });
            self.scope.push((var, ty));
        }
        let end = self.end(depth, ty, tail, fails);
        self.scope.truncate(outer.0);
        self.cells.truncate(outer.1);
        Block { steps, end }
    }

    fn boxed(&mut self, depth: u32, ty: Ty, tail: bool, fails: bool) -> Box<Block> {
        Box::new(self.block(depth, ty, tail, fails))
    }

    fn end(&mut self, depth: u32, ty: Ty, tail: bool, fails: bool) -> End {
        if fails && self.random.chance(25) {
            return End::Fail;
        }
        if depth == 0 || self.random.chance(20) {
            if self.random.chance(3) {
                let data = self.operand(Ty::Pair);
                return End::Raise { reason: "case_clause".into(), data, span: Span::default() };
            }
            if tail
                && self.random.chance(50)
                && let Some((call, _)) = self.call(Some(ty))
            {
                return End::Tail(call, Span::default());
            }
            return End::Return(self.operand(ty).unwrap_or_else(|| Operand::Literal(int(0))));
        }
        match self.random.below(4) {
            0 | 1 => {
                let int_or = |this: &mut Self| this.operand(Ty::Int).expect("there are literals");
                let (test, cell) = match self.random.below(5) {
                    0 => (Test::IsTrue(self.operand(Ty::Bool).expect("there are literals")), None),
                    1 => (Test::Equal(int_or(self), int_or(self)), None),
                    2 => (Test::IsNil(self.operand(Ty::List).expect("there are literals")), None),
                    3 => match self.operand(Ty::Pair).expect("there are literals") {
                        pair if self.random.chance(70) => (Test::IsTuple(pair, 2), None),
                        pair => (Test::IsTagged(pair, 2, "tag".into()), None),
                    },
                    _ => {
                        let list = self.operand(Ty::List).expect("there are literals");
                        let cell = if let Operand::Var(var) = list { Some(var) } else { None };
                        (Test::IsCons(list), cell)
                    }
                };
                self.cells.extend(cell);
                let then = self.boxed(depth - 1, ty, tail, fails);
                if cell.is_some() {
                    self.cells.pop();
                }
                End::If { test, then, otherwise: self.boxed(depth - 1, ty, tail, fails) }
            }
            2 => {
                let literals = [int(0), int(1), int(7), int(i64::MAX), Literal::atom("x"), Literal::string("x")];
                let on = self.operand(Ty::Int).expect("there are literals");
                let skip = self.random.below(literals.len());
                let cases = literals.into_iter().skip(skip);
                let cases = cases.map(|literal| (literal, self.block(depth - 1, ty, tail, fails))).collect();
                End::Switch { on, cases, otherwise: self.boxed(depth - 1, ty, tail, fails) }
            }
            _ => {
                let count = 1 + self.random.below(3);
                let mut blocks: Vec<Block> = (0..count).map(|_| self.block(depth - 1, ty, tail, true)).collect();
                blocks.push(self.block(depth - 1, ty, tail, fails));
                End::Choice(blocks)
            }
        }
    }
}

fn module(name: &str, seed: u64) -> Module {
    let mut random = Random::new(seed);
    let mut heads: Vec<Head> = Vec::new();
    for at in (0..7).rev() {
        let lifted = random.chance(40) && at > 0;
        let captured = if lifted { random.below(5) as u32 } else { 0 };
        let params: Vec<Ty> = match (at, lifted) {
            (0, _) => Vec::new(),
            (_, true) => vec![Ty::Int; 1 + captured as usize],
            _ => (0..random.below(6)).map(|_| TYPES[random.below(TYPES.len())]).collect(),
        };
        let result = if lifted { Ty::Int } else { [Ty::Int, Ty::List, Ty::Pair, Ty::Int][random.below(4)] };
        let arity = params.len() as u32;
        let scope = params.iter().enumerate().map(|(at, ty)| (Var(at as u32), *ty)).collect();
        let behind = heads.clone();
        let mut generator =
            Generator { random: &mut random, heads: behind, scope, cells: Vec::new(), variables: arity };
        let body = generator.block(3, result, true, false);
        let function = Function {
            name: if at == 0 { "main".into() } else { format!("f{at}").into() },
            arity,
            captured,
            variables: generator.variables,
            body,
            span: Span::default(),
        };
        heads.push(Head { name: function, params, result });
    }
    let functions = heads.into_iter().map(|head| head.name).collect();
    Module { name: name.into(), exports: vec![("main".into(), 0)], functions, machines: Vec::new() }
}

/// The interpreter's result, unless it reaches a limit.
fn interpreted(module: &Arc<Module>) -> Option<Result<String, String>> {
    let limits = Limits { steps: 100_000, memory: 4 << 20, ..Limits::default() };
    let forms = [module.clone()];
    match interpret(&forms, &module.name, "main", limits, Stop::default(), Watched::default()).result {
        Ok(value) => Some(Ok(value)),
        Err(Failure::Raised { reason, .. }) => Some(Err(reason)),
        Err(_) => None,
    }
}

#[test]
fn random_modules_do_the_same_on_erlang_long_run() {
    let Some(otp) = Otp::start() else { return };
    let modules = (1..=150).map(|seed| Arc::new(module(&format!("R{seed}"), seed)));
    let modules: Vec<_> = modules.filter_map(|module| Some((interpreted(&module)?, module))).collect();
    let files: Vec<_> = modules.iter().map(|(_, module)| beam::compile(module, None).unwrap()).collect();
    let texts: Vec<_> = modules.iter().map(|(_, module)| beam::assembly(module, None).unwrap().remove(0).1).collect();
    let texts: Vec<_> = texts.iter().map(|text| &**text).collect();
    let jobs = modules.iter().zip(&files);
    let jobs: Vec<_> = jobs
        .map(|((_, module), files)| Job { modules: files, module: &module.name, function: "main", input: "" })
        .collect();
    let mut faults = Vec::new();
    for (((wanted, module), valid), outcome) in modules.iter().zip(otp.validate(&texts)).zip(otp.run_all(&jobs)) {
        faults.extend(valid.err().map(|said| format!("{}: {said}", module.name)));
        if *wanted != outcome.result {
            faults.push(format!("{}: {wanted:?}, on Erlang {:?}", module.name, outcome.result));
        }
    }
    let first = faults.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} faults\n{first}", faults.len());
    let values = modules.iter().filter(|(wanted, _)| wanted.is_ok()).count();
    assert!(values > 80 && modules.len() > values, "{values} values of {}", modules.len());
}
