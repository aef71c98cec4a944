//! The interpreter's loop: it runs functions of the core form with an explicit stack, so that deep recursion and
//! endless loops reach the run's limits and not the end of the host's stack.

use std::collections::HashMap;
use std::sync::Arc;

use num_traits::ToPrimitive;

use super::compare::{equal, exactly_equal};
use super::heap::visit;
use super::limits::{Failure, Limits, Meter, Stop};
use super::operations::{MOST_BITS, operate};
use super::value::{Callable, Value, show};
use super::watch::{Watch, Watched};
use crate::ir::form::{self, Block, Call, End, Function, Literal, Module, Operand, Operation, Test};
use crate::syntax::ast::Name;

/// A program that is ready to run.
pub(crate) struct Interpreter<'p> {
    functions: HashMap<(&'p str, &'p str, u32), &'p Function>,
    module_names: HashMap<*const Function, &'p Name>,
    pub(super) machines: HashMap<&'p str, Vec<(&'p Name, &'p form::Machine)>>,
    pub(super) meter: Meter,
    pub(crate) watch: Watch<'p>,
    /// The depth of nested runs: callbacks from Erlang functions, guards and actions of machines.
    nested: usize,
    /// The printed output.
    pub output: String,
    /// Milliseconds since the start, on a clock that only sleeping advances.
    pub clock: u64,
    pub(super) fsm: super::fsm::Machines,
}

/// The size of a list cell in bytes.
pub(super) const CELL: usize = 80;

/// The maximal depth of nested runs; each takes some of the host's stack.
const MOST_NESTED: usize = 64;

struct Frame<'p> {
    function: &'p Function,
    vars: Vec<Value>,
    levels: Vec<Level<'p>>,
    /// The variable that receives the result of the call this frame waits for.
    waits: form::Var,
}

/// A running block, nested in other blocks of the same function.
struct Level<'p> {
    block: &'p Block,
    at: usize,
    choices: Vec<(&'p [Block], usize)>,
    /// The variable of the enclosing level that receives its value.
    into: form::Var,
}

enum Resolution<'p> {
    Function(&'p Function, Vec<Value>),
    Value(Value),
}

impl<'p> Interpreter<'p> {
    /// A program with its limits, which ends when `stop` is set.
    pub(crate) fn new(modules: &'p [Arc<Module>], limits: Limits, stop: Stop, watched: Watched) -> Interpreter<'p> {
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
        Interpreter {
            functions,
            module_names,
            machines,
            meter: Meter::new(limits, stop),
            watch: Watch::new(watched),
            nested: 0,
            output: String::new(),
            clock: 0,
            fsm: super::fsm::Machines::default(),
        }
    }

    /// The number of steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.meter.steps
    }

    /// Calls a function and runs it to completion.
    pub(crate) fn call(&mut self, module: &str, function: &str, args: Vec<Value>) -> Result<Value, Failure> {
        match self.resolve(module, function, args)? {
            Resolution::Value(value) => Ok(value),
            Resolution::Function(function, args) => self.run(function, args),
        }
    }

