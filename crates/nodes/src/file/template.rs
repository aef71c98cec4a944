//! The body of a node file: a Jinja template (minijinja) whose blocks `system` and `user` become messages. Without blocks the
//! whole body is the user message.
//!
//! Undefined names are errors, loops are bounded, and only files in the folder of node files can be included. A missing
//! optional input is empty. `| data` frames an external text so that its content cannot close the frame.

use std::io;
use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, ErrorKind, Output, State, UndefinedBehavior, Value as Jinja};
use regex::Regex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Problem;
use super::include::{Parts, names};
use super::subset;
use super::template_paths::{self, PathProblems};

/// The template engine and its version. Another version may render differently.
pub(crate) const ENGINE: &str = "minijinja 3.1.0";
const NAME: &str = "body";
/// The maximum number of template engine instructions per rendering.
const FUEL: u64 = 2_000_000;
/// The maximum length of a rendered text in bytes.
const TEXT_MAX: usize = 32 * 1024 * 1024;
/// The built-in names of the engine.
const FUNCTIONS: &[&str] = &["range", "dict", "namespace", "debug", "true", "false", "none", "loop", "self", "caller"];

/// A compiled body.
#[derive(Debug)]
pub(crate) struct Template {
    environment: Environment<'static>,
    /// True if it has blocks; else it is one message.
    has_blocks: bool,
    has_system: bool,
    /// The number of lines before it in its file.
    offset: usize,
    /// The names of its included files.
    parts: Vec<String>,
}

/// The rendered messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub system: Option<String>,
    pub user: String,
}

impl Template {
    /// Compiles a body whose first line is the one after `offset` in its file.
    pub(super) fn new(body: &str, offset: usize, parts: &Parts) -> Result<Template, Vec<Problem>> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(100);
        environment.set_formatter(format);
        environment.add_filter("data", data);
        let (blocks, mut problems) = split_blocks(body, offset);
        problems.extend(names(body).into_iter().filter_map(|include| {
            let why = match &include.name {
                Err(why) => why.clone(),
                Ok(name) => format!("it includes {name}: {}", parts.0.get(name)?.as_ref().err()?),
            };
            Some(Problem::at(offset + include.line, why))
        }));
        problems.extend(parts.texts().filter_map(|(name, text)| {
            let (line, why) = wrong(text, parts)?;
            Some(Problem::at(offset + 1, format!("{name}:{line}: {why}")))
        }));
        if let Some(name) = parts.circle() {
            problems.push(Problem::at(offset + 1, format!("{name} includes itself")));
        }
        if problems.is_empty() {
            problems.extend(
                subset::body(body).into_iter().map(|problem| Problem { line: offset + problem.line, ..problem }),
            );
            problems.extend(parts.texts().flat_map(|(name, text)| {
                subset::body(text).into_iter().map(move |problem| Problem::at(offset + 1, format!("{name}:{problem}")))
            }));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        environment
            .add_template_owned(NAME.to_owned(), body.to_owned())
            .map_err(|error| vec![problem(&error, offset)])?;
        for (name, text) in parts.texts() {
            let added = environment.add_template_owned(name.to_owned(), text.to_owned());
            added.map_err(|error| vec![problem(&error, offset)])?;
        }
        let parts = parts.texts().map(|(name, _)| name.to_owned()).collect();
        let has = |name: &str| blocks.iter().any(|block| block == name);
        Ok(Template { environment, has_blocks: has("user"), has_system: has("system"), offset, parts })
    }

    /// Returns the names that it reads and does not set itself.
    pub(super) fn variables(&self) -> Vec<String> {
        let all = std::iter::once(NAME).chain(self.parts.iter().map(String::as_str));
        let templates = all.filter_map(|name| self.environment.get_template(name).ok());
        let mut names: Vec<String> = templates.flat_map(|template| template.undeclared_variables(false)).collect();
        names.retain(|name| !FUNCTIONS.contains(&name.as_str()));
        names.sort();
        names.dedup();
        names
    }

