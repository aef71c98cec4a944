//! `compile_cure`: compiles a file of the project to BEAM files on the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{file_error, load, modules, work, worktree};
use project::visible;

use crate::answer::Room;
use crate::beam::{self, output};
use crate::compile::Sources;
use crate::diagnostic::{Diagnostic, code};
use crate::part::Cure;
use crate::report::{self, Diagnosis, diagnose};

/// The default output directory.
const OUTPUT: &str = "_build/mcp";

/// Compile a Cure file of the project to BEAM files: its modules and everything they use, the standard library among
/// it. Needs no Erlang; the files load on OTP 24 to 28. Gives the command line that runs `main/0` there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The file, relative to the project's root.
    pub file_path: PathBuf,
    /// The directory for the BEAM files, relative to the project's root; created if missing. Default:
    /// `_build/mcp`.
    pub output_dir: Option<PathBuf>,
}

/// Result of the compilation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the program has no errors and its files were written.
    pub ok: bool,
    /// The directory of the BEAM files, relative to the project's root.
    pub output_dir: PathBuf,
    /// The modules of the file that are there now, those of its state machines among them.
    pub modules: Vec<String>,
    /// Other modules that they use.
    pub uses: Vec<String>,
    /// The files that were written now, in the directory; the others held the same code already.
    pub written: Vec<String>,
    /// How many names of these lists are left out, because they do not fit into an answer.
    pub left_out: usize,
    /// Command line that runs `main/0` from the project's root; absent if there is no such function.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// Errors, which leave everything as it is, and warnings.
    #[serde(flatten)]
    pub said: Diagnosis,
}

pub(super) struct CompileCure(pub Arc<Cure>);

impl Tool for CompileCure {
    const NAME: &'static str = "compile_cure";
    const TITLE: &'static str = "Compile Cure";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let sources = modules(&self.0, &cx);
        let (code, _) = load(&cx, None, Some(&args.file_path))?;
        let root = worktree(&cx)?;
        work(usize::MAX, move || {
            let directory = args.output_dir.unwrap_or_else(|| OUTPUT.into());
            compiled(&root, &args.file_path, &code, directory, &sources)
        })
        .await?
    }

    fn text(output: &Output) -> String {
        if !output.ok {
            return report::titled_diagnostics("✗ Not compiled", &output.said);
        }
        let written = match &output.written[..] {
            [] => "nothing changed".to_owned(),
            names => format!("wrote {}", names.join(", ")),
        };
        let mut text =
            format!("✓ Compiled {} into {}: {written}", output.modules.join(", "), visible::path(&output.output_dir));
        if let Some(run) = &output.run {
            text.push_str(&format!("\nRun it with: {run}"));
        }
        if output.left_out > 0 {
            text.push_str(&format!("\n… {} more names are omitted; the directory has them", output.left_out));
        }
        report::titled_diagnostics(&text, &output.said)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "A file of the project",
            arguments: json!({ "file_path": "src/shapes.cure" }),
            text: None,
        }]
    }
}

fn compiled(
    root: &Path,
    path: &Path,
    text: &str,
    output_dir: PathBuf,
    sources: &dyn Sources,
) -> Result<Output, ToolError> {
    let mut room = Room::new();
    let compilation = crate::compile(text, sources);
    let mut found = compilation.diagnostics.clone();
    let mut output = Output {
        ok: false,
        output_dir,
        modules: vec![],
        uses: vec![],
        written: vec![],
        left_out: 0,
        run: None,
        said: Diagnosis::default(),
    };
    let mut told = |found: &[Diagnostic]| diagnose(found, text, &mut room, CompileCure::NAME);
    let faulty = compilation.faulty();
    if !compilation.is_ok() || !faulty.is_empty() {
        if compilation.is_ok() {
            let names = faulty.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            let message = format!("modules that this file uses have errors: {names}; `check_project` shows them");
            found.push(Diagnostic::error(code::CODEGEN, Default::default(), message));
        }
        return Ok(Output { said: told(&found), ..output });
    }
    let built = match beam::build(&compilation, &path.display().to_string(), text, sources) {
        Ok(built) => built,
        Err(error) => {
            found.push(error.diagnostic());
            return Ok(Output { said: told(&found), ..output });
        }
    };
    let directory = output::directory(root, &output.output_dir).map_err(file_error)?;
    let mut written = output::write(&directory, &built.files).map_err(file_error)?;
    written.iter_mut().for_each(|name| name.push_str(".beam"));
    output.run = built.mains.first().map(|module| beam::command_line(&output.output_dir, module));
    let said = told(&found);
    for (list, names) in
        [(&mut output.modules, built.own), (&mut output.uses, built.uses), (&mut output.written, written)]
    {
        let count = names.len();
        *list = room.first(names);
        output.left_out += count - list.len();
    }
    Ok(Output { ok: true, said, ..output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoSources;
    use crate::files::read;
    use expect_test::expect;

    fn answer(root: &Path, path: &str, directory: &str) -> String {
        let code = read(&root.join(path)).unwrap();
        match compiled(root, Path::new(path), &code, directory.into(), &NoSources) {
            Ok(output) => CompileCure::text(&output),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn a_file_becomes_files_that_erlang_runs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir(root.join("src")).unwrap();
        let gate = include_str!("../../examples/fsm_turnstile.cure");
        let wrong = "module Wrong do\n  def main(): Int = \"x\"\nend\n";
        let raises = "module Raises do\n  curify stop(why: Atom): Int = {erlang, error, 1}\n  def main(): Int =\n    1 + stop(:done)\nend\n";
        for (name, text) in [("gate", gate), ("wrong", wrong), ("raises", raises)] {
            std::fs::write(root.join(format!("src/{name}.cure")), text).unwrap();
        }
        expect![[r#"
            ✓ Compiled Gate, Gate.Turnstile into it's here: wrote Std.Core.beam, Std.Eq.beam, Std.Ord.beam, Std.Show.beam, Std.Fsm.beam, Gate.beam, Gate.Turnstile.beam, cure_fsm.Turnstile.beam, cure_fsm.beam, cure_main.beam
            Run it with: erl -noshell -pa 'it'\''s here' -eval "cure_main:run('Gate')."
        "#]]
        .assert_eq(&format!("{}\n", answer(root, "src/gate.cure", "it's here")));
        assert!(answer(root, "src/gate.cure", "it's here").contains("nothing changed"));
        expect![[r#"
            ✗ Not compiled
            2:21 error C0301: expected Int, found String
        "#]]
        .assert_eq(&format!("{}\n", answer(root, "src/wrong.cure", OUTPUT)));
        assert!(!root.join(OUTPUT).exists());
        assert!(answer(root, "src/gate.cure", "../out").contains("outside the project"));
        answer(root, "src/raises.cure", OUTPUT);
        if !testkit::has_program("erl") {
            return;
        }
        let run = |line: &str| {
            let output = std::process::Command::new("sh").args(["-c", line]).current_dir(root).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let gate = answer(root, "src/gate.cure", "it's here");
        assert_eq!(run(gate.split("Run it with: ").nth(1).unwrap()), "{ok,{'Unlocked',{'Turnstile',2}}}\n");
        // Stack traces name the file and the line.
        let trace = "erl -noshell -pa _build/mcp -eval \"try 'Raises':main() catch error:done:S -> io:format(\\\"~p\\\", [S]) end, halt().\"";
        let trace = run(trace);
        assert!(trace.contains("{'Raises',main,0,[{file,\"src/raises.cure\"},{line,4}]}"), "{trace}");
    }
}
