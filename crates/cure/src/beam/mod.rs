//! BEAM files from the core form, and the same code as `.S` text. Neither needs Erlang.
//!
//! A module is compiled in these steps: each function is flattened into one sequence of operations ([`flat`]), its
//! variables get registers ([`registers`]), and the operations become instructions ([`emit`], [`instruction`]).
//! [`encode`] and [`chunks`] make the file from them, [`assembly`] the text. State machines become separate modules
//! ([`machine`]) in the core form and are compiled in the same way.
//!
//! The BEAM does not verify loaded code. Two things keep the code correct: liveness follows from the order of
//! operations alone, and in the tests Erlang's own validator reads the text of every module.

mod assembly;
mod branches;
mod build;
mod chunks;
mod emit;
mod encode;
mod flat;
mod instruction;
mod machine;
pub mod output;
mod registers;
mod runner;
mod standard;
mod term;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use self::build::{Built, build, command_line};
use self::emit::{Lambda, Surroundings};
use self::encode::{Encoder, Table};
use self::instruction::{After, Function, Instruction, Label, Register, Source};
use crate::diagnostic::{Diagnostic, Lines, Span, code};
use crate::ir::form::Module;

/// Why a module cannot become a BEAM file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// More values are live at once than a frame has slots.
    #[error(
        "{module}.{function} needs more than {} values at once; split it into several functions",
        registers::Y_REGISTERS
    )]
    TooManyValues {
        module: String,
        function: String,
        /// Where it is.
        span: Span,
    },
    /// A function has too many parameters, including captured values.
    #[error(
        "{module}.{function} has or passes {count} arguments, with what functions capture; the BEAM allows 255: pass a record or a list instead"
    )]
    TooManyParameters {
        module: String,
        function: String,
        /// How many it has.
        count: usize,
        /// Where it is.
        span: Span,
    },
    /// A machine's module has the same name as another module.
    #[error(
        "there are two BEAM modules {name}: a module, and a state machine of the module that its name begins with; rename one"
    )]
    Twice { name: String },
    /// A name is too long for an atom.
    #[error("the name {name:.40}… is longer than an atom may be: 255 bytes")]
    LongName { name: String },
}

impl CodegenError {
    /// The error as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let span = match self {
            CodegenError::TooManyValues { span, .. } | CodegenError::TooManyParameters { span, .. } => *span,
            CodegenError::LongName { .. } | CodegenError::Twice { .. } => Span::default(),
        };
        Diagnostic::error(code::CODEGEN, span, self.to_string())
    }
}

/// A module's source, for line numbers in stack traces.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The file name in stack traces.
    pub file: String,
    pub text: Arc<str>,
}

/// The BEAM files of a program: of all its modules, and of the machines' runtime if they use it. `sources` maps modules
/// to their sources for line numbers; those of the standard library may be absent.
pub fn program(
    modules: &[Arc<Module>],
    sources: &dyn Fn(&str) -> Option<Origin>,
) -> Result<Vec<(String, Vec<u8>)>, CodegenError> {
    let mut all = Vec::new();
    for module in with_runtime(modules) {
        match standard::cached(&module) {
            Some(files) => all.extend(files?),
            None => all.extend(compile(&module, sources(&module.name).as_ref())?),
        }
    }
    // Two modules may each have a machine of the same name: the table keeps the first, as the interpreter does.
    let mut seen = HashSet::new();
    let mut twice = None;
    all.retain(|(name, _)| {
        let new = seen.insert(name.clone());
        if !new && !machine::is_line(name) {
            twice = Some(name.clone());
        }
        new
    });
    twice.map_or(Ok(all), |name| Err(CodegenError::Twice { name }))
}

/// The modules of [`program`] as text for `erlc`.
pub fn program_assembly(modules: &[Arc<Module>]) -> Result<Vec<(String, String)>, CodegenError> {
    let mut all = Vec::new();
    for module in with_runtime(modules) {
        all.extend(assembly(&module, None)?);
    }
    Ok(all)
}

fn with_runtime(modules: &[Arc<Module>]) -> impl Iterator<Item = Arc<Module>> {
    let machines = |module: &Arc<Module>| &*module.name == "Std.Fsm" || !module.machines.is_empty();
    let runtime = modules.iter().any(machines).then(machine::runtime);
    modules.iter().cloned().chain(runtime)
}

/// The BEAM files of a module and its machines, without the modules it calls: see [`program`].
pub fn compile(module: &Module, origin: Option<&Origin>) -> Result<Vec<(String, Vec<u8>)>, CodegenError> {
    write(module, origin, |code| Ok((code.module.to_owned(), code.file()?)))
}

/// The modules of [`compile`] as text for `erlc`.
pub fn assembly(module: &Module, origin: Option<&Origin>) -> Result<Vec<(String, String)>, CodegenError> {
    write(module, origin, |code| Ok((code.module.to_owned(), assembly::text(code))))
}

