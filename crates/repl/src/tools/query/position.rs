//! A position in a file, as callers write it and as GHCi needs it.

use std::path::Path;

use diagnostics::ghc::split_span;
use mcp::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Args;
use crate::query::{self, Location};

/// A position in a loaded file. Without an end it refers to the name there.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Position {
    /// The file, or the module's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The last line, to ask about a whole expression.
    pub end_line: Option<u32>,
    /// The last column, inclusive.
    pub end_column: Option<u32>,
}

impl Position {
    /// Parses the position that a call gives, in either form.
    pub(super) fn from_args(args: &Args) -> Result<Option<Position>, ToolError> {
        match (&args.at, &args.position) {
            (None, position) => Ok(position.clone()),
            (Some(at), _) => Position::read(at).map(Some).ok_or_else(|| {
                let error = ToolError::user(format!("Invalid position {at:?} in `at`."));
                error.hint(
                    "Write FILE:LINE:COLUMN, such as \"src/Area.hs:8:15\", or the beginning of a compiler's message.",
                )
            }),
        }
    }

    /// Parses `src/A.hs:7:5`, and expressions in compiler notation: `src/A.hs:7:5-9`, `src/A.hs:(7,5)-(8,3)`.
    fn read(at: &str) -> Option<Position> {
        let at = at.trim().trim_end_matches(':');
        let (file, span) = split_span(at)?;
        let is_expression = (span.end_line, span.end_column) != (span.line, span.column);
        let (line, column, file) = (span.line, span.column, file.to_owned());
        let end = is_expression.then_some((span.end_line, span.end_column)).unzip();
        (!file.is_empty()).then_some(Position { file, line, column, end_line: end.0, end_column: end.1 })
    }
}

/// The size limit of a source file that is searched for a name, in bytes.
const SOURCE_MAX: u64 = 16 * 1024 * 1024;

/// Returns the span for GHCi, its end exclusive, and the name there.
pub(super) fn span(position: &Position, file: &str, cwd: &Path) -> Result<(String, String), ToolError> {
    let Position { line, column, .. } = *position;
    if let Some(end_column) = position.end_column {
        let end_line = position.end_line.unwrap_or(line);
        return Ok((format!("{line} {column} {end_line} {}", end_column.saturating_add(1)), String::new()));
    }
    let text = project::regular::read(&cwd.join(file), SOURCE_MAX).map_err(|error| {
        let problem = ToolError::user(format!("{file} cannot be read: {error}."));
        problem.hint("Give `end_line` and `end_column` too; then the file is not needed.")
    })?;
    let content = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    match content.and_then(|content| query::identifier_at(content, column)) {
        Some((from, to, name)) => Ok((format!("{line} {from} {line} {to}"), name)),
        None => {
            let error = ToolError::user(format!("No name found at line {line}, column {column} of {file}."));
            Err(error.hint("Lines and columns count from 1; give `end_line` and `end_column` for an expression."))
        }
    }
}

pub(super) fn format_location(position: &Position, file: &str) -> String {
    let location = Location {
        file: Some(file.to_owned()),
        line: Some(position.line),
        column: Some(position.column),
        end_line: position.end_line.or(Some(position.line)),
        end_column: position.end_column,
        package: None,
        module: None,
    };
    location.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_compilers_write_them() {
        let read = |at: &str| {
            let found = Position::read(at)?;
            let end = found.end_line.zip(found.end_column);
            Some((found.file, found.line, found.column, end))
        };
        let place = |line, column, end| Some(("src/A.hs".to_owned(), line, column, end));
        assert_eq!(read("src/A.hs:7:5"), place(7, 5, None));
        assert_eq!(read(" src/A.hs:7:5: "), place(7, 5, None));
        assert_eq!(read("src/A.hs:7:5-9"), place(7, 5, Some((7, 9))));
        assert_eq!(read("src/A.hs:(7,5)-(8,3)"), place(7, 5, Some((8, 3))));
        assert_eq!(read("Data.Area:12:16").map(|found| found.0).as_deref(), Some("Data.Area"));
        for wrong in ["", "src/A.hs", "src/A.hs:7", ":7:5", "src/A.hs:x:5", "7:5"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
