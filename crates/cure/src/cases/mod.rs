//! Test cases for a function: arguments come from its types, its refinements and the constants it tests for; expected
//! values are the function's current results. Calls that the checker rejects are omitted; calls that raise an error are
//! reported.

mod values;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answer::Room;
use crate::compile::{Compilation, Sources, compile};
use crate::diagnostic::{Diagnostic, Lines};
use crate::eval::limits::{Limits, Stop};
use crate::eval::value::Value;
use crate::resolve::interface::{Signature, TypeInfo};
use crate::syntax::ast::{Item, Name};
use crate::syntax::{self, SyntaxKind};
use values::{Constants, Types, modules_of, quoted, rows};

/// The maximal number of calls.
const MOST_CASES: usize = 40;
/// The maximal length of a call in bytes.
const LONGEST_CALL: usize = 2_000;
/// Maximum length of the reason why a call is not a test case, in bytes.
const LONGEST_REASON: usize = 300;
/// The maximal size of all cases in bytes: the module is read as a whole.
const MOST_TEXT: usize = 32_000;
/// The limits of one call, where the configuration does not set tighter ones.
const LIMITS: Limits =
    Limits { steps: 1_000_000, depth: 100_000, output: 1 << 16, memory: 64 << 20, time: Some(Duration::from_secs(1)) };
/// The time limit of all calls together.
const PATIENCE: Duration = Duration::from_secs(5);

/// A test module.
#[derive(Debug)]
pub(crate) struct Cases {
    pub module: String,
    /// Its text; its `main/0` returns the failed cases.
    pub code: String,
    /// The number of its cases.
    pub count: usize,
    /// Calls that raise an error, do not end or give a value that is too large, with the reason.
    pub raise: Vec<String>,
    /// The number of cases that are left out because the module would become too large.
    pub left_out: usize,
}

/// Why no test module could be made.
#[derive(Debug)]
pub(crate) enum NoCases {
    /// The program has errors.
    Refused(Vec<Diagnostic>),
    /// The function does not exist; the signatures of the existing functions.
    NoFunction(Vec<String>),
    /// No argument could be written or passed the checker; the reason.
    NoArguments(String),
}

/// A call and its known outcome.
struct Case {
    call: String,
    /// Its result, if it can be written as source.
    gives: Option<String>,
}

impl Case {
    /// The function that makes the call.
    fn text(&self, at: usize) -> String {
        let Case { call, gives } = self;
        let head = format!("  def case{}(): List(String) =\n", at + 1);
        match gives {
            Some(gives) => {
                let says = quoted(&format!("{call} is not {gives}"));
                format!("{head}    if {call} == {gives} then [] else [{says}]\n\n")
            }
            None => format!("{head}    let _ = {call}\n    []\n\n"),
        }
    }
}

/// Returns the limits of one call: the tighter of its own and the configured ones.
fn tighten_limits(limits: Limits) -> Limits {
    Limits {
        steps: limits.steps.min(LIMITS.steps),
        depth: limits.depth.min(LIMITS.depth),
        output: limits.output.min(LIMITS.output),
        memory: limits.memory.min(LIMITS.memory),
        time: limits.time.min(LIMITS.time).or(LIMITS.time),
    }
}

