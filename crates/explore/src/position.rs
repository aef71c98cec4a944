//! A place in a file, as a node of a walk.

use code::facts::{Symbol, UseSite};

/// A place, ordered by file, line and column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub(crate) fn of_symbol(symbol: &Symbol) -> Position {
        Position { file: symbol.file.clone(), line: symbol.line, column: symbol.column }
    }

    pub(crate) fn of_use(site: &UseSite) -> Position {
        Position { file: site.file.clone(), line: site.line, column: site.column }
    }

    /// Formats the place as `path:line`.
    pub(crate) fn location(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}