    /// Checks the paths that it reads. Paths that a call may omit are not reported for included texts, because a condition
    /// around the include may check for them.
    pub(super) fn read(&self, input: &Value, defaults: &Map<String, Value>) -> PathProblems {
        let texts = std::iter::once(NAME).chain(self.parts.iter().map(String::as_str));
        let mut all = PathProblems::default();
        for name in texts {
            let Ok(template) = self.environment.get_template(name) else { continue };
            let PathProblems { impossible, absent } = template_paths::read(template.source(), input, defaults);
            if name != NAME {
                let placed = |problem| Problem::at(self.offset + 1, format!("{name}:{problem}"));
                all.impossible.extend(impossible.into_iter().map(placed));
                continue;
            }
            let placed = |problem: Problem| Problem { line: self.offset + problem.line, ..problem };
            all.impossible.extend(impossible.into_iter().map(placed));
            all.absent.extend(absent.into_iter().map(placed));
        }
        all
    }

    /// Renders with sample inputs to find unknown filters, tests and functions.
    pub(super) fn rehearse(&self, inputs: &Map<String, Value>) -> Option<Problem> {
        let error = self.parts(inputs).err()?;
        let is_certain = matches!(
            innermost(&error).kind(),
            ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction
        );
        is_certain.then(|| problem(&error, self.offset))
    }

    /// Renders the messages.
    pub(crate) fn render(&self, inputs: &Map<String, Value>) -> Result<Rendered, Problem> {
        self.parts(inputs).map_err(|error| problem(&error, self.offset))
    }

    fn parts(&self, inputs: &Map<String, Value>) -> Result<Rendered, minijinja::Error> {
        let mut text = Bounded::default();
        let template = self.environment.get_template(NAME)?;
        let mut whole = template.render_captured_to(Jinja::from(Serde(inputs)), &mut text)?;
        if !self.has_blocks {
            return Ok(Rendered { system: None, user: text.trimmed() });
        }
        let has_system = self.has_system;
        whole.with_state_mut(|state| {
            let mut block = |name: &str| {
                let mut text = Bounded::default();
                state.render_block_to_write(name, &mut text)?;
                Ok::<_, minijinja::Error>(text.trimmed())
            };
            Ok(Rendered { system: has_system.then(|| block("system")).transpose()?, user: block("user")? })
        })
    }
}

/// A writer that fails if the text becomes too long, because few instructions can write much.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Bounded {
    fn trimmed(&self) -> String {
        String::from_utf8_lossy(&self.0).trim().to_owned()
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEXT_MAX {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the blocks of a body, and the problems that are visible before it is compiled.
fn split_blocks(body: &str, offset: usize) -> (Vec<String>, Vec<Problem>) {
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{%[-+]?\s*(\w+)(?:\s+(\w+))?").expect("a pattern"));
    static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
        let set = r"\{%[-+]?\s*set\b[^%]*?=[^%]*?%\}";
        Regex::new(&format!(r"(?s)\{{#.*?#\}}|\{{%[-+]?\s*macro\b.*?endmacro\s*[-+]?%\}}|{set}")).expect("a pattern")
    });
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)\{%[-+]?\s*block\s.*?\{%[-+]?\s*endblock(?:\s+\w+)?\s*[-+]?%\}").expect("a pattern")
    });
    let line = |at: usize| offset + 1 + body[..at].matches('\n').count();
    let (mut blocks, mut problems) = (Vec::new(), Vec::new());
    // The name and place of a block without its end.
    let mut open: Option<(&str, usize)> = None;
    for tag in TAG.captures_iter(body) {
        let at = tag.get(0).map_or(0, |tag| tag.start());
        match (&tag[1], tag.get(2).map(|name| name.as_str())) {
            ("block", Some(name @ ("system" | "user"))) => {
                blocks.push(name.to_owned());
                problems.extend(open.replace((name, line(at))).map(not_ended));
            }
            ("endblock", _) => open = None,
            ("block", name) => {
                let name = name.unwrap_or_default();
                problems
                    .push(Problem::at(line(at), format!("a body has the blocks `system` and `user`, not `{name}`")));
            }
            (word @ ("import" | "from" | "extends"), _) => {
                let why = format!("`{word}` is not supported; use `include`");
                problems.push(Problem::at(line(at), why));
            }
            _ => {}
        }
    }
    problems.extend(open.map(not_ended));
    let has = |name: &str| blocks.iter().any(|block| block == name);
    if has("system") && !has("user") {
        problems.push(Problem::at(offset + 1, "a body with a block `system` needs a block `user`"));
    }
    if has("user") && problems.is_empty() {
        let rest = ASIDE.replace_all(body, |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count()));
        let rest = BLOCK.replace_all(&rest, |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count()));
        if let Some(at) = rest.find(|c: char| !c.is_whitespace()) {
            let at = offset + 1 + rest[..at].matches('\n').count();
            problems.push(Problem::at(at, "text outside of the blocks is not sent; move it into a block"));
        }
    }
    (blocks, problems)
}