/// Makes a test module for an exported function: `f`, `f/1` or `Module.f`. Its calls are made within these limits.
pub(crate) fn cases(
    text: &str,
    sources: &dyn Sources,
    function: &str,
    limits: Limits,
    stop: &Stop,
) -> Result<Cases, NoCases> {
    let compiled = compile(text, sources);
    if !compiled.is_ok() || !compiled.faulty().is_empty() {
        return Err(NoCases::Refused(compiled.diagnostics));
    }
    let signature = find(&compiled, function).ok_or_else(|| NoCases::NoFunction(compiled.signatures()))?;
    let info = |full: &str| -> Option<Arc<TypeInfo>> { compiled.type_info(full) };
    let types = Types { info: &info, constants: constants(&compiled, text, &signature) };
    let mut columns = Vec::new();
    for (name, ty) in &signature.params {
        let values = types.worth_trying(ty, 0);
        if values.is_empty() {
            return Err(NoCases::NoArguments(format!("no value of the type of `{name}` can be written down")));
        }
        columns.push(values);
    }
    let mut calls: Vec<String> = rows(&columns, MOST_CASES)
        .into_iter()
        .map(|row| format!("{}.{}({})", signature.module, signature.name, row.join(", ")))
        .collect();
    if columns.is_empty() {
        calls = vec![format!("{}.{}()", signature.module, signature.name)];
    }
    let imports = imports(&compiled, &signature);
    calls.retain(|call| call.len() <= LONGEST_CALL);
    if calls.is_empty() {
        return Err(NoCases::NoArguments(format!("every call would take more than {LONGEST_CALL} bytes")));
    }
    let (calls, tried) = sound(text, sources, &imports, calls)?;
    let (mut cases, mut raise, mut left_out, mut room) = (Vec::new(), Vec::new(), 0, Room::new().share(MOST_TEXT));
    let begun = Instant::now();
    let patience = limits.time.map_or(PATIENCE, |time| time.min(PATIENCE));
    let limits = tighten_limits(limits);
    for (at, call) in calls.into_iter().enumerate() {
        if begun.elapsed() > patience {
            break;
        }
        let read = |value: &Value| types.written(value, &signature.result);
        match tried.evaluate(TRIED, &format!("case{at}"), limits, stop, read) {
            Some(Ok(Some(gives))) if gives.len() > LONGEST_CALL => {
                raise.push(format!("{call}: gives a value of {} bytes, which is too large for a case", gives.len()));
            }
            Some(Ok(gives)) => {
                let case = Case { call, gives };
                if room.takes(&case.text(at)) {
                    cases.push(case);
                } else {
                    left_out += 1;
                }
            }
            Some(Err(failure)) => {
                let reason: String = failure.to_string().chars().take(LONGEST_REASON).collect();
                raise.push(format!("{call}: {reason}"));
            }
            None => {}
        }
    }
    if cases.is_empty() {
        let raise = Room::new().first(raise);
        return Err(NoCases::NoArguments(format!("no call gives a value that a case can hold:\n{}", raise.join("\n"))));
    }
    let module = format!("{}.{}Tests", signature.module, capital(&signature.name));
    let code = loop {
        let (code, starts) = written(&module, &imports, &cases);
        // Calls whose result cannot be compared (because it contains a function, say) are still made.
        let checked = compile(&format!("{text}\n{code}"), sources);
        let before = text.lines().count() + usize::from(text.ends_with('\n'));
        let wrong = lines_of(&checked, &format!("{text}\n{code}"));
        let mut changed = false;
        for (case, start) in cases.iter_mut().zip(&starts) {
            let bad = wrong.iter().any(|line| (before + start..before + start + 3).contains(line));
            changed |= bad && case.gives.take().is_some();
        }
        if !changed {
            break code;
        }
    };
    let code = syntax::format(&code).unwrap_or(code);
    Ok(Cases { module, code, count: cases.len(), raise, left_out })
}

/// The module in which calls are tried.
const TRIED: &str = "Calls_that_are_tried";

/// The calls that the checker accepts, and a program that makes each of them.
fn sound(
    text: &str,
    sources: &dyn Sources,
    imports: &str,
    mut calls: Vec<String>,
) -> Result<(Vec<String>, Compilation), NoCases> {
    let mut reasons = Vec::new();
    loop {
        if calls.is_empty() {
            let reason: &str = reasons.first().map_or("", String::as_str);
            return Err(NoCases::NoArguments(format!("the checker lets none of the tried calls pass: {reason}")));
        }
        let mut whole = format!("{text}\nmodule {TRIED} do\n{imports}");
        let before = whole.lines().count();
        for (at, call) in calls.iter().enumerate() {
            let _ = writeln!(whole, "  def case{at}() = {call}");
        }
        whole.push_str("end\n");
        let compiled = compile(&whole, sources);
        if compiled.is_ok() {
            return Ok((calls, compiled));
        }
        reasons.extend(compiled.diagnostics.iter().filter(|one| one.is_error()).map(|one| one.message.clone()));
        let wrong = lines_of(&compiled, &whole);
        let count = calls.len();
        let mut at = before;
        calls.retain(|_| {
            at += 1;
            !wrong.contains(&at)
        });
        if calls.len() == count {
            calls.clear();
        }
    }
}

