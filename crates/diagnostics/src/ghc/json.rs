//! GHC's machine form (`-fdiagnostics-as-json`, 9.10 and newer): one object a line on standard error.
//!
//! Schema 1.0 and 1.1 (which adds the reason) are supported; unknown fields are ignored, since the compiler may add more.

use serde::Deserialize;

use super::hints::split_hints;
use crate::{Diagnostic, Severity, Source};

/// Returns the diagnostic on this line, if there is one.
pub(super) fn parse_line(line: &str) -> Option<Diagnostic> {
    // The cheap test first: most lines are a program's output.
    if !line.starts_with("{\"version\"") {
        return None;
    }
    let message: Message = serde_json::from_str(line).ok()?;
    let file = message.span.as_ref().map(|span| span.file.as_str());
    // Hints inside a message are hints too, as in the text form.
    let (text, mut hints) = split_hints(&bullets(&message.message));
    hints.extend(message.hints);
    let source = if file == Some("<interactive>") { Source::Interactive } else { Source::File };
    Some(Diagnostic {
        file: file.filter(|file| !file.starts_with('<')).map(str::to_owned),
        line: message.span.as_ref().map(|span| span.start.line),
        column: message.span.as_ref().map(|span| span.start.column),
        end_line: message.span.as_ref().map(|span| span.end.line),
        // The end is exclusive here; an empty span points at one character.
        end_column: message
            .span
            .as_ref()
            .map(|span| if span.start == span.end { span.end.column } else { span.end.column.saturating_sub(1) }),
        severity: match message.severity.as_str() {
            "Warning" => Severity::Warning,
            _ => Severity::Error,
        },
        code: message.code.map(|code| format!("GHC-{code:05}")),
        flag: message.reason.and_then(Reason::name),
        message: text,
        hints,
        source,
    })
}

#[derive(Deserialize)]
struct Message {
    span: Option<JsonSpan>,
    severity: String,
    code: Option<u32>,
    message: Vec<String>,
    #[serde(default)]
    hints: Vec<String>,
    reason: Option<Reason>,
}

#[derive(Deserialize)]
struct JsonSpan {
    file: String,
    start: Position,
    end: Position,
}

#[derive(Deserialize, PartialEq)]
struct Position {
    line: u32,
    column: u32,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    flags: Vec<String>,
    category: Option<String>,
}

impl Reason {
    fn name(self) -> Option<String> {
        self.flags.into_iter().next().or(self.category).map(|flag| format!("-W{flag}"))
    }
}

/// Formats the parts like the text form: a list only if there are several.
fn bullets(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        parts => {
            let item = |part: &String| format!("• {}", part.replace('\n', "\n  "));
            parts.iter().map(item).collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use expect_test::{Expect, expect};

    fn check(input: &str, expected: Expect) {
        let list = parse(input).diagnostics;
        expected.assert_eq(&serde_json::to_string_pretty(&list).expect("serializable"));
    }

    #[test]
    fn a_span_parts_and_hints() {
        check(
            concat!(
                r#"{"version":"1.0","ghcVersion":"ghc-9.10.1","span":{"file":"Foo.hs","start":{"line":2,"column":7},"#,
                r#""end":{"line":2,"column":11}},"severity":"Error","code":88464,"message":["Variable not in scope: "#,
                r#"fold"],"hints":["Perhaps use one of these:\n  `foldl' (imported from Prelude)"]}"#,
            ),
            expect![[r#"
                [
                  {
                    "file": "Foo.hs",
                    "line": 2,
                    "column": 7,
                    "end_line": 2,
                    "end_column": 10,
                    "severity": "error",
                    "code": "GHC-88464",
                    "message": "Variable not in scope: fold",
                    "hints": [
                      "Perhaps use one of these:\n  `foldl' (imported from Prelude)"
                    ],
                    "source": "file"
                  }
                ]"#]],
        );
    }

    #[test]
    fn several_parts_no_span_and_a_reason() {
        check(
            concat!(
                r#"{"version":"1.1","ghcVersion":"ghc-9.12.1","span":null,"severity":"Error","code":49196,"#,
                r#""message":["Can't find Foo.hs"],"hints":[]}"#,
                "\nnot a diagnostic {\n",
                r#"{"version":"1.1","ghcVersion":"ghc-9.12.1","span":{"file":"<interactive>","start":{"line":1,"#,
                r#""column":3},"end":{"line":1,"column":3}},"severity":"Warning","code":4711,"message":["One","Two\nmore"],"#,
                r#""hints":[],"reason":{"flags":["unused-imports"]}}"#,
            ),
            expect![[r#"
                [
                  {
                    "severity": "error",
                    "code": "GHC-49196",
                    "message": "Can't find Foo.hs",
                    "source": "file"
                  },
                  {
                    "line": 1,
                    "column": 3,
                    "end_line": 1,
                    "end_column": 3,
                    "severity": "warning",
                    "code": "GHC-04711",
                    "flag": "-Wunused-imports",
                    "message": "• One\n• Two\n  more",
                    "source": "interactive"
                  }
                ]"#]],
        );
    }
}
