//! Python: hob's driver (`python_driver.py` with `python_library.py`, `python_sources.py` and `python_pictures.py`) runs inside
//! it and receives frames on a separate descriptor. So standard input belongs to the program, ends are counted, and values and exceptions are
//! separate from the output.

use serde::Deserialize;

use super::{Adapter, Barrier, Channel, Nonce, Plan, Printed, Refusal, SCRIPT_PATH, Step, Verdict};
use diagnostics::{Diagnostic, Severity, Source};

/// The adapter for Python 3.8 and newer.
#[derive(Debug, Clone, Copy)]
pub struct Python;

/// The variable with a directory of the project's modules, which the driver removes from the environment.
pub const SOURCES_VARIABLE: &str = "HOB_SOURCES";

/// The variable with the directory for pictures, which the driver removes from the environment.
pub const PICTURES_VARIABLE: &str = "HOB_PICTURES";

/// The arguments after the program: the script below. `-c` is not used, because Python 3.13 imports a module from the
/// path for it.
pub const ARGUMENTS: [&str; 1] = [process::GIVEN_PATH];

/// Reads the driver from the code descriptor and runs it, without looking for any file.
const SCRIPT: &str = "\
import posix
posix.close(int(__file__.rpartition('/')[2]))
frames = open(int(posix.environ[b'HOB_CODE_FD']), 'rb')
names = dict(vars(__builtins__))
exec(compile(frames.read(int(frames.readline())), '<hob>', 'exec'),
     {'__name__': 'hob', '__file__': '<hob>', '__builtins__': names, 'frames': frames, 'names': names})
";

const DRIVER: &str = concat!(
    include_str!("python_library.py"),
    "\n\n",
    include_str!("python_driver.py"),
    include_str!("python_sources.py"),
    include_str!("python_pictures.py"),
);

/// The driver's report about one frame.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Report {
    value: Option<String>,
    #[serde(rename = "type")]
    type_: Option<String>,
    exception: Option<String>,
    interrupted: bool,
    syntax: Option<Syntax>,
    /// The modules of the project that changed on disk after they were imported, separated by commas.
    changed: Option<String>,
    /// The files with pictures, one on each line.
    pictures: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Syntax {
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    message: String,
}

impl Adapter for Python {
    fn channel(&self) -> Channel {
        Channel::Apart
    }

    fn script(&self) -> Option<&'static str> {
        Some(SCRIPT)
    }

    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        let source = format!("{DRIVER}\nstart(\"{}\", frames, names)\n", nonce.as_str());
        format!("{}\n{source}", source.len()).into_bytes()
    }

    fn version(&self, banner: &str) -> Option<String> {
        banner.lines().find_map(|line| line.strip_prefix("Python ")?.split_whitespace().next()).map(str::to_owned)
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        let step = Step { bytes: frame('E', code), advance: 1, script: None };
        Ok(Plan { steps: vec![step], notes: Vec::new() })
    }

    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        let bytes = format!("I {} {SCRIPT_PATH}\n{code}", code.len()).into_bytes();
        let step = Step { bytes, advance: 1, script: None };
        Ok(Plan { steps: vec![step], notes: Vec::new() })
    }

    fn number(&self, step: &mut Step, eval: u64) {
        if let Some(end) = step.bytes.iter().position(|&byte| byte == b'\n') {
            step.bytes.splice(end..end, format!(" {eval}").into_bytes());
        }
    }

    fn is_quit(&self, code: &str) -> bool {
        let code = code.trim();
        ["exit(", "quit(", "sys.exit(", "raise SystemExit"].iter().any(|start| code.starts_with(start))
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        let report: Report = match serde_json::from_str(printed.payload) {
            Ok(report) => report,
            // The marker is missing; the session reports the reason.
            Err(_) if printed.payload.is_empty() => return Verdict { error: true, ..Verdict::default() },
            Err(error) => {
                let exception = Some(format!("how the evaluation ended cannot be read from Python's report ({error})"));
                return Verdict { error: true, exception, ..Verdict::default() };
            }
        };
        let diagnostic = |syntax: Syntax| Diagnostic {
            file: None,
            line: syntax.line,
            column: syntax.column,
            end_line: syntax.end_line,
            // Python's end is exclusive; an empty span ends at its start.
            end_column: syntax.end_column.map(|end| end.saturating_sub(1).max(syntax.column.unwrap_or(1))),
            severity: Severity::Error,
            code: None,
            flag: None,
            message: syntax.message,
            hints: Vec::new(),
            source: Source::Interactive,
        };
        Verdict {
            error: report.exception.is_some(),
            diagnostics: report.syntax.map(diagnostic).into_iter().collect(),
            // Code may raise KeyboardInterrupt itself.
            interrupted: report.interrupted && printed.interrupting,
            signal: None,
            exception: report.exception,
            value: report.value,
            type_: report.type_,
            load: None,
            notes: report.changed.iter().map(|modules| changed_note(modules)).collect(),
            pictures: report.pictures.iter().flat_map(|paths| paths.lines()).map(str::to_owned).collect(),
        }
    }

    fn barrier(&self, _: &Nonce, _: u64) -> Barrier {
        // Only the driver reads frames, so counting is enough.
        Barrier { bytes: frame('B', ""), echo: None }
    }

    fn quit(&self) -> Vec<u8> {
        frame('Q', "")
    }

    fn prompt(&self, _: &str) -> String {
        ">>> ".to_owned()
    }

    fn replayable(&self, code: &str) -> bool {
        // Imports and definitions, judged by the first word of each unindented line. An assignment may call anything,
        // so it does not count.
        const STARTS: [&str; 7] = ["import ", "from ", "def ", "class ", "async def ", "@", "#"];
        let mut any = false;
        for line in code.lines().filter(|line| !line.trim().is_empty() && !line.starts_with([' ', '\t', ')', ']', '}']))
        {
            if !STARTS.iter().any(|start| line.starts_with(start)) || line.contains(';') {
                return false;
            }
            any |= !line.starts_with('#');
        }
        any
    }
}

