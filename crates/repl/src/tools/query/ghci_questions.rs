//! Asks GHCi each question, and parses its answer.

use std::path::{Path, PathBuf};

use mcp::tool::ToolError;
use tokio::time::Instant;

use super::position::{format_location, span};
use super::{Args, Output, Position, Question};
use crate::profile::{Component, components};
use crate::query::{self, Loaded, Location};
use crate::session::Handle;
use diagnostics::Severity;
use diagnostics::ghc;

/// The maximum number of completions, exports and locations in one answer.
const MANY: usize = 200;
/// The maximum number of modules searched for a name that is not in scope at the prompt.
const MODULES: usize = 30;
/// A position after the end of every file, for questions about a name anywhere in it.
const NOWHERE: &str = "9999999 1 9999999 1";

pub(super) struct Asking {
    pub(super) handle: Handle,
    /// The worktree.
    pub(super) root: PathBuf,
    pub(super) until: Instant,
}

/// GHCi's output.
struct Answer {
    stdout: String,
    stderr: String,
}

impl Asking {
    /// Asks a question and parses the answer.
    pub(super) async fn answer(&self, args: &Args) -> Result<Output, ToolError> {
        match args.kind {
            Question::TypeAt | Question::LocAt | Question::Uses => {
                let Some(position) = Position::from_args(args)? else {
                    let error = ToolError::user(format!("{} needs a position.", name(args.kind)));
                    return Err(error.hint("Give `at`, such as \"src/Area.hs:8:15\"."));
                };
                self.at(args.kind, &position).await
            }
            Question::Holes => self.holes(args.target.as_deref()).await,
            kind => {
                let target = args.target.as_deref().map(str::trim).unwrap_or_default();
                if target.is_empty() && kind != Question::Browse {
                    let error = ToolError::user(format!("{} needs a `target`.", name(kind)));
                    return Err(error.hint("Give the name or expression in `target`."));
                }
                one_line(target)?;
                self.about(kind, target).await
            }
        }
    }

