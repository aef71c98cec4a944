//! Runs one function of a program, with arguments and limits. Arguments are Cure expressions and are checked like those
//! of any call, refinements included.

use crate::compile::{Compilation, Sources, compile};
use crate::diagnostic::Diagnostic;
use crate::eval::Run;
use crate::eval::limits::{Limits, Stop};
use crate::eval::watch::{CALLER, Watched};

/// A function to run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The function: `main`, or `Module.main`.
    pub function: String,
    /// Its arguments, as they are written in Cure.
    pub args: Vec<String>,
    /// The limits of the run.
    pub limits: Limits,
    /// Cancels the run.
    pub stop: Stop,
    /// Data to record.
    pub watched: Watched,
}

/// The result of a request.
#[derive(Debug)]
pub enum Outcome {
    /// The function ran, to its end or to a limit.
    Ran(Run),
    /// The program has errors.
    Refused(Vec<Diagnostic>),
    /// These modules, which the program uses, have errors.
    Faulty(Vec<String>),
    /// The function does not exist; these are the signatures of those that do.
    NoFunction(Vec<String>),
    /// The arguments are invalid; one line for each reason.
    Arguments(Vec<String>),
}

/// The function around the call with arguments, in the module [`CALLER`].
const CALL: &str = "call_from_outside";

/// Checks a program and runs one of its functions.
pub fn run(text: &str, sources: &dyn Sources, request: &Request) -> Outcome {
    let compiled = compile(text, sources);
    if !compiled.is_ok() {
        return Outcome::Refused(compiled.diagnostics);
    }
    let faulty = compiled.faulty();
    if !faulty.is_empty() {
        return Outcome::Faulty(faulty.into_iter().map(str::to_owned).collect());
    }
    let Some((module, function)) = find(&compiled, request) else {
        return Outcome::NoFunction(compiled.signatures());
    };
    let Request { args, limits, stop, watched, .. } = request;
    if args.is_empty() {
        let ran = compiled.run_in(&module, &function, *limits, stop.clone(), *watched);
        return ran.map_or_else(|| Outcome::NoFunction(compiled.signatures()), Outcome::Ran);
    }
    // Each argument ends with its line, so that a comment in it ends there too.
    let args: String = args.iter().map(|arg| format!("    ({arg}\n    )")).collect::<Vec<_>>().join(",\n");
    let call = format!("{module}.{function}(\n{args})");
    let whole = format!("{text}\nmodule {CALLER} do\n  import {module}\n  def {CALL}() = {call}\nend\n");
    let called = compile(&whole, sources);
    if !called.is_ok() {
        let reason = |one: &Diagnostic| {
            let mut text = one.message.clone();
            one.hints.iter().for_each(|hint| text.push_str(&format!("; {hint}")));
            text
        };
        let reasons = called.diagnostics.iter().filter(|one| one.is_error()).take(3).map(reason);
        return Outcome::Arguments(reasons.collect());
    }
    let ran = called.run_in(CALLER, CALL, *limits, stop.clone(), *watched);
    ran.map_or_else(|| Outcome::NoFunction(compiled.signatures()), Outcome::Ran)
}

/// The module and the name of the requested function.
fn find(compiled: &Compilation, request: &Request) -> Option<(String, String)> {
    let arity = request.args.len() as u32;
    let (wanted, name) = match request.function.rsplit_once('.') {
        Some((module, name)) => (Some(module), name),
        None => (None, &*request.function),
    };
    let has = |module: &&str| wanted.is_none_or(|wanted| wanted == *module) && compiled.exports(module, name, arity);
    let module = compiled.syntax().iter().map(|module| &*module.name.name).find(has)?;
    Some((module.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoSources;
    use expect_test::expect;

    fn run_text(function: &str, args: &[&str]) -> String {
        let text = "module T do\n  type Shape = Dot | Circle(Int)\n  def area(s: Shape): Int = match s do Dot -> 0 Circle(r) -> 3 * r * r end\n  \
                    def half(a: Int, b: {n: Int | n != 0}): Int = a / b\n  def twice(s: String): String = s <> s\n  \
                    def same<A: Show>(a: A): String = \"#{a}\"\n  def main(): Int = area(Circle(1))\nend\n\
                    module U do\n  export [main/0]\n  def main(): Int = 7\n  def hidden(): Int = 1\nend\n";
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { function: function.to_owned(), args, ..Request::default() };
        match run(text, &NoSources, &request) {
            Outcome::Ran(run) => run.result.unwrap_or_else(|failure| failure.to_string()),
            Outcome::NoFunction(there) => format!("there is {}", there.len()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_function_with_arguments() {
        let all = [
            run_text("main", &[]),
            run_text("U.main", &[]),
            run_text("area", &["Circle(2)"]),
            run_text("T.half", &["-7", "1 + 1 # two"]),
            run_text("twice", &["\"ab\""]),
            run_text("same", &["[1, 2]"]),
            run_text("half", &["1", "0"]),
            run_text("twice", &["ab"]),
            run_text("hidden", &[]),
            run_text("main", &["1"]),
            run_text("twice", &["\"a\") end"]),
        ];
        expect![[r#"
            3
            7
            12
            -3
            <<"abab">>
            <<"[1, 2]">>
            Arguments(["0 does not fit {n: Int | n != 0}"])
            Arguments(["`ab` is not defined"])
            there is 7
            there is 7
            Arguments(["expected a `,` or `)`, found `end`", "expected a definition, found `)`"])"#]]
        .assert_eq(&all.join("\n"));
    }
}
