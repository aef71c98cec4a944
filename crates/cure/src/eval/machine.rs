//! The interpreter: runs functions of the core form with an explicit stack, so that deep recursion and endless loops
//! are a matter of limits, not of the host's stack.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::Zero;

use super::value::{Callable, Cell, Value, compare, same, show};
use crate::lower::form::{self, Block, Call, End, Function, Module, Operand, Operation, Test};
use crate::syntax::ast::Name;

/// Limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many steps may be done.
    pub steps: u64,
    /// How many calls may wait for another one.
    pub depth: usize,
    /// How many bytes may be printed.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 100_000_000, depth: 1_000_000, output: 1 << 20 }
    }
}

/// Why a run ended without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// An error of the program.
    #[error("the program raised {reason}{}", .place.as_ref().map(|place| format!(" in {place}")).unwrap_or_default())]
    Raised {
        /// The reason, as Erlang writes it.
        reason: String,
        /// The function it was in.
        place: Option<String>,
    },
    /// A limit was reached.
    #[error("the run was ended: more than {limit} {what}; raise the limit if it should go on")]
    Limit {
        /// What there was too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A function that is not there.
    #[error(
        "{module}:{function}/{arity} is not there: it is no function of the program and not among the functions of Erlang that the interpreter has"
    )]
    Undefined {
        /// The module.
        module: String,
        /// The function.
        function: String,
        /// Its number of parameters.
        arity: usize,
    },
}

/// A program ready to run.
pub(crate) struct Machine<'p> {
    functions: HashMap<(&'p str, &'p str, u32), &'p Function>,
    module_names: HashMap<*const Function, &'p Name>,
    pub(super) machines: HashMap<&'p str, Vec<(&'p Name, &'p form::Machine)>>,
    limits: Limits,
    steps: u64,
    /// What was printed.
    pub output: String,
    /// Milliseconds since the start, on the clock that only sleeping moves.
    pub clock: u64,
    pub(super) fsm: super::fsm::Machines,
}

struct Frame<'p> {
    function: &'p Function,
    vars: Vec<Value>,
    levels: Vec<Level<'p>>,
    /// Where the value of the call that this frame waits for goes.
    waits: form::Var,
}

/// A block that runs, inside of others of the same function.
struct Level<'p> {
    block: &'p Block,
    at: usize,
    choices: Vec<(&'p [Block], usize)>,
    /// Where its value goes in the level below.
    into: form::Var,
}

enum Called<'p> {
    Function(&'p Function, Vec<Value>),
    Value(Value),
}

impl<'p> Machine<'p> {
    pub(crate) fn new(modules: &'p [Arc<Module>], limits: Limits) -> Machine<'p> {
        let mut functions = HashMap::new();
        let mut module_names = HashMap::new();
        let mut machines: HashMap<&str, Vec<_>> = HashMap::new();
        for module in modules {
            for function in &module.functions {
                functions.insert((&*module.name, &*function.name, function.arity), function);
                module_names.insert(std::ptr::from_ref(function), &module.name);
            }
            for machine in &module.machines {
                machines.entry(&*machine.name).or_default().push((&module.name, machine));
            }
        }
        Machine {
            functions,
            module_names,
            machines,
            limits,
            steps: 0,
            output: String::new(),
            clock: 0,
            fsm: super::fsm::Machines::default(),
        }
    }

    /// How many steps were done.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Calls a function and runs it to its end.
    pub(crate) fn call(&mut self, module: &str, function: &str, args: Vec<Value>) -> Result<Value, Failure> {
        match self.resolve(module, function, args)? {
            Called::Value(value) => Ok(value),
            Called::Function(function, args) => self.run(function, args),
        }
    }

    fn resolve(&mut self, module: &str, function: &str, args: Vec<Value>) -> Result<Called<'p>, Failure> {
        if let Some(found) = self.functions.get(&(module, function, args.len() as u32)) {
            return Ok(Called::Function(found, args));
        }
        self.erlang(module, function, &args).map(Called::Value)
    }

    pub(super) fn undefined(&self, module: &str, function: &str, arity: usize) -> Failure {
        Failure::Undefined { module: module.to_owned(), function: function.to_owned(), arity }
    }

    pub(super) fn raise(&self, reason: &str) -> Failure {
        Failure::Raised { reason: reason.to_owned(), place: None }
    }