    async fn about(&self, kind: Question, target: &str) -> Result<Output, ToolError> {
        let mut answer = self.ask(&line(kind, target)).await?;
        if let Some(output) = read(kind, target, &answer) {
            return Ok(output);
        }
        // At a package's prompt only one module is in scope. Names in other modules are found by their full name.
        if matches!(kind, Question::Type | Question::Info | Question::Doc | Question::Kind | Question::Instances)
            && is_name(target)
        {
            for module in self.modules().await?.iter().take(MODULES) {
                let qualified = if target.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    format!("{}.{target}", module.module)
                } else {
                    format!("({}.{})", module.module, target.trim_matches(['(', ')']))
                };
                let elsewhere = self.ask(&line(kind, &qualified)).await?;
                if let Some(mut output) = read(kind, &qualified, &elsewhere) {
                    let note = format!("{target} is not in scope at the prompt; it was found as {qualified}.");
                    output.notes.push(note);
                    return Ok(output);
                }
                // The name exists but has no documentation: that is the better reason.
                if !elsewhere.stderr.contains("ot in scope") {
                    answer = elsewhere;
                }
            }
        }
        Err(self.refusal(kind, target, &answer))
    }

    async fn at(&self, kind: Question, position: &Position) -> Result<Output, ToolError> {
        let cwd = self.handle.info().cwd;
        one_line(&position.file)?;
        let modules = self.modules().await?;
        let Some(module) = modules.iter().find(|module| module.is(&position.file, &cwd)) else {
            return Err(self.not_loaded(&position.file, &modules, &cwd));
        };
        let (span, text) = span(position, &module.file, &cwd)?;
        let command = match kind {
            Question::TypeAt => "type-at",
            Question::LocAt => "loc-at",
            _ => "uses",
        };
        let line = format!(":{command} {} {span} {text}", quoted_path(&module.file));
        let mut notes = Vec::new();
        let mut answer = self.ask(&line).await?;
        if lacks_information(&answer) {
            // Locations are known only for modules loaded under `+c`.
            self.ask(":set +c").await?;
            self.ask(":reload").await?;
            notes.push(
                "Each load now collects position information (:set +c). For this the modules were reloaded once, and \
                 bindings made at the prompt are gone."
                    .to_owned(),
            );
            answer = self.ask(&line).await?;
        }
        let target = if text.is_empty() { format_location(position, &module.file) } else { text.clone() };
        let mut output = Output { target, notes, ..Output::default() };
        if kind == Question::TypeAt {
            output.type_ = query::typed(&text, &answer.stdout).map(|typed| typed.type_);
        } else {
            let mut found = query::locations(&(answer.stdout.clone() + &answer.stderr));
            if kind == Question::Uses {
                self.all_uses(&text, &modules, &mut found, &mut output.notes).await?;
                output.notes.extend(self.unloaded_uses_note(&modules, &cwd));
                output.notes.push(unlisted(&text));
            }
            if found.len() > MANY {
                output.notes.push(format!("{} places; the first {MANY} are shown.", found.len()));
                found.truncate(MANY);
            }
            output.locations = Some(found).filter(|found| !found.is_empty());
        }
        if output.type_.is_none() && output.locations.is_none() {
            return Err(self.refusal(kind, &output.target, &answer));
        }
        Ok(output)
    }

    /// Finds the uses of a name. GHCi searches one module only, starting from a definition. By text it finds a name in
    /// every module where it is in scope, and resolves it there: only the same definition counts.
    async fn all_uses(
        &self,
        name: &str,
        modules: &[Loaded],
        found: &mut Vec<Location>,
        notes: &mut Vec<String>,
    ) -> Result<(), ToolError> {
        let qualified = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let name = if qualified { name.rsplit('.').next().unwrap_or(name) } else { name };
        let Some(definition) = found.first().cloned().filter(|_| !name.is_empty()) else { return Ok(()) };
        for module in modules.iter().take(MODULES) {
            let answer = self.ask(&format!(":uses {} {NOWHERE} {name}", quoted_path(&module.file))).await?;
            let uses = query::locations(&(answer.stdout + &answer.stderr));
            if uses.first() == Some(&definition) {
                let new: Vec<Location> = uses.into_iter().filter(|place| !found.contains(place)).collect();
                found.extend(new);
            }
        }
        if modules.len() > MODULES {
            notes.push(format!("{} modules are loaded; {MODULES} of them were searched.", modules.len()));
        }
        Ok(())
    }

    /// Returns the error for a file that GHCi has not loaded.
    fn not_loaded(&self, file: &str, modules: &[Loaded], cwd: &Path) -> ToolError {
        let known: Vec<&str> = modules.iter().take(MODULES).map(|module| module.file.as_str()).collect();
        let error = ToolError::user(format!("{file} is not loaded in this session."));
        let is_there = cwd.join(file).is_file();
        if let Some(failed) = self.failed_load().filter(|_| is_there) {
            return error.hint(failed);
        }
        let components = self.not_among(modules, cwd);
        let near = components.iter().filter_map(|component| Some((component.depth(&cwd.join(file))?, component)));
        let nearest = near.max_by_key(|(depth, _)| *depth).map(|(_, component)| component);
        match (nearest, known.is_empty()) {
            (Some(component), _) => error.hint(format!("It belongs to {}: {}.", component.name, component.start())),
            (None, true) if !is_there => error.hint("Nothing is loaded; repl_reload with `targets` loads files."),
            (None, true) => {
                let arguments = serde_json::json!({"session": self.handle.info().name, "targets": [file]});
                error.hint(format!("Nothing is loaded; repl_reload {arguments} loads it."))
            }
            (None, false) => {
                error.hint(format!("Loaded are {}; repl_reload with `targets` loads others.", known.join(", ")))
            }
        }
    }

    /// Returns the errors of the last load, as a hint.
    fn failed_load(&self) -> Option<String> {
        self.handle.loads().borrow().failure(&self.handle.info().name)
    }

    /// Returns the note on uses in components of the package that GHCi has not loaded.
    fn unloaded_uses_note(&self, modules: &[Loaded], cwd: &Path) -> Option<String> {
        if self.failed_load().is_some() {
            return Some("The last load failed: dependent modules are not loaded and were not searched.".to_owned());
        }
        let components = self.not_among(modules, cwd);
        let names: Vec<&str> = components.iter().map(|component| &*component.name).collect();
        let first = components.first()?;
        Some(format!("Not loaded, and not searched: {}; {}.", names.join(", "), first.start()))
    }

    /// Returns the components of the package that contain none of these modules.
    fn not_among(&self, modules: &[Loaded], cwd: &Path) -> Vec<Component> {
        let mut all = components(cwd, &self.root);
        all.retain(|component| !modules.iter().any(|module| component.has(&module.module, &cwd.join(&module.file))));
        all
    }

    async fn holes(&self, target: Option<&str>) -> Result<Output, ToolError> {
        let target = target.map(str::trim).filter(|target| !target.is_empty());
        let list = match target {
            Some(expression) => {
                one_line(expression)?;
                let answer = self.ask(&format!(":type {expression}")).await?;
                let found = query::holes(&ghc::parse(&answer.stderr).diagnostics);
                if found.is_empty() && query::typed(expression, &answer.stdout).is_none() {
                    return Err(self.refusal(Question::Holes, expression, &answer));
                }
                found
            }
            None => query::holes(&self.handle.loads().borrow().diagnostics),
        };
        let target = target.unwrap_or("the loaded modules").to_owned();
        Ok(Output { target, holes: Some(list), ..Output::default() })
    }

    async fn modules(&self) -> Result<Vec<Loaded>, ToolError> {
        Ok(query::loaded(&self.ask(":show modules").await?.stdout))
    }

    async fn ask(&self, line: &str) -> Result<Answer, ToolError> {
        let left = self.until.saturating_duration_since(Instant::now());
        let raw = self.handle.command(line, left).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Answer { stdout: text(&raw.stdout), stderr: text(&raw.stderr) })
    }

    /// Returns the refusal, in the compiler's words.
    fn refusal(&self, kind: Question, target: &str, answer: &Answer) -> ToolError {
        let parsed = ghc::parse(&answer.stderr);
        let said = parsed.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        let message = match said {
            Some(diagnostic) => diagnostic.full(),
            None => match [answer.stderr.trim(), answer.stdout.trim()].into_iter().find(|text| !text.is_empty()) {
                Some(text) => format!("{target}: {text}"),
                None => format!("GHCi has no answer about {target}."),
            },
        };
        let error = ToolError::user(message);
        // The name is not in scope, although every module that compiles is.
        if kind != Question::Browse
            && let Some(failed) = self.failed_load()
        {
            return error.hint(failed);
        }
        match kind {
            Question::Doc if answer.stdout.contains("no documentation") || answer.stderr.contains("-haddock") => {
                error.hint("It has no documentation that GHCi can see; `info` shows its declaration.")
            }
            Question::Uses => error.hint(format!("Point `at` at a name in code that compiles. {}", unlisted(target))),
            Question::TypeAt | Question::LocAt => {
                error.hint("Point `at` at a name in code that compiles; repl_reload shows whether it does.")
            }
            Question::Browse => error.hint("`target` is a module's name, such as Data.Map."),
            _ => error.hint(
                "Only names in scope can be queried: give the full name (Module.name), or `:module +` the module with \
                 repl_eval.",
            ),
        }
    }
}

