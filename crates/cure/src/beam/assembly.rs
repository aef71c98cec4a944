//! Instructions as `.S` text, which `erlc` reads and Erlang's validator checks.

use std::fmt::Write as _;

use super::instruction::{After, Function, Instruction, Register, Source, Test};
use super::{Code, EmittedFunction};
use crate::eval::value::float;
use crate::ir::form::Literal;

/// The text of a module.
pub(super) fn text(code: &Code<'_>) -> String {
    let mut out = String::new();
    let exports: Vec<_> = code.exports().map(|(name, arity)| format!("{{{},{arity}}}", atom(name))).collect();
    line(&mut out, &format!("%% coding: utf-8\n{{module, {}}}.  %% version = 0", atom(code.module)));
    line(&mut out, &format!("{{exports, [{}]}}.", exports.join(",")));
    line(&mut out, "{attributes, []}.");
    line(&mut out, &format!("{{labels, {}}}.", code.labels));
    for EmittedFunction { name, arity, entry, instructions } in &code.functions {
        line(&mut out, &format!("\n{{function, {}, {arity}, {entry}}}.", atom(name)));
        for one in instructions {
            line(&mut out, &format!("  {}.", instruction(one, code)));
        }
    }
    out
}

fn line(out: &mut String, text: &str) {
    // Writing into a string does not fail.
    let _ = writeln!(out, "{text}");
}

fn instruction(instruction: &Instruction<'_>, code: &Code<'_>) -> String {
    match instruction {
        Instruction::Label(label) => format!("{{label,{label}}}"),
        Instruction::Line(0) => "{line,[]}".to_owned(),
        Instruction::Line(at) => {
            let number = code.lines.get(*at as usize - 1).copied().unwrap_or(0);
            format!("{{line,[{{location,{},{number}}}]}}", string(code.file))
        }
        Instruction::FunctionInfo { name, arity } => {
            format!("{{func_info,{{atom,{}}},{{atom,{}}},{arity}}}", atom(code.module), atom(name))
        }
        Instruction::Move(from, to) => format!("{{move,{},{}}}", source(from), register(to)),
        Instruction::Allocate { slots, live } => format!("{{allocate,{slots},{live}}}"),
        Instruction::Initialise(slots) => {
            let slots: Vec<_> = slots.iter().map(|slot| format!("{{y,{slot}}}")).collect();
            format!("{{init_yregs,{{list,[{}]}}}}", slots.join(","))
        }
        Instruction::Deallocate(slots) => format!("{{deallocate,{slots}}}"),
        Instruction::Return => "return".to_owned(),
        Instruction::Jump(to) => format!("{{jump,{{f,{to}}}}}"),
        Instruction::Call(entry, arity, after) => match after {
            After::Next => format!("{{call,{arity},{{f,{entry}}}}}"),
            After::Return => format!("{{call_only,{arity},{{f,{entry}}}}}"),
            After::FrameReturn(slots) => format!("{{call_last,{arity},{{f,{entry}}},{slots}}}"),
        },
        Instruction::CallExternal(function, after) => {
            let Function { module, name, arity } = function;
            let function = format!("{{extfunc,{},{},{arity}}}", atom(module), atom(name));
            match after {
                After::Next => format!("{{call_ext,{arity},{function}}}"),
                After::Return => format!("{{call_ext_only,{arity},{function}}}"),
                After::FrameReturn(slots) => format!("{{call_ext_last,{arity},{function},{slots}}}"),
            }
        }
        Instruction::CallFunction(arity) => format!("{{call_fun,{arity}}}"),
        Instruction::Heap { words, functions: 0, live } => format!("{{test_heap,{words},{live}}}"),
        Instruction::Heap { words, functions, live } => {
            format!("{{test_heap,{{alloc,[{{words,{words}}},{{floats,0}},{{funs,{functions}}}]}},{live}}}")
        }
        Instruction::PutList(head, tail, into) => {
            format!("{{put_list,{},{},{}}}", source(head), source(tail), register(into))
        }
        Instruction::PutTuple(parts, into) => {
            format!("{{put_tuple2,{},{{list,[{}]}}}}", register(into), sources(parts))
        }
        Instruction::MakeFunction { label, captured, into, .. } => {
            let captured: Vec<_> = captured.iter().map(register).collect();
            format!("{{make_fun3,{{f,{label}}},0,0,{},{{list,[{}]}}}}", register(into), captured.join(","))
        }
        Instruction::Element(of, at, into) => {
            format!("{{get_tuple_element,{},{at},{}}}", register(of), register(into))
        }
        Instruction::Head(of, into) => format!("{{get_hd,{},{}}}", register(of), register(into)),
        Instruction::Tail(of, into) => format!("{{get_tl,{},{}}}", register(of), register(into)),
        Instruction::Simple(name, args, into) => {
            format!("{{bif,{},{{f,0}},[{}],{}}}", atom(name), sources(args), register(into))
        }
        Instruction::Collecting(name, live, args, into) => {
            format!("{{gc_bif,{},{{f,0}},{live},[{}],{}}}", atom(name), sources(args), register(into))
        }
        Instruction::Test(test, otherwise, args) => {
            let args: Vec<_> = args.iter().enumerate().map(|(at, arg)| test_argument(*test, at, arg)).collect();
            format!("{{test,{},{{f,{otherwise}}},[{}]}}", test_name(*test), args.join(","))
        }
        Instruction::Select(on, otherwise, cases) => {
            let cases: Vec<_> = cases.iter().map(|(value, label)| format!("{},{{f,{label}}}", source(value))).collect();
            format!("{{select_val,{},{{f,{otherwise}}},{{list,[{}]}}}}", register(on), cases.join(","))
        }
    }
}