fn not_ended((block, line): (&str, usize)) -> Problem {
    Problem::at(line, format!("the block `{block}` has no `{{% endblock %}}`"))
}

/// Returns the first problem of an included text with its line.
fn wrong(text: &str, parts: &Parts) -> Option<(usize, String)> {
    let (blocks, problems) = split_blocks(text, 0);
    if !blocks.is_empty() {
        return Some((1, "an included text cannot have blocks: put them into the node's body".to_owned()));
    }
    if let Some(problem) = problems.into_iter().next() {
        return Some((problem.line, problem.message));
    }
    names(text).into_iter().find_map(|include| match include.name {
        Err(why) => Some((include.line, why)),
        Ok(name) => Some((include.line, format!("it includes {name}: {}", parts.0.get(&name)?.as_ref().err()?))),
    })
}

/// Converts an error of the engine. For an included text, the message names the position in it.
fn problem(error: &minijinja::Error, offset: usize) -> Problem {
    let line = offset + error.line().unwrap_or(1);
    let inner = innermost(error);
    let Some(file) = inner.name().filter(|name| *name != NAME) else { return own_problem(inner, line) };
    let Problem { line: place, message } = own_problem(inner, inner.line().unwrap_or(1));
    // A text that failed to compile has no position in the body.
    let line = if error.name() == Some(NAME) { line } else { offset + 1 };
    Problem::at(line, format!("{file}:{place}: {message}"))
}

/// Returns the root error in the innermost included text.
fn innermost(error: &minijinja::Error) -> &minijinja::Error {
    let errors = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    errors.filter_map(|error| error.downcast_ref::<minijinja::Error>()).last().unwrap_or(error)
}

fn own_problem(error: &minijinja::Error, line: usize) -> Problem {
    let detail = error.detail().map_or(String::new(), |detail| format!(": {detail}"));
    let hint = match error.kind() {
        ErrorKind::OutOfFuel => " (a rendering may take 2,000,000 steps)",
        ErrorKind::WriteFailure => " (a message has at most 32 MiB)",
        _ => "",
    };
    Problem::at(line, format!("the template: {}{detail}{hint}", error.kind()))
}

/// Writes empty values as nothing instead of `none`.
fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Jinja) -> Result<(), minijinja::Error> {
    if value.kind() == ValueKind::None { Ok(()) } else { minijinja::escape_formatter(out, state, value) }
}

/// Frames a text. The boundary is derived from the text's hash: the text cannot contain it, and it is always the same.
fn data(value: Jinja) -> Result<String, minijinja::Error> {
    let text = match value.kind() {
        ValueKind::None => return Ok(String::new()),
        ValueKind::Undefined => return Err(ErrorKind::UndefinedError.into()),
        ValueKind::String => value.to_string(),
        _ => serde_json::to_string(&value).map_err(|_| ErrorKind::BadSerialization)?,
    };
    let mark = &hex::encode(Sha256::digest(text.as_bytes()))[..16];
    Ok(format!("<data-{mark}>\n{text}\n</data-{mark}>"))
}