    /// Prints, within the limit.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.len() + text.len() > self.limits.output {
            return Err(Failure::Limit { what: "bytes of output", limit: self.limits.output as u64 });
        }
        self.output.push_str(text);
        Ok(())
    }

    fn frame(function: &'p Function, args: Vec<Value>) -> Frame<'p> {
        let mut vars = args;
        vars.resize(function.variables.max(function.arity) as usize, Value::Nil);
        let level = Level { block: &function.body, at: 0, choices: Vec::new(), into: form::Var(0) };
        Frame { function, vars, levels: vec![level], waits: form::Var(0) }
    }

    fn run(&mut self, function: &'p Function, args: Vec<Value>) -> Result<Value, Failure> {
        let mut frames = vec![Self::frame(function, args)];
        loop {
            self.steps += 1;
            if self.steps > self.limits.steps {
                return Err(Failure::Limit { what: "steps", limit: self.limits.steps });
            }
            let frame = frames.last_mut().expect("a frame runs");
            let function = frame.function;
            match self.step(frame) {
                Ok(Next::Go) => {}
                Ok(Next::Push(function, args)) => {
                    if frames.len() >= self.limits.depth {
                        return Err(Failure::Limit { what: "calls inside of calls", limit: self.limits.depth as u64 });
                    }
                    frames.push(Self::frame(function, args));
                }
                Ok(Next::Replace(function, args)) => {
                    *frame = Frame { waits: frame.waits, ..Self::frame(function, args) }
                }
                Ok(Next::Return(value)) => {
                    frames.pop();
                    match frames.last_mut() {
                        None => return Ok(value),
                        Some(frame) => {
                            let at = frame.waits.0 as usize;
                            frame.vars[at] = value;
                        }
                    }
                }
                Err(Failure::Raised { reason, place: None }) => {
                    let module = self.module_names.get(&std::ptr::from_ref(function)).map_or("", |name| name);
                    let name = function.name.split('$').next().unwrap_or("");
                    return Err(Failure::Raised { reason, place: Some(format!("{module}.{name}")) });
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn step(&mut self, frame: &mut Frame<'p>) -> Result<Next<'p>, Failure> {
        let level = frame.levels.last_mut().expect("a block runs");
        if let Some(step) = level.block.steps.get(level.at) {
            level.at += 1;
            let value = match &step.value {
                form::Value::Call(call) => match self.called(call, frame)? {
                    Called::Value(value) => value,
                    Called::Function(function, args) => {
                        frame.waits = step.var;
                        return Ok(Next::Push(function, args));
                    }
                },
                form::Value::Nested(block) => {
                    frame.levels.push(Level { block, at: 0, choices: Vec::new(), into: step.var });
                    return Ok(Next::Go);
                }
                value => self.value(value, frame)?,
            };
            frame.vars[step.var.0 as usize] = value;
            return Ok(Next::Go);
        }
        match &level.block.end {
            End::Return(operand) => {
                let into = level.into;
                let value = operand_value(operand, frame);
                frame.levels.pop();
                if frame.levels.is_empty() {
                    return Ok(Next::Return(value));
                }
                frame.vars[into.0 as usize] = value;
            }
            End::Tail(call, _) => {
                return Ok(match self.called(call, frame)? {
                    Called::Value(value) => Next::Return(value),
                    Called::Function(function, args) => Next::Replace(function, args),
                });
            }
            End::If { test, then, otherwise } => {
                let holds = holds(test, frame);
                goto(frame, if holds { then } else { otherwise });
            }
            End::Switch { on, cases, otherwise } => {
                let on = operand_value(on, frame);
                let found = cases.iter().find(|(literal, _)| same(&Value::from(literal), &on));
                goto(frame, found.map_or(otherwise, |(_, block)| block));
            }
            End::Choice(blocks) => {
                level.choices.push((blocks, 1));
                level.block = &blocks[0];
                level.at = 0;
            }
            End::Fail => {
                let Some((blocks, next)) = level.choices.pop() else { return Err(self.raise("no_clause")) };
                if next + 1 < blocks.len() {
                    level.choices.push((blocks, next + 1));
                }
                level.block = &blocks[next];
                level.at = 0;
            }
            End::Raise { reason, data, .. } => {
                let reason = match data {
                    None => reason.to_string(),
                    Some(data) => {
                        let data = operand_value(data, frame);
                        show(&Value::tuple(vec![Value::Atom(reason.clone()), data]), 1000)
                    }
                };
                return Err(self.raise(&reason));
            }
        }
        Ok(Next::Go)
    }

    fn called(&mut self, call: &'p Call, frame: &Frame<'p>) -> Result<Called<'p>, Failure> {
        let values = |args: &'p [Operand]| args.iter().map(|arg| operand_value(arg, frame)).collect::<Vec<_>>();
        match call {
            Call::Local { function, args } => {
                let module = self.module_of(frame.function);
                self.resolve(module, function, values(args))
            }
            Call::Remote { module, function, args } => self.resolve(module, function, values(args)),
            Call::Apply { function, args } => {
                let function = operand_value(function, frame);
                self.applied(&function, values(args))
            }
        }
    }

    fn module_of(&self, function: &'p Function) -> &'p str {
        self.module_names.get(&std::ptr::from_ref(function)).map_or("", |name| name)
    }

    fn applied(&mut self, function: &Value, mut args: Vec<Value>) -> Result<Called<'p>, Failure> {
        let Value::Function(callable) = function else { return Err(self.raise("badfun")) };
        if callable.arity as usize != args.len() {
            return Err(self.raise("badarity"));
        }
        args.extend(callable.captured.iter().cloned());
        self.resolve(&callable.module, &callable.function, args)
    }

    /// Calls a function value and runs it to its end; for functions of Erlang that call back.
    pub(super) fn apply(&mut self, function: &Value, args: Vec<Value>) -> Result<Value, Failure> {
        match self.applied(function, args)? {
            Called::Value(value) => Ok(value),
            Called::Function(function, args) => self.run(function, args),
        }
    }

    fn value(&self, value: &'p form::Value, frame: &Frame<'p>) -> Result<Value, Failure> {
        let get = |operand: &Operand| operand_value(operand, frame);
        Ok(match value {
            form::Value::Closure { function, arity, captured } => Value::Function(Rc::new(Callable {
                module: Name::from(self.module_of(frame.function)),
                function: function.clone(),
                arity: *arity,
                captured: captured.iter().map(|var| frame.vars[var.0 as usize].clone()).collect(),
            })),
            form::Value::External { module, function, arity } => Value::Function(Rc::new(Callable {
                module: module.clone(),
                function: function.clone(),
                arity: *arity,
                captured: Vec::new(),
            })),
            form::Value::Tuple(parts) => Value::tuple(parts.iter().map(get).collect()),
            form::Value::Cons(head, tail) => Value::Cons(Rc::new(Cell { head: get(head), tail: get(tail) })),
            form::Value::Element(of, at) => match get(of) {
                Value::Tuple(parts) => parts.get(*at as usize).cloned().ok_or_else(|| self.raise("badarg"))?,
                _ => return Err(self.raise("badarg")),
            },
            form::Value::SetElements(of, changes) => match get(of) {
                Value::Tuple(parts) => {
                    let mut parts = parts.to_vec();
                    for (at, value) in changes {
                        if let Some(part) = parts.get_mut(*at as usize) {
                            *part = get(value);
                        }
                    }
                    Value::tuple(parts)
                }
                _ => return Err(self.raise("badarg")),
            },
            form::Value::Head(of) => match get(of) {
                Value::Cons(cell) => cell.head.clone(),
                _ => return Err(self.raise("badarg")),
            },
            form::Value::Tail(of) => match get(of) {
                Value::Cons(cell) => cell.tail.clone(),
                _ => return Err(self.raise("badarg")),
            },
            form::Value::Operation(operation, args) => {
                let args: Vec<_> = args.iter().map(get).collect();
                operate(*operation, &args).ok_or_else(|| {
                    let arithmetic =
                        matches!(operation, Operation::Quotient | Operation::Remainder | Operation::Divide);
                    self.raise(if arithmetic { "badarith" } else { "badarg" })
                })?
            }
            form::Value::Call(_) | form::Value::Nested(_) => return Err(self.raise("badarg")),
        })
    }
}

enum Next<'p> {
    Go,
    Push(&'p Function, Vec<Value>),
    Replace(&'p Function, Vec<Value>),
    Return(Value),
}

fn goto<'p>(frame: &mut Frame<'p>, block: &'p Block) {
    let level = frame.levels.last_mut().expect("a block runs");
    level.block = block;
    level.at = 0;
}

fn operand_value(operand: &Operand, frame: &Frame<'_>) -> Value {
    match operand {
        Operand::Var(var) => frame.vars[var.0 as usize].clone(),
        Operand::Literal(literal) => Value::from(literal),
    }
}

fn holds(test: &Test, frame: &Frame<'_>) -> bool {
    let get = |operand: &Operand| operand_value(operand, frame);
    match test {
        Test::IsTrue(operand) => get(operand).is_atom("true"),
        Test::Equal(a, b) => same(&get(a), &get(b)),
        Test::IsTuple(operand, size) => matches!(get(operand), Value::Tuple(parts) if parts.len() == *size as usize),
        Test::IsTagged(operand, size, tag) => {
            matches!(get(operand), Value::Tuple(parts) if parts.len() == *size as usize && parts[0].is_atom(tag))
        }
        Test::IsNil(operand) => matches!(get(operand), Value::Nil),
        Test::IsCons(operand) => matches!(get(operand), Value::Cons(_)),
    }
}

/// An operation of the machine; `None` where Erlang raises an error.
pub(super) fn operate(operation: Operation, args: &[Value]) -> Option<Value> {
    use Operation as O;
    Some(match (operation, args) {
        (O::Add | O::Subtract | O::Multiply, [Value::Int(a), Value::Int(b)]) => {
            let small = match operation {
                O::Add => a.checked_add(*b),
                O::Subtract => a.checked_sub(*b),
                _ => a.checked_mul(*b),
            };
            match small {
                Some(value) => Value::Int(value),
                None => big(operation, &(*a).into(), &(*b).into())?,
            }
        }
        (O::Add, [Value::Float(a), Value::Float(b)]) => finite(a + b)?,
        (O::Subtract, [Value::Float(a), Value::Float(b)]) => finite(a - b)?,
        (O::Multiply, [Value::Float(a), Value::Float(b)]) => finite(a * b)?,
        (O::Divide, [Value::Float(a), Value::Float(b)]) if *b != 0.0 => finite(a / b)?,
        (O::Add | O::Subtract | O::Multiply | O::Quotient | O::Remainder, [a, b]) => {
            big(operation, &a.as_big()?, &b.as_big()?)?
        }
        (O::Negate, [Value::Float(a)]) => Value::Float(-a),
        (O::Negate, [a]) => Value::int(-a.as_big()?),
        (O::Equal, [a, b]) => Value::bool(same(a, b)),
        (O::NotEqual, [a, b]) => Value::bool(!same(a, b)),
        (O::Less, [a, b]) => Value::bool(compare(a, b).is_lt()),
        (O::AtMost, [a, b]) => Value::bool(compare(a, b).is_le()),
        (O::Greater, [a, b]) => Value::bool(compare(a, b).is_gt()),
        (O::AtLeast, [a, b]) => Value::bool(compare(a, b).is_ge()),
        (O::Not, [a]) if a.is_atom("true") => Value::bool(false),
        (O::Not, [a]) if a.is_atom("false") => Value::bool(true),
        (O::Append, [a, b]) => Value::list(a.items()?, b.clone()),
        (O::Without, [a, b]) => {
            let mut items = a.items()?;
            for item in b.items()? {
                if let Some(at) = items.iter().position(|one| same(one, &item)) {
                    items.remove(at);
                }
            }
            Value::list(items, Value::Nil)
        }
        (O::Length, [a]) => Value::Int(a.items()?.len() as i64),
        (O::Join, [parts]) => {
            let mut joined: Vec<u8> = Vec::new();
            for part in parts.items()? {
                let Value::Binary(bytes) = part else { return None };
                joined.extend_from_slice(&bytes);
            }
            Value::Binary(joined.into())
        }
        _ => return None,
    })
}

fn finite(value: f64) -> Option<Value> {
    value.is_finite().then_some(Value::Float(value))
}

fn big(operation: Operation, a: &BigInt, b: &BigInt) -> Option<Value> {
    Some(Value::int(match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        _ if b.is_zero() => return None,
        Operation::Quotient => a / b,
        Operation::Remainder => a % b,
        _ => return None,
    }))
}
