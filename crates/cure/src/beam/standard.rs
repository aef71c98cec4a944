//! The BEAM files of the standard library, of the machines' runtime and of the runner, built once, on first use.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::runner::{self, RUNNER};
use super::{CodegenError, Origin, compile, machine};
use crate::ir::form::Module;
use crate::lower::names::RUNTIME;
use crate::standard;
use crate::syntax::ast::Name;

type Files = Vec<(String, Vec<u8>)>;

/// By name: the module that the files were built from, and the files.
type Cache = HashMap<Name, (Arc<Module>, Files)>;

static MADE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// The files of a module of the standard library. `None` for other modules, even one with the same name.
pub(super) fn cached(module: &Arc<Module>) -> Option<Result<Files, CodegenError>> {
    let name = &*module.name;
    let (file, text) = match name {
        RUNTIME => ("std/erlang/cure_fsm.cure".to_owned(), machine::TEXT),
        RUNNER => ("std/erlang/cure_main.cure".to_owned(), runner::TEXT),
        _ => (path(name), standard::source(name)?),
    };
    let mut made = MADE.lock();
    if let Some((of, files)) = made.get(&module.name) {
        return Arc::ptr_eq(of, module).then(|| Ok(files.clone()));
    }
    let files = match compile(module, Some(&Origin { file, text: text.into() })) {
        Ok(files) => files,
        Err(error) => return Some(Err(error)),
    };
    made.insert(module.name.clone(), (module.clone(), files.clone()));
    Some(Ok(files))
}

/// `std/list.cure`
fn path(name: &str) -> String {
    format!("std/{}.cure", name.trim_start_matches("Std.").to_lowercase())
}
