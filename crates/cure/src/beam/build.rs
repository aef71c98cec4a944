//! The BEAM files of a compiled text and the command line that runs it, shared by the tool `compile_cure` and the
//! command `hob cure build`. [`super::output`] puts the files on the disk.

use std::path::Path;

use project::visible;

use super::runner::{self, RUNNER};
use super::{CodegenError, Origin, program};
use crate::compile::{Compilation, Sources};
use crate::ir::form::Module;
use crate::lower::names;

/// The build result of a text without errors.
#[derive(Debug)]
pub struct Built {
    /// Each BEAM module's name and file.
    pub files: Vec<(String, Vec<u8>)>,
    /// The modules of the text and of its state machines.
    pub own: Vec<String>,
    /// All other modules.
    pub uses: Vec<String>,
    /// The modules of the text that export `main/0`.
    pub mains: Vec<String>,
}

/// Builds the BEAM files of a text and of everything it uses. `file` is the name of the text in stack traces.
pub fn build(compilation: &Compilation, file: &str, text: &str, sources: &dyn Sources) -> Result<Built, CodegenError> {
    let forms = compilation.forms();
    let is_own = |name: &str| compilation.syntax().iter().any(|module| *module.name.name == *name);
    let origin = |name: &str| {
        let (file, text) =
            if is_own(name) { (file.to_owned(), text.into()) } else { (format!("{name}.cure"), sources.source(name)?) };
        Some(Origin { file, text })
    };
    let mut files = program(&forms, &origin)?;
    let own_forms = || forms.iter().filter(|form| is_own(&form.name));
    let of_machine = |name: &str| {
        let machines =
            |form: &Module| form.machines.iter().any(|machine| *names::of_machine(&form.name, &machine.name) == *name);
        own_forms().any(|form| machines(form))
    };
    let in_order = compilation.syntax().iter().map(|module| &*module.name.name);
    let mains = in_order.filter(|name| own_forms().any(|form| *form.name == **name && has_main(form)));
    let mains: Vec<_> = mains.map(str::to_owned).collect();
    if !mains.is_empty() {
        files.extend(program(&[runner::module()], &|_| None)?);
    }
    let all = files.iter().map(|(name, _)| name.clone());
    let (own, uses) = all.partition(|name| is_own(name) || of_machine(name));
    Ok(Built { files, own, uses, mains })
}

fn has_main(form: &Module) -> bool {
    form.exports.iter().any(|(name, arity)| &**name == "main" && *arity == 0)
}

/// The command line that runs a module's `main/0` and prints its value, in the encoding and the form of the interpreter.
pub fn command_line(directory: &Path, module: &str) -> String {
    let directory = visible::path(directory).replace('\'', "'\\''");
    format!(r#"erl -noshell -pa '{directory}' -eval "{RUNNER}:run('{module}').""#)
}
