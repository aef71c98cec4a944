//! A node file: front matter (YAML) and a body (a template) → a checked [`Node`]. Everything that is wrong is said at once,
//! each with its line.
//!
//! The keys are dotprompt's with dotprompt's meaning; `policy`, `checks`, `examples` and `tests` are ours. A key with a dot in it
//! belongs to somebody else and is kept.

mod front;
mod include;
mod places;
mod policy;
mod reader;
mod reads;
mod short;
mod split;
mod subset;
mod template;
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

/// The end of the name of a node file.
pub const SUFFIX: &str = ".node.md";
/// The longest node file, in bytes.
pub const FILE_MAX: u64 = 256 * 1024;

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl Problem {
    /// What it quotes of a file is shown, never obeyed.
    pub(crate) fn at(line: usize, message: impl AsRef<str>) -> Problem {
        Problem { line, message: project::visible::escaped(message.as_ref()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// A function whose body is a prompt: checked, and ready to be called.
#[derive(Debug)]
pub struct Node {
    pub name: String,
    pub description: String,
    /// The aliases of its models, in the order in which they are tried; empty for the default one.
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
    /// Of a node in Rust.
    pub(crate) judge: Option<Judge>,
    /// What identifies this version: a hash of the whole text, and of all that it includes.
    pub hash: String,
    /// The whole text: what is begun with this version ends with it, over a restart too.
    pub(crate) text: String,
    /// What it includes.
    pub(crate) parts: Parts,
    /// What could be better.
    pub lints: Vec<Problem>,
}

/// What is asked of the model's sampling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
}

/// A condition on a value that its schema cannot state.
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

/// A check in Rust: the input and the output → what is wrong.
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

/// An input with its right output.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    pub input: Map<String, Value>,
    pub output: Value,
    pub(crate) line: usize,
}

impl Node {
    /// Reads a node file that includes nothing. `name` is that of the file, without its end.
    pub fn parse(name: &str, text: &str) -> Result<Node, Vec<Problem>> {
        let nothing = |_: &str| Err("there is no folder of node files".to_owned());
        front::read(name, text, Parts::gather(text, nothing))
    }

    /// Reads a node file with what it includes.
    pub(crate) fn parse_with(name: &str, text: &str, parts: Parts) -> Result<Node, Vec<Problem>> {
        front::read(name, text, parts)
    }

    /// How long it is as a tool in a listing, but for where it comes from.
    pub(crate) fn listed_bytes(&self) -> usize {
        self.description.len() + self.input.json.to_string().len() + self.output.json.to_string().len()
    }

    /// The same version of the node on another model.
    pub(crate) fn on_model(&self, alias: &str) -> Result<Node, String> {
        let node = Node::parse_with(&self.name, &self.text, self.parts.clone())
            .map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect::<String>())?;
        Ok(Node { models: vec![alias.to_owned()], ..node })
    }

    /// The whole input: defaults filled in. `Err` says what is wrong with what was given.
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

    /// What is wrong with an answer: against its schema, and then against the checks.
    pub fn problems(&self, input: &Map<String, Value>, output: &Value) -> Vec<String> {
        let problems = self.output.problems(output);
        if !problems.is_empty() {
            return problems;
        }
        let mut problems: Vec<String> = self.checks.iter().filter_map(|check| check.problem(input, output)).collect();
        problems.extend(self.judge.iter().flat_map(|judge| judge.0(input, output)));
        problems
    }

    /// The line where a key of the front matter stands.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        self.text.lines().position(begins).map_or(1, |index| index + 1)
    }

    /// What the model is told, for an input that [`Node::complete`] has accepted.
    pub(crate) fn render(&self, input: &Map<String, Value>) -> Result<Rendered, Problem> {
        self.template.render(&self.with_absent(input))
    }

    /// The declared inputs that are not given are empty.
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

/// The names of an object's properties.
fn properties(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

/// What identifies a text with what it includes.
pub(crate) fn hash(text: &str, parts: &Parts) -> String {
    let mut digest = Sha256::new_with_prefix(text);
    for (name, part) in &parts.0 {
        let part = part.as_ref().unwrap_or_else(|why| why);
        // No text has a byte 0 in it that YAML or a template would take.
        digest.update(format!("\0{name}\0{part}"));
    }
    hex::encode(&digest.finalize()[..8])
}