fn line(kind: Question, target: &str) -> String {
    match kind {
        Question::Kind => format!(":kind! {target}"),
        Question::Info => format!(":info {target}"),
        Question::Doc => format!(":doc {target}"),
        Question::Browse => format!(":browse {target}"),
        Question::Instances => format!(":instances {target}"),
        Question::Complete => query::complete_command(target, MANY),
        Question::Type | Question::TypeAt | Question::LocAt | Question::Uses | Question::Holes => {
            format!(":type {target}")
        }
    }
}

fn read(kind: Question, target: &str, answer: &Answer) -> Option<Output> {
    let mut output = Output { target: target.to_owned(), ..Output::default() };
    match kind {
        Question::Info => output.info = Some(query::info(&answer.stdout)?),
        Question::Doc => output.doc = Some(query::doc(&answer.stdout)?),
        Question::Browse => {
            let mut items = query::browse(&answer.stdout);
            if items.is_empty() && !answer.stderr.trim().is_empty() {
                return None;
            }
            if items.len() > MANY {
                output.notes.push(format!("{} results; the first {MANY} are shown.", items.len()));
                items.truncate(MANY);
            }
            output.items = Some(items);
        }
        Question::Instances => {
            let list = query::instances(&answer.stdout);
            if list.is_empty() && !answer.stderr.trim().is_empty() {
                return None;
            }
            output.instances = Some(list);
        }
        Question::Complete => output.completions = Some(query::completions(&answer.stdout)?),
        Question::Type | Question::Kind | Question::TypeAt | Question::LocAt | Question::Uses | Question::Holes => {
            let typed = query::typed(target, &answer.stdout)?;
            // A type equal to itself is omitted.
            output.normal_form = typed.normal_form.filter(|normal| normal != target);
            output.type_ = Some(typed.type_);
        }
    }
    Some(output)
}

/// Explains which uses of a name GHCi does not list, and names the tool that does.
fn unlisted(name: &str) -> String {
    let bare = name.trim_matches(['(', ')']);
    let is_word = bare.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let bare = if is_word { bare.rsplit('.').next().unwrap_or(bare) } else { bare };
    let arguments = serde_json::json!({"name": bare});
    format!(
        "GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {arguments} lists them all."
    )
}

fn lacks_information(answer: &Answer) -> bool {
    let marks = ["Couldn't guess that module name", "Couldn't find", "No module info", "not an expression"];
    marks.iter().any(|mark| answer.stdout.contains(mark) || answer.stderr.contains(mark))
        || answer.stderr.contains("Variable not in scope")
        || answer.stdout.contains("Couldn't resolve")
}

fn quoted_path(path: &str) -> String {
    if path.contains(' ') { format!("\"{path}\"") } else { path.to_owned() }
}

fn one_line(text: &str) -> Result<(), ToolError> {
    if text.contains(['\n', '\r']) {
        return Err(ToolError::user("A question has one line.").hint("Use repl_eval for code of several lines."));
    }
    Ok(())
}

/// Returns true for a name without qualification: nothing else is searched for in other modules.
fn is_name(target: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let operator = |c: char| "!#$%&*+./<=>?@\\^|-~:".contains(c);
    let bare = target.trim_matches(['(', ')']);
    !bare.is_empty() && (target.chars().all(word) || bare.chars().all(operator))
}

fn name(kind: Question) -> &'static str {
    match kind {
        Question::Type => "type",
        Question::Kind => "kind",
        Question::Info => "info",
        Question::Doc => "doc",
        Question::Browse => "browse",
        Question::Instances => "instances",
        Question::Complete => "complete",
        Question::TypeAt => "type_at",
        Question::LocAt => "loc_at",
        Question::Uses => "uses",
        Question::Holes => "holes",
    }
}
