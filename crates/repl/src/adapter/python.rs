//! Python: hob's driver (`python_driver.py` and the other files named `python_…`) runs inside it and receives frames on a separate
//! descriptor. So standard input belongs to the program, ends are counted, and values and exceptions are separate from the output.

use serde::Deserialize;

use super::{Adapter, Barrier, Channel, Nonce, Plan, Printed, Refusal, Step, Verdict, frames};

/// The adapter for Python 3.8 and newer.
#[derive(Debug, Clone, Copy)]
pub struct Python;

/// The variable with a directory of the project's modules, which the driver removes from the environment.
pub const SOURCES_VARIABLE: &str = "HOB_SOURCES";

/// The variable with the directory for pictures, which the driver removes from the environment.
pub const PICTURES_VARIABLE: &str = "HOB_PICTURES";

/// The variable that asks for IPython, which the driver removes from the environment.
pub const IPYTHON_VARIABLE: &str = "HOB_IPYTHON";

/// The shell that runs the code of Python sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PythonShell {
    #[default]
    Python,
    /// IPython's `InteractiveShell`, where the session's environment has it.
    Ipython,
}

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
    include_str!("python_loop.py"),
    include_str!("python_values.py"),
    include_str!("python_ipython.py"),
    include_str!("python_sources.py"),
    include_str!("python_pictures.py"),
);

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
        Ok(frames::plan(code))
    }

    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        Ok(frames::plan_with_input(code))
    }

    fn number(&self, step: &mut Step, eval: u64) {
        frames::number(step, eval);
    }

    fn is_quit(&self, code: &str) -> bool {
        let code = code.trim();
        ["exit(", "quit(", "sys.exit(", "raise SystemExit"].iter().any(|start| code.starts_with(start))
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        frames::verdict(printed, "Python")
    }

    fn barrier(&self, _: &Nonce, _: u64) -> Barrier {
        // Only the driver reads frames, so counting is enough.
        Barrier { bytes: frames::frame('B', ""), echo: None }
    }

    fn quit(&self) -> Vec<u8> {
        frames::frame('Q', "")
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
