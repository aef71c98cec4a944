//! `check_project`: checks all modules of a project; the next time, only those affected by a change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{resolve_path, work, worktree};
use crate::answer::Room;
use crate::diagnostic::{Diagnostic, Lines};
use crate::limit::{self, Count};
use crate::part::Cure;
use crate::report::{Reported, line, reported};
use crate::workspace::{FileReport, Report};

/// Maximum number of diagnostics in one answer; errors come first.
const MOST: usize = 200;
/// Maximum size of the list of files that could not be read, in bytes.
const UNREAD: usize = 8_000;

/// Check all Cure modules of a project or of a directory of it. Modules find each other by the names they declare.
/// Only what changed since the last call is checked again: modules whose text changed, and those that use one whose
/// interface changed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A directory or a file of the project, relative to its root. Default: the whole project.
    pub path: Option<PathBuf>,
}

/// Result of the check.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the project has no errors.
    pub ok: bool,
    /// How many files were looked at.
    pub files: usize,
    /// How many modules are in them.
    pub modules: usize,
    /// How many modules were checked now, those elsewhere that these use among them. The others were known from before.
    pub checked: usize,
    /// How many errors there are.
    pub errors: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// Errors, then warnings, by file; at most 200.
    pub diagnostics: Vec<InFile>,
    /// Files that could not be read, or that were left out because the project has more text than is kept, and why.
    pub unread: Vec<String>,
    /// Omitted parts, and the next call that returns them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more: Option<String>,
}

/// A diagnostic and its file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InFile {
    /// The file, relative to the project's root.
    pub file: String,
    /// The diagnostic.
    #[serde(flatten)]
    pub said: Reported,
}

pub(super) struct CheckProject(pub Arc<Cure>);

impl Tool for CheckProject {
    const NAME: &'static str = "check_project";
    const TITLE: &'static str = "Check a Cure project";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let worktree = worktree(&cx)?;
        let below = resolve_path(&worktree, args.path.as_deref().unwrap_or(Path::new(".")))?;
        let cure = self.0.clone();
        work(usize::MAX, move || {
            let report = cure.check(&worktree, &below);
            if report.files.is_empty() && report.left_out.is_empty() {
                let error = ToolError::user(format!("No Cure files at or below {}.", project::visible::path(&below)));
                return Err(error.hint("Cure files end in `.cure`; hidden and build directories are skipped."));
            }
            let root = worktree.canonicalize().unwrap_or(worktree);
            Ok(output(report, &root))
        })
        .await?
    }

    fn text(output: &Output) -> String {
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let all = format!("{} in {}", count(output.modules, "module"), count(output.files, "file"));
        let mut text = match (output.ok, output.warnings) {
            (true, 0) => format!("✓ {all}"),
            (true, warnings) => format!("✓ {all}, {}", count(warnings, "warning")),
            (false, warnings) => {
                format!("✗ {} and {} in {all}", count(output.errors, "error"), count(warnings, "warning"))
            }
        };
        text.push_str(&format!("; {} checked", output.checked));
        output.unread.iter().for_each(|file| text.push_str(&format!("\n✗ {file}")));
        output
            .diagnostics
            .iter()
            .for_each(|one| text.push_str(&format!("\n{}:{}", project::visible(&one.file), line(&one.said))));
        if let Some(more) = &output.more {
            text.push_str(&format!("\n… {more}"));
        }
        text
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "The modules below src", arguments: json!({ "path": "src" }), text: None }]
    }
}

fn output(report: Report, root: &Path) -> Output {
    let short = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut output = Output {
        ok: report.is_ok() && report.left_out.is_empty(),
        files: report.files.len(),
        modules: report.modules,
        checked: report.checked.len(),
        errors: 0,
        warnings: 0,
        diagnostics: Vec::new(),
        unread: Vec::new(),
        more: None,
    };
    let mut unread = Vec::new();
    let mut found: Vec<(&FileReport, &Diagnostic)> = Vec::new();
    for file in &report.files {
        unread.extend(file.problem.clone());
        let Count { errors, warnings } = limit::counted(&file.diagnostics);
        (output.errors, output.warnings) = (output.errors + errors, output.warnings + warnings);
        found.extend(file.diagnostics.iter().filter(|one| !limit::closes(one)).map(|one| (file, one)));
    }
    let left_out = |path: &PathBuf| format!("{} was skipped: the project is too large", project::visible(&short(path)));
    unread.extend(report.left_out.iter().map(left_out));
    let mut room = Room::new();
    let mut share = room.share(UNREAD);
    let count = unread.len();
    output.unread = share.first(unread);
    room.rest(share);
    found.sort_by_key(|(_, one)| one.severity);
    found.truncate(MOST);
    let mut lines: Option<(&FileReport, Lines)> = None;
    for (file, one) in found {
        let known = lines.take().filter(|(known, _)| std::ptr::eq(*known, file));
        let known = known.unwrap_or_else(|| (file, Lines::new(&file.text)));
        let in_file = InFile { file: short(&file.path), said: reported(one, &known.1) };
        // In the text, characters of a name that are not visible are written out.
        let fits = room.takes(&(&in_file, project::visible(&in_file.file)));
        lines = Some(known);
        if !fits {
            break;
        }
        output.diagnostics.push(in_file);
    }
    let left = (output.errors + output.warnings).saturating_sub(output.diagnostics.len());
    let missing = count - output.unread.len();
    output.more = match (left, missing) {
        (0, 0) => None,
        (0, missing) => Some(format!("{missing} more files are unread")),
        (left, _) => Some(format!(
            "{left} more errors and warnings are omitted: fix these, then call check_project again, with `path` for \
             one directory or file"
        )),
    };
    output
}
