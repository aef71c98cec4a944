//! The Cure compiler: for any text, each step of the compiler ends, within the stack of a daemon's thread, and keeps
//! its promises.

mod edit;

use std::sync::Arc;

use cure::diagnostic::{Diagnostic, Lines};
use cure::{Compilation, Failure, Limits, NoSources, beam, compile, form, syntax};

pub use edit::{cross, mutate};

/// The stack size of the daemon's threads, on which it runs the compiler.
const STACK: usize = 2 << 20;

/// Runs the job on a thread with the stack size of the daemon's threads.
fn on_small_stack(job: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, job);
        thread.expect("a thread starts").join().expect("it ends well");
    });
}

/// The tree contains the whole text, every error lies within it, and formatting keeps the tokens and is idempotent.
pub fn parser(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    on_small_stack(|| {
        let parsed = syntax::parse(&text);
        assert_eq!(parsed.tree().text().to_string(), text, "the tree holds every byte");
        check_diagnostics(&parsed.diagnostics, &text);
        let modules = syntax::modules(&parsed.tree());
        drop(modules);
        let wrong = parsed.diagnostics.iter().any(Diagnostic::is_error);
        match syntax::format(&text) {
            Err(errors) => assert!(wrong && errors.iter().any(Diagnostic::is_error)),
            Ok(once) => {
                assert!(!wrong);
                assert_eq!(tokens(&once), tokens(&text), "formatting changes white space only:\n{once}");
                let twice = syntax::format(&once).expect("what is formatted has no errors");
                assert_eq!(twice, once, "the second time");
            }
        }
    });
}

/// The tokens of a text, without white space.
fn tokens(text: &str) -> Vec<String> {
    let tree = syntax::parse(text).tree();
    let tokens = tree.descendants_with_tokens().filter_map(|element| element.into_token());
    let tokens = tokens.filter(|token| token.kind() != syntax::SyntaxKind::Whitespace);
    tokens.map(|token| token.text().trim_end().to_owned()).collect()
}

/// Diagnostics can be rendered, and their fixes lie within the text.
fn check_diagnostics(diagnostics: &[Diagnostic], text: &str) {
    let lines = Lines::new(text);
    for one in diagnostics {
        let line = one.line(&lines);
        assert!(one.span.start <= one.span.end, "{line}");
        assert!(!one.render("t.cure", &lines, false).is_empty());
        if let Some(fix) = &one.fix {
            assert!(text.get(fix.span.start as usize..fix.span.end as usize).is_some(), "{line}: cannot be fixed");
        }
    }
}

/// The checker ends, its errors can be rendered, and a second run reports the same.
pub fn checker(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    on_small_stack(|| drop(checked(&text)));
}

fn checked(text: &str) -> Compilation {
    let compiled = compile(text, &NoSources);
    check_diagnostics(&compiled.diagnostics, text);
    let said = |compiled: &Compilation| {
        let lines = Lines::new(text);
        compiled.diagnostics.iter().map(|one| one.line(&lines)).collect::<Vec<_>>()
    };
    // Hash tables differ in order from run to run, which must not show. One text in 16 is enough.
    if text.len().is_multiple_of(16) {
        assert_eq!(said(&compiled), said(&compile(text, &NoSources)), "said again");
    }
    for (graph, _) in compiled.machines() {
        assert!(!cure::fsm::mermaid(graph).is_empty());
    }
    drop(compiled.signatures());
    compiled
}

/// A program that passes the checker compiles to BEAM files, or an error says why not; and it runs within its limits to
/// a value. Without foreign functions it raises no error that types rule out.
pub fn writer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    on_small_stack(|| {
        let compiled = checked(&text);
        if !compiled.is_ok() {
            return;
        }
        let forms = compiled.forms();
        let own =
            compiled.syntax().iter().filter_map(|module| forms.iter().find(|form| *form.name == *module.name.name));
        let own: Vec<Arc<form::Module>> = own.cloned().collect();
        assert_eq!(own.len(), compiled.syntax().len(), "what passes the checker has a form");
        match beam::program(&own, &|_| None) {
            Ok(files) => {
                let is_beam = |bytes: &[u8]| bytes.starts_with(b"FOR1") && bytes[8..].starts_with(b"BEAM");
                assert!(files.iter().all(|(_, bytes)| is_beam(bytes)));
                beam::program_assembly(&own).expect("what can be a file can be its text");
            }
            Err(error) => check_diagnostics(&[error.diagnostic()], &text),
        }
        own.iter().for_each(|module| run_exports(&compiled, module, &text));
    });
}

/// The limits of each function's run.
const LIMITS: Limits = Limits { steps: 20_000, depth: 10_000, output: 1 << 16, memory: 32 << 20, time: None };

/// Runs the functions without arguments.
fn run_exports(compiled: &Compilation, module: &form::Module, text: &str) {
    for (function, _) in module.exports.iter().filter(|(_, arity)| *arity == 0).take(8) {
        let (stop, watched) = (cure::Stop::default(), cure::Watched { trace: true, profile: true });
        let run = compiled.run_in(&module.name, function, LIMITS, stop, watched).expect("it is there");
        match run.result {
            Err(failure @ Failure::Raised { .. }) if !text.contains("curify") => check_not_ruled_out(&failure),
            Err(failure) => assert!(!failure.to_string().is_empty()),
            Ok(value) => assert!(!value.is_empty()),
        }
    }
}

/// Panics for an error that types rule out: no clause for a value, a wrong argument, a division by zero.
fn check_not_ruled_out(failure: &Failure) {
    let said = failure.to_string();
    let wrong = ["no_clause", "badarg", "badarith", "function_clause", "case_clause", "badfun", "badarity"];
    assert!(!wrong.iter().any(|reason| said.contains(reason)), "{said}");
}