/// The lines that contain errors.
fn lines_of(compiled: &Compilation, text: &str) -> BTreeSet<usize> {
    let lines = Lines::new(text);
    compiled.diagnostics.iter().filter(|one| one.is_error()).map(|one| lines.line_column(one.span.start).0).collect()
}

/// The test module, and the first lines of its cases.
fn written(module: &str, imports: &str, cases: &[Case]) -> (String, Vec<usize>) {
    let all: Vec<String> = (1..=cases.len()).map(|at| format!("case{at}()")).collect();
    let mut code = format!("module {module} do\n{imports}\n  # The cases that fail, each in words.\n");
    let _ = writeln!(code, "  def main(): List(String) =\n    {}\n", all.join(" ++ "));
    let mut starts = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        starts.push(code.lines().count() + 1);
        code.push_str(&case.text(at));
    }
    code.push_str("end\n");
    (code, starts)
}

/// The module of the function, and those whose types it mentions.
fn imports(compiled: &Compilation, signature: &Signature) -> String {
    let mut modules = BTreeSet::from([signature.module.to_string()]);
    signature.params.iter().for_each(|(_, ty)| modules_of(ty, &mut modules));
    modules_of(&signature.result, &mut modules);
    modules.retain(|module| compiled.has_module(module));
    modules.iter().map(|module| format!("  import {module}\n")).collect()
}

/// The requested exported function.
fn find(compiled: &Compilation, function: &str) -> Option<Arc<Signature>> {
    let (path, arity) = match function.split_once('/') {
        Some((path, arity)) => (path, Some(arity.parse::<usize>().ok()?)),
        None => (function, None),
    };
    let (wanted, name) = match path.rsplit_once('.') {
        Some((module, name)) => (Some(module), name),
        None => (None, path),
    };
    let modules = compiled.syntax().iter().map(|module| &module.name.name);
    let mut meant = modules.filter(|module| wanted.is_none_or(|wanted| wanted == &***module));
    meant.find_map(|module| compiled.signature(module, name, arity))
}

/// The constants in the clauses of a function.
fn constants(compiled: &Compilation, text: &str, signature: &Signature) -> Constants {
    let mut constants = Constants::default();
    let module = compiled.syntax().iter().find(|module| module.name.name == signature.module);
    let items = module.iter().flat_map(|module| &module.items);
    let spans = items.filter_map(|item| match item {
        Item::Def(def) if def.name.name == signature.name && def.params.len() == signature.params.len() => {
            Some(def.span)
        }
        _ => None,
    });
    let spans: Vec<_> = spans.collect();
    let tree = syntax::parse(text).tree();
    for token in tree.descendants_with_tokens().filter_map(rowan::NodeOrToken::into_token) {
        let start = u32::from(token.text_range().start());
        if !spans.iter().any(|span| (span.start..span.end).contains(&start)) {
            continue;
        }
        let text = token.text().to_owned();
        match token.kind() {
            SyntaxKind::Int => constants.ints.extend(text.replace('_', "").parse().ok()),
            SyntaxKind::Float => constants.floats.push(text),
            SyntaxKind::Str => constants.strings.push(text),
            SyntaxKind::Atom => constants.atoms.push(text),
            _ => {}
        }
    }
    constants
}

fn capital(name: &Name) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let rest: String = letters.filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    if first.chars().all(|c| c.is_ascii_alphabetic()) { format!("{first}{rest}") } else { format!("Operator{rest}") }
}

#[cfg(test)]
mod tests;