fn test_name(test: Test) -> &'static str {
    match test {
        Test::Less => "is_lt",
        Test::AtLeast => "is_ge",
        Test::Equal => "is_eq",
        Test::NotEqual => "is_ne",
        Test::Identical => "is_eq_exact",
        Test::NotIdentical => "is_ne_exact",
        Test::Float => "is_float",
        Test::Nil => "is_nil",
        Test::Cons => "is_nonempty_list",
        Test::Tuple => "is_tuple",
        Test::Arity => "test_arity",
        Test::Tagged => "is_tagged_tuple",
    }
}

fn test_argument(test: Test, at: usize, arg: &Source<'_>) -> String {
    match (test, at, arg) {
        (Test::Arity | Test::Tagged, 1, Source::Integer(size)) => size.to_string(),
        _ => source(arg),
    }
}

fn register(register: &Register) -> String {
    match register {
        Register::X(x) => format!("{{x,{x}}}"),
        Register::Y(y) => format!("{{y,{y}}}"),
    }
}

fn sources(all: &[Source<'_>]) -> String {
    all.iter().map(source).collect::<Vec<_>>().join(",")
}

fn source(from: &Source<'_>) -> String {
    match from {
        Source::Register(from) => register(from),
        Source::Integer(value) => format!("{{integer,{value}}}"),
        Source::Atom(name) => format!("{{atom,{}}}", atom(name)),
        Source::Nil => "nil".to_owned(),
        Source::EmptyTuple => "{literal,{}}".to_owned(),
        Source::Literal(Literal::Float(value)) => format!("{{float,{}}}", float(*value)),
        Source::Literal(value) => format!("{{literal,{}}}", literal(value)),
        Source::External(Function { module, name, arity }) => {
            format!("{{literal,fun {}:{}/{arity}}}", atom(module), atom(name))
        }
    }
}

fn literal(value: &Literal) -> String {
    let all = |items: &[Literal]| items.iter().map(literal).collect::<Vec<_>>().join(",");
    match value {
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => float(*value),
        Literal::Atom(name) => atom(name),
        Literal::Binary(bytes) => {
            let bytes: Vec<_> = bytes.iter().map(ToString::to_string).collect();
            format!("<<{}>>", bytes.join(","))
        }
        Literal::List(items) => format!("[{}]", all(items)),
        Literal::Tuple(parts) => format!("{{{}}}", all(parts)),
    }
}

/// Always quoted, which is valid for every atom.
fn atom(name: &str) -> String {
    format!("'{}'", escaped(name, '\''))
}

fn string(text: &str) -> String {
    format!("\"{}\"", escaped(text, '"'))
}

fn escaped(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\x{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
