//! `tsc --noEmit` of a TypeScript project.

use std::path::Path;

use code::facts::Symbol;

use super::scratch::Scratch;
use super::{Compilation, CompilerError, Compiling, Order, nearest};

pub(super) async fn compile(
    compiling: &Compiling,
    order: &Order<'_>,
    scratch: &Scratch,
    symbol: &Symbol,
) -> Result<Compilation, String> {
    let project = nearest(order.root, &symbol.file, "tsconfig.json").ok_or("no tsconfig.json was found")?;
    let project = scratch.tree.join(project);
    let own = nearest(order.root, &symbol.file, "node_modules/typescript/bin/tsc");
    let own = own.map(|folder| scratch.tree.join(folder).join("node_modules/typescript/bin/tsc"));
    let options = ["-p", ".", "--noEmit", "--pretty", "false", "--listFiles"];
    let command: Vec<&str> = match own.as_ref().and_then(|own| own.to_str()) {
        Some(own) => ["node", own].into_iter().chain(options).collect(),
        None => ["tsc"].into_iter().chain(options).collect(),
    };
    let output = compiling.run(order, &project, &command, &[]).await?;
    let changed = scratch.tree.join(&symbol.file);
    if !output.lines().any(|line| Path::new(line) == changed) {
        return Err(format!("{} is not a file of the nearest tsconfig.json", symbol.file));
    }
    let errors = output.lines().filter_map(|line| error(line, &project, &scratch.tree)).collect();
    Ok(Compilation { errors, ..Compilation::default() })
}

/// Parses `src/geo.ts(8,3): error TS2366: Function lacks …`.
fn error(line: &str, project: &Path, tree: &Path) -> Option<CompilerError> {
    let (place, message) = line.split_once("): error ")?;
    let (file, place) = place.rsplit_once('(')?;
    let (line, column) = place.split_once(',')?;
    Some(CompilerError {
        file: project.join(file).strip_prefix(tree).ok()?.to_owned(),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_from_lines() {
        let read = |line: &str| error(line, Path::new("/tree/sub"), Path::new("/tree"));
        let message = "TS2366: Function lacks (x): error".to_owned();
        let expected = CompilerError { file: "sub/a.ts".into(), line: 8, column: 3, message };
        assert_eq!(read("a.ts(8,3): error TS2366: Function lacks (x): error"), Some(expected));
        assert_eq!(["  more", "/tree/a.ts", "error TS18003: no inputs"].map(read), [None, None, None]);
    }
}