fn write<T>(
    module: &Module,
    origin: Option<&Origin>,
    mut make: impl FnMut(&Code<'_>) -> Result<T, CodegenError>,
) -> Result<Vec<T>, CodegenError> {
    let lines = origin.map(|origin| Lines::new(&origin.text));
    let mut made = Vec::new();
    for module in std::iter::once(module).chain(&machine::modules(module)) {
        let table: RefCell<Table<u32>> = RefCell::default();
        let line = |span: Span| match &lines {
            Some(lines) if span != Span::default() => {
                table.borrow_mut().index_of(lines.line_column(span.start).0 as u32) + 1
            }
            _ => 0,
        };
        let mut code = Code::new(module, &line)?;
        code.file = origin.map_or("", |origin| &origin.file);
        code.lines = table.borrow().items.clone();
        made.push(make(&code)?);
    }
    Ok(made)
}

/// A function's instructions.
struct EmittedFunction<'m> {
    name: &'m str,
    arity: u32,
    entry: Label,
    instructions: Vec<Instruction<'m>>,
}

/// A module's instructions.
struct Code<'m> {
    module: &'m str,
    functions: Vec<EmittedFunction<'m>>,
    exported: Vec<(&'m str, u32)>,
    lambdas: Vec<Lambda<'m>>,
    /// One more than the highest label.
    labels: u32,
    file: &'m str,
    lines: Vec<u32>,
}

impl<'m> Code<'m> {
    fn new(module: &'m Module, line: &'m dyn Fn(Span) -> u32) -> Result<Code<'m>, CodegenError> {
        let mut around = Surroundings {
            module: &module.name,
            entries: HashMap::new(),
            lambdas: Table::default(),
            most_arguments: 0,
            labels: 1,
            line,
        };
        for function in &module.functions {
            around.entries.insert((&function.name, function.arity), around.labels + 1);
            around.labels += 2;
        }
        let mut functions = Vec::new();
        for function in &module.functions {
            let entry = around.entries[&(&*function.name, function.arity)];
            let mut instructions = head(&function.name, function.arity, entry, line(function.span));
            let flat = flat::flatten(function, &mut around.labels);
            let places =
                registers::assign_registers(&flat, function.arity).ok_or_else(|| CodegenError::TooManyValues {
                    module: module.name.to_string(),
                    function: function.name.to_string(),
                    span: function.span,
                })?;
            emit::emit(function, &flat, &places, &mut around, &mut instructions);
            let count = around.most_arguments.max(function.arity as usize);
            if count > 255 {
                let (module, name) = (module.name.to_string(), function.name.to_string());
                return Err(CodegenError::TooManyParameters { module, function: name, count, span: function.span });
            }
            functions.push(EmittedFunction { name: &function.name, arity: function.arity, entry, instructions });
        }
        for arity in 0..2 {
            functions.push(module_info(&module.name, arity, around.labels + 1));
            around.labels += 2;
        }
        let mut exported: Vec<(&str, u32)> = module.exports.iter().map(|(name, arity)| (&**name, *arity)).collect();
        exported.extend(machine::called(module));
        exported.extend([("module_info", 0), ("module_info", 1)]);
        Ok(Code {
            module: &module.name,
            functions,
            exported,
            lambdas: around.lambdas.items,
            labels: around.labels,
            file: "",
            lines: Vec::new(),
        })
    }

    fn exports(&self) -> impl Iterator<Item = (&'m str, u32)> {
        self.exported.iter().copied()
    }

    fn file(&self) -> Result<Vec<u8>, CodegenError> {
        let mut encoder = Encoder::new(self.module);
        for function in &self.functions {
            function.instructions.iter().for_each(|instruction| encoder.write(instruction));
        }
        let exported: HashSet<_> = self.exports().collect();
        let rows = self.functions.iter().map(|one| (one.name, one.arity, one.entry));
        let (exports, locals) = rows.partition(|(name, arity, _)| exported.contains(&(*name, *arity)));
        if let Some(name) = encoder.long_name {
            return Err(CodegenError::LongName { name });
        }
        let tables = chunks::Tables {
            exports,
            locals,
            lambdas: self.lambdas.clone(),
            labels: self.labels,
            lines: self.lines.clone(),
            file: self.file,
        };
        Ok(chunks::file(encoder, &tables))
    }
}

/// The first instructions of every function.
fn head<'m>(name: &'m str, arity: u32, entry: Label, line: u32) -> Vec<Instruction<'m>> {
    vec![
        Instruction::Label(entry - 1),
        Instruction::Line(line),
        Instruction::FunctionInfo { name, arity },
        Instruction::Label(entry),
    ]
}

/// The functions that every module has by convention: `module_info/0` and `/1`.
fn module_info(module: &str, arity: u32, entry: Label) -> EmittedFunction<'_> {
    let mut instructions = head("module_info", arity, entry, 0);
    if arity == 1 {
        instructions.push(Instruction::Move(Source::Register(Register::X(0)), Register::X(1)));
    }
    instructions.push(Instruction::Move(Source::Atom(module), Register::X(0)));
    let function = Function::erlang("get_module_info", arity + 1);
    instructions.push(Instruction::CallExternal(function, After::Return));
    EmittedFunction { name: "module_info", arity, entry, instructions }
}