/// Returns the note about imported modules, separated by commas, that are older than their files.
fn changed_note(modules: &str) -> String {
    let (it, version) = if modules.contains(',') { ("they were", "versions") } else { ("it was", "version") };
    format!(
        "{modules} changed on disk after {it} imported; importlib.reload(MODULE) loads the new {version}, and repl_restart \
         starts the session again."
    )
}

/// Encodes the kind, the length of the code and, for an evaluation, its number; then the code. A frame with input has
/// the file's path before the number.
fn frame(kind: char, code: &str) -> Vec<u8> {
    format!("{kind} {}\n{code}", code.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(payload: &str) -> Verdict {
        Python.classify(Printed { code: "", stdout: "", stderr: "", payload, interrupting: false })
    }

    #[test]
    fn reports_are_read() {
        let verdict = judge(r#"{"type": "int", "value": "2"}"#);
        assert_eq!(
            (verdict.error, verdict.value.as_deref(), verdict.type_.as_deref()),
            (false, Some("2"), Some("int"))
        );
        let payload = r#"{"exception": "KeyboardInterrupt", "interrupted": true}"#;
        let verdict = judge(payload);
        assert!(verdict.error && !verdict.interrupted, "it raised it by itself");
        let printed = Printed { code: "", stdout: "", stderr: "", payload, interrupting: true };
        assert!(Python.classify(printed).interrupted);
        let verdict = judge(
            r#"{"exception": "SyntaxError: bad", "syntax": {"line": 1, "column": 3, "message": "bad", "end_column": 3}}"#,
        );
        assert_eq!(verdict.diagnostics[0].end_column, Some(3));
        for unreadable in ["", "not JSON", "{", r#"{"value": 1}"#, r#"{"syntax": {"line": -1, "message": ""}}"#] {
            assert!(judge(unreadable).error, "{unreadable}");
        }
        assert!(judge("not JSON").exception.is_some());
    }

    #[test]
    fn only_definitions_are_replayed() {
        for code in ["import os", "def f(x):\n    return g(x)\n", "from a import (\n  b,\n)", "@d\nclass A:\n  x = f()"]
        {
            assert!(Python.replayable(code), "{code}");
        }
        for code in ["x = f()", "import os; os.remove('x')", "f()", "# only a comment", "if x:\n  f()"] {
            assert!(!Python.replayable(code), "{code}");
        }
    }

    #[test]
    fn frames_say_their_length_in_bytes() {
        let plan = Python.plan("é\n").expect("anything goes");
        assert_eq!(plan.steps[0].bytes, "E 3\né\n".as_bytes());
        let mut step = plan.steps[0].clone();
        Python.number(&mut step, 17);
        assert_eq!(step.bytes, "E 3 17\né\n".as_bytes());
    }
}
