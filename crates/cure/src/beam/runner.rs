//! The module `cure_main`, which the printed command line calls on Erlang: it runs a program's `main/0` and prints its
//! value as the interpreter does. It is written in Cure: `std/erlang/cure_main.cure`.

use std::sync::{Arc, LazyLock};

use crate::compile::{NoSources, compile};
use crate::ir::form::Module;
use crate::syntax::ast::Name;

/// Its name on Erlang.
pub(crate) const RUNNER: &str = "cure_main";

/// Its source.
pub(super) const TEXT: &str = include_str!("../../std/erlang/cure_main.cure");

pub(super) fn module() -> Arc<Module> {
    static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| {
        let compiled = compile(TEXT, &NoSources);
        let forms = compiled.forms();
        let form = forms.iter().find(|form| &*form.name == "Std.Main.Runtime").expect("the runner is without fault");
        Arc::new(Module { name: Name::from(RUNNER), ..Module::clone(form) })
    });
    MODULE.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Lines;

    #[test]
    fn the_runner_is_without_fault() {
        let compiled = compile(TEXT, &NoSources);
        let lines = Lines::new(TEXT);
        let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
        assert!(said.is_empty(), "{}", said.join("\n"));
    }
}
