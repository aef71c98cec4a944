//! Parses a node file, which has front matter (YAML) and a body (a template), to a checked [`Node`]. All problems are reported
//! at once, each with its line.
//!
//! The keys have dotprompt's names and meaning; `policy`, `checks`, `examples` and `tests` are hob's. A key with a dot in it
//! belongs to another program and is ignored.

mod front_matter;
mod impossible_parts;
mod include;
mod policy;
mod reader;
mod short_schema;
mod split;
mod subset;
mod template;
mod template_paths;
mod trial;
mod yaml;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::schema::Schema;
pub(crate) use include::Parts;
pub use policy::{Enforce, Policy};
pub(crate) use template::{ENGINE as TEMPLATE_ENGINE, Rendered, Template};
pub(crate) use trial::trial_id;
pub use trial::{Expectation, Matcher, OPERATORS, Trial};

/// The suffix of node file names.
pub const SUFFIX: &str = ".node.md";
/// The maximum size of a node file in bytes.
pub const FILE_MAX: u64 = 256 * 1024;

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    pub message: String,
}

impl Problem {
    /// Creates a problem. Control characters in quoted file content are escaped.
    pub(crate) fn at(line: usize, message: impl AsRef<str>) -> Problem {
        Problem { line, message: project::visible::escaped(message.as_ref()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// A function whose body is a prompt, checked and ready to call.
#[derive(Debug)]
pub struct Node {
    pub name: String,
    pub description: String,
    /// The aliases of its models in order of preference; empty for the default model.
    pub models: Vec<String>,
    pub sampling: Sampling,
    pub input: Schema,
    pub defaults: Map<String, Value>,
    pub output: Schema,
    pub policy: Policy,
    pub(crate) checks: Vec<Check>,
    pub examples: Vec<Example>,
    /// The tests in its file.
    pub trials: Vec<Trial>,
    pub(crate) template: Template,
    /// The additional check of a node in Rust.
    pub(crate) judge: Option<Judge>,
    /// The hash of the whole text and all included texts, which identifies this version.
    pub hash: String,
    /// The whole text. A call ends with the version that it began with, even after a restart.
    pub(crate) text: String,
    /// The included texts.
    pub(crate) parts: Parts,
    /// Suggestions for improvement.
    pub lints: Vec<Problem>,
}

/// The sampling parameters of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
}

/// A condition on a value that its schema cannot express.
pub(crate) struct Check {
    pub that: String,
    line: usize,
    expression: minijinja::Expression<'static, 'static>,
    pub say: String,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.that)
    }
}

/// A check in Rust: returns the problems of an output for an input.
#[derive(Clone)]
pub(crate) struct Judge(std::sync::Arc<JudgeFn>);

type JudgeFn = dyn Fn(&Map<String, Value>, &Value) -> Vec<String> + Send + Sync;

impl Judge {
    pub(crate) fn new(judge: impl Fn(&Map<String, Value>, &Value) -> Vec<String> + Send + Sync + 'static) -> Judge {
        Judge(std::sync::Arc::new(judge))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}

/// An example input with its correct output.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    pub input: Map<String, Value>,
    pub output: Value,
    pub(crate) line: usize,
}

impl Node {
    /// Parses a node file without includes. `name` is the file name without its suffix.
    pub fn parse(name: &str, text: &str) -> Result<Node, Vec<Problem>> {
        let nothing = |_: &str| Err("the folder of node files is missing".to_owned());
        front_matter::read(name, text, Parts::gather(text, nothing))
    }

    /// Parses a node file with its included texts.
    pub(crate) fn parse_with(name: &str, text: &str, parts: Parts) -> Result<Node, Vec<Problem>> {
        front_matter::read(name, text, parts)
    }

    /// Returns the size of its tool declaration in bytes, without its origin.
    pub(crate) fn listed_bytes(&self) -> usize {
        self.description.len() + self.input.json.to_string().len() + self.output.json.to_string().len()
    }

    /// Parses the same version of the node again.
    pub(crate) fn reparse(&self) -> Result<Node, String> {
        Node::parse_with(&self.name, &self.text, self.parts.clone())
            .map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect::<String>())
    }

    /// Returns the same version of the node for another model.
    pub(crate) fn on_model(&self, alias: &str) -> Result<Node, String> {
        Ok(Node { models: vec![alias.to_owned()], ..self.reparse()? })
    }

    /// Fills in the defaults of an input. `Err` lists the problems of the given input.
    pub fn complete(&self, given: Map<String, Value>) -> Result<Map<String, Value>, Vec<String>> {
        let mut input = given;
        for (name, value) in &self.defaults {
            input.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let value = Value::Object(input);
        let problems = self.input.problems(&value);
        let Value::Object(input) = value else { return Err(problems) };
        if problems.is_empty() { Ok(input) } else { Err(problems) }
    }

    /// Validates an answer against its schema and then the checks. Returns the problems.
    pub fn problems(&self, input: &Map<String, Value>, output: &Value) -> Vec<String> {
        let problems = self.output.problems(output);
        if !problems.is_empty() {
            return problems;
        }
        let mut problems: Vec<String> = self.checks.iter().filter_map(|check| check.problem(input, output)).collect();
        problems.extend(self.judge.iter().flat_map(|judge| judge.0(input, output)));
        problems
    }

    /// Returns the line of a front matter key.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        self.text.lines().position(begins).map_or(1, |index| index + 1)
    }

    /// Renders the prompt for an input that [`Node::complete`] has accepted.
    pub(crate) fn render(&self, input: &Map<String, Value>) -> Result<Rendered, Problem> {
        self.template.render(&self.with_absent(input))
    }

    /// Sets declared inputs that are missing to empty values.
    fn with_absent(&self, input: &Map<String, Value>) -> Map<String, Value> {
        let mut all = input.clone();
        for name in properties(&self.input.json) {
            all.entry(name.to_owned()).or_insert(Value::Null);
        }
        all
    }
}

impl Check {
    fn problem(&self, input: &Map<String, Value>, output: &Value) -> Option<String> {
        let value = minijinja::value::Serde(json!({"input": input, "output": output}));
        match self.expression.eval(value) {
            Ok(value) if value.is_true() => None,
            Ok(_) => Some(self.say.clone()),
            Err(error) => Some(format!("the check `{}` cannot be made: {error}", self.that)),
        }
    }
}

/// Returns the names of an object's properties.
fn properties(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

/// Returns the hash of a text and its included texts.
pub(crate) fn hash(text: &str, parts: &Parts) -> String {
    let mut digest = Sha256::new_with_prefix(text);
    for (name, part) in &parts.0 {
        let part = part.as_ref().unwrap_or_else(|why| why);
        // A byte 0 is a safe separator: YAML and templates do not allow it.
        digest.update(format!("\0{name}\0{part}"));
    }
    hex::encode(&digest.finalize()[..8])
}