    fn resolve(&mut self, module: &str, function: &str, args: Vec<Value>) -> Result<Resolution<'p>, Failure> {
        if let Some(found) = self.functions.get(&(module, function, args.len() as u32)) {
            return Ok(Resolution::Function(found, args));
        }
        self.erlang(module, function, &args).map(Resolution::Value)
    }

    pub(super) fn undefined(&self, module: &str, function: &str, arity: usize) -> Failure {
        Failure::Undefined { module: module.to_owned(), function: function.to_owned(), arity }
    }

    pub(super) fn raise(&self, reason: &str) -> Failure {
        Failure::Raised { reason: reason.to_owned(), place: None }
    }

    /// Prints, within the limit.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        let limit = self.meter.limits.output;
        if self.output.len() + text.len() > limit {
            return Err(Failure::Limit { what: "bytes of output", limit: limit as u64 });
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
        if self.nested >= MOST_NESTED {
            return Err(Failure::Limit { what: "runs inside of runs", limit: MOST_NESTED as u64 });
        }
        self.nested += 1;
        let frames = self.meter.frames;
        let result = self.run_frames(function, args);
        self.meter.frames = frames;
        self.nested -= 1;
        result
    }

    fn run_frames(&mut self, function: &'p Function, args: Vec<Value>) -> Result<Value, Failure> {
        let watched = self.watch.is_on();
        if watched {
            self.record_call(function, &args, 0, false);
        }
        let mut frames = vec![Self::frame(function, args)];
        loop {
            self.meter.step()?;
            let depth = frames.len();
            let frame = frames.last_mut().expect("a frame runs");
            let function = frame.function;
            if watched {
                self.watch.step(function);
            }
            let next = self.step(frame);
            self.meter.visited()?;
            match next {
                Ok(Next::Go) => {}
                Ok(Next::Push(function, args)) => {
                    let most = self.meter.limits.depth;
                    if depth >= most {
                        return Err(Failure::Limit { what: "calls inside of calls", limit: most as u64 });
                    }
                    if watched {
                        self.record_call(function, &args, depth, false);
                    }
                    let frame = Self::frame(function, args);
                    self.meter.frames += frame.bytes();
                    frames.push(frame);
                }
                Ok(Next::Replace(function, args)) => {
                    if watched {
                        self.record_call(function, &args, depth - 1, true);
                    }
                    let next = Frame { waits: frame.waits, ..Self::frame(function, args) };
                    self.meter.frames = (self.meter.frames + next.bytes()).saturating_sub(frame.bytes());
                    *frame = next;
                }
                Ok(Next::Return(value)) => {
                    self.meter.frames = self.meter.frames.saturating_sub(frame.bytes());
                    if watched && let Some(module) = self.module_names.get(&std::ptr::from_ref(function)) {
                        self.watch.returned(module, &value, depth - 1);
                    }
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

    fn record_call(&mut self, function: &'p Function, args: &[Value], depth: usize, tail: bool) {
        if let Some(module) = self.module_names.get(&std::ptr::from_ref(function)) {
            self.watch.called(module, function, args, depth, tail);
        }
    }

    fn step(&mut self, frame: &mut Frame<'p>) -> Result<Next<'p>, Failure> {
        let level = frame.levels.last_mut().expect("a block runs");
        if let Some(step) = level.block.steps.get(level.at) {
            level.at += 1;
            let value = match &step.value {
                form::Value::Call(call) => match self.called(call, frame)? {
                    Resolution::Value(value) => value,
                    Resolution::Function(function, args) => {
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
                    Resolution::Value(value) => Next::Return(value),
                    Resolution::Function(function, args) => Next::Replace(function, args),
                });
            }
            End::If { test, then, otherwise } => {
                let holds = holds(test, frame);
                goto(frame, if holds { then } else { otherwise });
            }
            End::Switch { on, cases, otherwise } => {
                let on = operand_value(on, frame);
                let found = cases.iter().find(|(literal, _)| is(literal, &on));
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

    fn called(&mut self, call: &'p Call, frame: &Frame<'p>) -> Result<Resolution<'p>, Failure> {
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

    fn applied(&mut self, function: &Value, mut args: Vec<Value>) -> Result<Resolution<'p>, Failure> {
        let Value::Function(callable) = function else { return Err(self.raise("badfun")) };
        if callable.arity as usize != args.len() {
            return Err(self.raise("badarity"));
        }
        args.extend(callable.captured.iter().cloned());
        self.resolve(&callable.module, &callable.function, args)
    }

    /// Calls a function value and runs it to completion; for Erlang functions that call back.
    pub(super) fn apply(&mut self, function: &Value, args: Vec<Value>) -> Result<Value, Failure> {
        match self.applied(function, args)? {
            Resolution::Value(value) => Ok(value),
            Resolution::Function(function, args) => self.run(function, args),
        }
    }

    fn value(&mut self, value: &'p form::Value, frame: &Frame<'p>) -> Result<Value, Failure> {
        let get = |operand: &Operand| operand_value(operand, frame);
        Ok(match value {
            form::Value::Closure { function, arity, captured } => Value::function(Callable {
                module: Name::from(self.module_of(frame.function)),
                function: function.clone(),
                arity: *arity,
                captured: captured.iter().map(|var| frame.vars[var.0 as usize].clone()).collect(),
            }),
            form::Value::External { module, function, arity } => Value::function(Callable {
                module: module.clone(),
                function: function.clone(),
                arity: *arity,
                captured: Vec::new(),
            }),
            form::Value::Tuple(parts) => Value::tuple(parts.iter().map(get).collect()),
            form::Value::Cons(head, tail) => Value::cons(get(head), get(tail)),
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
                self.operation(*operation, &args)?
            }
            form::Value::Call(_) | form::Value::Nested(_) => return Err(self.raise("badarg")),
        })
    }
}

impl Interpreter<'_> {
    /// Performs an operation, within the limits.
    fn operation(&mut self, operation: Operation, args: &[Value]) -> Result<Value, Failure> {
        use Operation as O;
        let long = matches!(operation, O::Append | O::Without | O::Length | O::Join);
        if let (O::Append | O::Without, [list, _]) = (operation, args) {
            self.meter.room(list.length().saturating_mul(CELL))?;
        }
        if let (O::Multiply | O::Quotient | O::Remainder, [Value::Big(a), Value::Big(b)]) = (operation, args) {
            // The cost of schoolbook methods, in words of 64 bits.
            let words = (a.bits() / 64).saturating_mul(b.bits() / 64);
            self.meter.work(u32::try_from(words / 256).unwrap_or(u32::MAX))?;
        }
        if long || args.iter().any(|arg| matches!(arg, Value::Big(_) | Value::Cons(_) | Value::Binary(_))) {
            // The cost of these is proportional to the size of their arguments.
            self.meter.work(if operation == O::Without { 4096 } else { 256 })?;
        }
        if let (O::Join, [parts]) = (operation, args) {
            let parts = parts.items().unwrap_or_default();
            let bytes = parts.iter().map(|part| if let Value::Binary(bytes) = part { bytes.len() } else { 0 }).sum();
            self.meter.room(bytes)?;
        }
        match operate(operation, args) {
            Some(Value::Big(value)) if value.bits() > MOST_BITS => Err(self.raise("system_limit")),
            Some(value) => Ok(value),
            None => {
                let arithmetic = matches!(
                    operation,
                    O::Add | O::Subtract | O::Multiply | O::Negate | O::Quotient | O::Remainder | O::Divide
                );
                Err(self.raise(if arithmetic { "badarith" } else { "badarg" }))
            }
        }
    }
}

impl Frame<'_> {
    /// The approximate size in bytes.
    fn bytes(&self) -> usize {
        256 + self.vars.len() * size_of::<Value>()
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

/// True if a value matches a clause.
fn is(literal: &Literal, value: &Value) -> bool {
    visit(1);
    match (literal, value) {
        (Literal::Int(wanted), Value::Int(found)) => wanted.to_i64() == Some(*found),
        (Literal::Atom(wanted), Value::Atom(found)) => wanted == found,
        (Literal::Binary(wanted), Value::Binary(found)) => wanted[..] == found[..],
        _ => exactly_equal(&Value::from(literal), value),
    }
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
        Test::Equal(a, b) => equal(&get(a), &get(b)),
        Test::Identical(a, b) => exactly_equal(&get(a), &get(b)),
        Test::IsFloat(operand) => matches!(get(operand), Value::Float(_)),
        Test::IsTuple(operand, size) => matches!(get(operand), Value::Tuple(parts) if parts.len() == *size as usize),
        Test::IsTagged(operand, size, tag) => {
            matches!(get(operand), Value::Tuple(parts) if parts.len() == *size as usize && parts[0].is_atom(tag))
        }
        Test::IsNil(operand) => matches!(get(operand), Value::Nil),
        Test::IsCons(operand) => matches!(get(operand), Value::Cons(_)),
    }
}
