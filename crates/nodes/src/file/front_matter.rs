//! The front matter: its keys, their values, and the consistency checks.

use std::time::{Duration, Instant};

use mcp::tool::{Declaration, Effect, wrapped};
use serde_json::{Map, Value, json};

use super::impossible_parts::impossible;
use super::policy::policy;
use super::reader::Reader;
use super::split::split;
use super::template::Template;
use super::template_paths::PathProblems;
use super::yaml::{self, Kind, Tree};
use super::{
    Check, Example, Expectation, Matcher, Node, Parts, Problem, Sampling, Trial, hash, properties, short_schema,
    trial_id,
};
use crate::schema::Schema;

/// The time limit for checking the examples and tests of a file, because a reload waits for it.
const CHECK_TIME: Duration = Duration::from_secs(5);
/// The maximum number of reported problems per file.
const PROBLEMS_MAX: usize = 30;
const KEYS: &[&str] = &[
    "name",
    "variant",
    "description",
    "model",
    "config",
    "input",
    "output",
    "metadata",
    "policy",
    "checks",
    "examples",
    "tests",
];

/// Reads a whole file. Reports the first problems and the number of further ones.
pub(super) fn read(name: &str, text: &str, parts: Parts) -> Result<Node, Vec<Problem>> {
    read_all(name, text, parts, CHECK_TIME).map_err(|mut problems| {
        let more = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        problems.extend((more > 0).then(|| Problem::at(1, format!("{more} more problems"))));
        problems
    })
}

fn read_all(name: &str, text: &str, parts: Parts, time: Duration) -> Result<Node, Vec<Problem>> {
    let (front, body, body_offset) = split(text).map_err(|problem| vec![problem])?;
    let tree = yaml::parse(front, 2).map_err(|problem| vec![problem])?;
    let mut reader = Reader::default();
    let keys = reader.map(&tree, "the front matter", KEYS, true);
    let template = Template::new(body, body_offset, &parts).map_err(|problems| reader.problems.extend(problems)).ok();

    let mut declared = name.to_owned();
    if let Some(tree) = keys.get("name")
        && let Some(said) = reader.text(tree, "name").filter(|said| said != name)
    {
        let suffix = super::SUFFIX;
        let what = format!("`name` is {said:?}, but the file is named {name}{suffix}; use the same name for both");
        reader.add_problem(tree.line, what);
        declared = said;
    }
    let description = match keys.get("description") {
        Some(tree) => project::visible::escaped(reader.text(tree, "description").unwrap_or_default().trim()),
        None => String::new(),
    };
    if description.is_empty() {
        reader.add_problem(1, "`description` is missing: it tells a model what the tool is for");
    }
    let models = keys.get("model").map(|tree| reader.texts(tree, "model")).unwrap_or_default();
    let sampling = keys.get("config").map(|tree| reader.sampling(tree)).unwrap_or_default();
    let policy = keys.get("policy").map(|tree| policy(&mut reader, tree)).unwrap_or_default();

    let input_line = keys.get("input").map_or(1, |tree| tree.line);
    let (input, defaults) = reader.input(keys.get("input"));
    let output_line = keys.get("output").map_or(1, |tree| tree.line);
    let output = reader.output(keys.get("output"));
    let checks = keys.get("checks").map(|tree| reader.checks(tree)).unwrap_or_default();
    let examples = keys.get("examples").map(|tree| reader.examples(tree)).unwrap_or_default();

    let trials = keys.get("tests").map(|tree| reader.trials(tree)).unwrap_or_default();

    let (Some(template), Some(input), Some(output)) = (template, input, output) else {
        return Err(reader.problems);
    };
    let mut lints = Vec::new();
    let read = template.variables();
    let known: Vec<&str> = properties(&input.json).collect();
    for variable in read.iter().filter(|variable| !known.contains(&variable.as_str())) {
        let near = mcp::tool::nearest(variable, known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let line = line_of(body, variable).map_or(body_offset + 1, |line| body_offset + line);
        reader.add_problem(line, format!("the template reads `{variable}`, which is not an input{near}"));
    }
    let PathProblems { impossible, absent } = template.read(&input.json, &defaults);
    reader.problems.extend(impossible);
    lints.extend(absent.into_iter().take(PROBLEMS_MAX));
    let unused = known.iter().filter(|name| !read.iter().any(|variable| variable == *name));
    lints.extend(unread(unused.copied().collect()).map(|message| Problem::at(input_line, message)));
    lints.extend(score_before_reason(&output.json).map(|message| Problem::at(output_line, message)));
    reader.problems.extend(template.rehearse(&sample(&input.json)));
    let node = Node {
        name: declared,
        description,
        models,
        sampling,
        input,
        defaults,
        output,
        policy,
        checks,
        examples,
        trials,
        template,
        judge: None,
        hash: hash(text, &parts),
        text: text.to_owned(),
        parts,
        lints,
    };
    if let Err(error) = as_tool(&node).check() {
        reader.add_problem(1, error.to_string());
    }
    if reader.problems.is_empty() {
        let until = Instant::now() + time;
        for example in &node.examples {
            if reader.is_late(until, example.line) {
                break;
            }
            reader.example(&node, example);
        }
        reader.report_impossible_parts(&node);
        for trial in &node.trials {
            if reader.is_late(until, trial.line) {
                break;
            }
            if let Err(problems) = node.complete(trial.input.clone()) {
                reader.add_problem(trial.line, format!("the test's input: {}", problems.join("; ")));
            }
        }
    }
    if reader.problems.is_empty() { Ok(node) } else { Err(reader.problems) }
}

impl Reader {
    fn sampling(&mut self, tree: &Tree) -> Sampling {
        let keys = self.map(tree, "`config`", &["temperature", "topP", "maxOutputTokens"], true);
        let mut share = |name: &str, most: f64| {
            let read = |number: &serde_json::Number| number.as_f64().filter(|value| (0.0..=most).contains(value));
            keys.get(name).and_then(|tree| self.number(tree, name, &format!("a number from 0 to {most}"), read))
        };
        let (temperature, top_p) = (share("temperature", 2.0), share("topP", 1.0));
        let tokens = keys.get("maxOutputTokens").and_then(|tree| {
            let read = |number: &serde_json::Number| number.as_u64().filter(|value| (1..=1_000_000).contains(value));
            self.number(tree, "maxOutputTokens", "a whole number from 1 to 1000000", read)
        });
        Sampling { temperature, top_p, max_output_tokens: tokens }
    }

    fn compiled(&mut self, tree: &Tree, what: &str) -> Option<Schema> {
        let json = short_schema::schema(tree).map_err(|problem| self.problems.push(problem)).ok()?;
        Schema::new(json).map_err(|why| self.add_problem(tree.line, format!("the schema of the {what}: {why}"))).ok()
    }

    fn input(&mut self, tree: Option<&Tree>) -> (Option<Schema>, Map<String, Value>) {
        let Some(tree) = tree else {
            let nothing = json!({"type": "object", "additionalProperties": false});
            return (Schema::new(nothing).ok(), Map::new());
        };
        let keys = self.map(tree, "`input`", &["schema", "default"], false);
        let Some(schema) = keys.get("schema") else {
            self.add_problem(tree.line, "`input` needs a `schema`, such as { question: string }");
            return (None, Map::new());
        };
        let compiled = self.compiled(schema, "input");
        let is_object = compiled.as_ref().is_none_or(|compiled| compiled.json["type"] == "object");
        if !is_object {
            self.add_problem(
                schema.line,
                "the input of a node is an object: name its fields, such as { question: string }",
            );
        }
        let defaults = match keys.get("default").map(|tree| (tree.to_json(), tree)) {
            Some((Value::Object(defaults), tree)) => {
                let known: Vec<String> =
                    compiled.iter().flat_map(|schema| properties(&schema.json).map(str::to_owned)).collect();
                for name in defaults.keys().filter(|name| !known.contains(name)) {
                    self.add_problem(tree.line, format!("`default` has `{name}`, which is not an input"));
                }
                defaults
            }
            Some((_, tree)) => {
                self.add_problem(tree.line, "`default` is a map from inputs to values");
                Map::new()
            }
            None => Map::new(),
        };
        (compiled.filter(|_| is_object), defaults)
    }

    fn output(&mut self, tree: Option<&Tree>) -> Option<Schema> {
        let Some(tree) = tree else {
            self.add_problem(
                1,
                "`output` is missing: it states the type of the answer, such as { schema: { answer: string } }",
            );
            return None;
        };
        let keys = self.map(tree, "`output`", &["format", "schema"], false);
        if let Some(format) = keys.get("format").filter(|format| format.to_json() != "json") {
            self.add_problem(format.line, "the `format` of a node's output is json");
        }
        match keys.get("schema") {
            Some(schema) => self.compiled(schema, "output"),
            None => {
                self.add_problem(tree.line, "`output` needs a `schema`, such as { answer: string }");
                None
            }
        }
    }

    fn checks(&mut self, tree: &Tree) -> Vec<Check> {
        let mut checks = Vec::new();
        for item in self.list(tree, "checks") {
            let keys = self.map(item, "a check", &["that", "say"], false);
            let that = keys.get("that").and_then(|tree| self.text(tree, "that"));
            let say = keys.get("say").and_then(|tree| self.text(tree, "say"));
            let (Some(that), Some(say)) = (that, say) else {
                self.add_problem(
                    item.line,
                    "a check has `that`, an expression over `input` and `output`, and `say`, for the model",
                );
                continue;
            };
            match expression(&that) {
                Ok(expression) => checks.push(Check { that, line: item.line, expression, say }),
                Err(why) => self.add_problem(item.line, format!("the check `{that}`: {why}")),
            }
        }
        checks
    }

    fn examples(&mut self, tree: &Tree) -> Vec<Example> {
        let mut examples = Vec::new();
        for item in self.list(tree, "examples") {
            let keys = self.map(item, "an example", &["input", "output"], false);
            match (keys.get("input").map(Tree::to_json), keys.get("output").map(Tree::to_json)) {
                (Some(Value::Object(input)), Some(output)) => {
                    examples.push(Example { input, output, line: item.line });
                }
                _ => self.add_problem(item.line, "an example has `input`, a map, and `output`"),
            }
        }
        examples
    }

    fn trials(&mut self, tree: &Tree) -> Vec<Trial> {
        let mut trials = Vec::new();
        for item in self.list(tree, "tests") {
            let keys = self.map(item, "a test", &["input", "expect", "repeat", "pass"], false);
            let mut whole = |name: &str| {
                let read = |number: &serde_json::Number| number.as_u64().filter(|value| (1..=100).contains(value));
                let number =
                    keys.get(name).and_then(|tree| self.number(tree, name, "a whole number from 1 to 100", read));
                number.and_then(|number| u32::try_from(number).ok())
            };
            let repeat = whole("repeat").unwrap_or(1);
            let pass = whole("pass").unwrap_or(repeat);
            if pass > repeat {
                self.add_problem(
                    item.line,
                    format!("`pass` is {pass}, but the test is run only {repeat} times, so it can never pass"),
                );
            }
            let expect = keys.get("expect").map(|tree| self.expectations(tree)).unwrap_or_default();
            match keys.get("input").map(Tree::to_json) {
                Some(Value::Object(input)) => {
                    let id = trial_id(&input, &keys.get("expect").map(Tree::to_json).unwrap_or_default());
                    trials.push(Trial { id, input, expect, repeat, pass, line: item.line });
                }
                _ => self.add_problem(
                    item.line,
                    "a test has `input`, a map, and `expect`, such as { /score: { \">=\": 4 } }",
                ),
            }
        }
        trials
    }

    fn expectations(&mut self, tree: &Tree) -> Vec<Expectation> {
        let Kind::Map(entries) = &tree.kind else {
            self.add_problem(tree.line, "`expect` is a map from places in the value, such as /score, to their values");
            return Vec::new();
        };
        let mut expectations = Vec::new();
        for (key, wanted) in entries {
            if !(key.name.is_empty() || key.name.starts_with('/')) {
                self.add_problem(
                    key.line,
                    format!("`{}` is not a JSON pointer: it must begin with /, such as /{}", key.name, key.name),
                );
                continue;
            }
            let operators = match &wanted.kind {
                Kind::Map(operators) => operators.iter().map(|(name, operand)| (name.name.as_str(), operand)).collect(),
                _ => vec![("is", wanted)],
            };
            for (operator, operand) in operators {
                match Matcher::new(operator, operand.to_json()) {
                    Ok(matcher) => expectations.push(Expectation { at: key.name.clone(), matcher }),
                    Err(why) => self.add_problem(operand.line, why),
                }
            }
        }
        expectations
    }

    /// Reports parts of the value that tests and checks read and no value has.
    fn report_impossible_parts(&mut self, node: &Node) {
        for trial in &node.trials {
            for at in trial.expect.iter().map(|expectation| expectation.at.as_str()) {
                let parts = at.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
                let parts: Vec<String> = parts.collect();
                if impossible(&node.output.json, parts.iter().map(String::as_str)).is_some() {
                    self.add_problem(trial.line, format!("`expect` has {at}, which is not in the output schema"));
                }
            }
        }
        for check in &node.checks {
            let mut read: Vec<String> = check.expression.undeclared_variables(true).into_iter().collect();
            read.sort();
            for path in read {
                let mut parts = path.split('.');
                let schema = match parts.next() {
                    Some("output") => &node.output.json,
                    _ => &node.input.json,
                };
                if let Some(part) = impossible(schema, parts) {
                    self.add_problem(
                        check.line,
                        format!("the check `{}` reads {path}, but `{part}` does not exist", check.that),
                    );
                }
            }
        }
    }

    /// Returns true, and reports it, if the time for checking this line is over.
    fn is_late(&mut self, until: Instant, line: usize) -> bool {
        let is_late = Instant::now() >= until;
        if is_late {
            let why = "the examples and tests before this one took longer than 5 s to check: leave some out";
            self.add_problem(line, why);
        }
        is_late
    }

    /// Checks that an example is valid.
    fn example(&mut self, node: &Node, example: &Example) {
        match node.complete(example.input.clone()) {
            Err(problems) => self.add_problem(example.line, format!("the example's input: {}", problems.join("; "))),
            Ok(input) => {
                if let Err(problem) = node.render(&input) {
                    self.add_problem(
                        problem.line,
                        format!("{}, with the example of line {}", problem.message, example.line),
                    );
                }
                let problems = node.problems(&input, &example.output);
                if !problems.is_empty() {
                    self.add_problem(example.line, format!("the example's output: {}", problems.join("; ")));
                }
            }
        }
    }
}

/// Builds the node's tool declaration, to apply the requirements of clients.
fn as_tool(node: &Node) -> Declaration {
    let output_schema = Some(wrapped(node.output.json.clone(), []));
    let input = node.input.json.clone();
    Declaration { output_schema, ..Declaration::new(&node.name, &node.description, input, Effect::READ) }
}

/// Compiles a check, which can read only `input` and `output`.
fn expression(that: &str) -> Result<minijinja::Expression<'static, 'static>, String> {
    // The expression borrows its environment, which all of them share.
    static ENVIRONMENT: std::sync::LazyLock<minijinja::Environment<'static>> = std::sync::LazyLock::new(|| {
        let mut environment = minijinja::Environment::new();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
        environment.set_fuel(Some(100_000));
        environment
    });
    super::subset::condition(that)?;
    let expression = ENVIRONMENT.compile_expression_owned(that.to_owned());
    let expression = expression.map_err(|error| error.detail().map_or_else(|| error.to_string(), str::to_owned))?;
    let unknown = expression.undeclared_variables(false).into_iter().find(|name| name != "input" && name != "output");
    match unknown {
        Some(name) => Err(format!("it reads `{name}`, but only `input` and `output` are available")),
        None => Ok(expression),
    }
}

/// Returns the line of a body that first contains a name.
fn line_of(body: &str, name: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let holds = |line: &str| line.split(|c: char| !is_word(c)).any(|word| word == name);
    body.lines().position(|line| line.contains('{') && holds(line)).map(|index| index + 1)
}

/// Describes the inputs that the template does not read.
fn unread(names: Vec<&str>) -> Option<String> {
    const NAMED: usize = 5;
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("the template never reads the input `{one}`")),
        [first @ .., last] if names.len() <= NAMED => {
            Some(format!("the template never reads the inputs `{}` and `{last}`", first.join("`, `")))
        }
        all => {
            Some(format!("the template never reads {} of its inputs: `{}`, …", all.len(), all[..NAMED].join("`, `")))
        }
    }
}

/// Warns about a score before its reason. A model writes the fields in order, so it would choose the score without the reason.
fn score_before_reason(output: &Value) -> Option<String> {
    let fields = output["properties"].as_object()?;
    let reason =
        fields.keys().position(|name| ["reason", "reasoning", "explanation", "why"].contains(&name.as_str()))?;
    let is_verdict = |schema: &Value| {
        ["integer", "number", "boolean"].iter().any(|kind| schema["type"] == *kind) || schema["enum"].is_array()
    };
    let (verdict, _) = fields.iter().take(reason).find(|(_, schema)| is_verdict(schema))?;
    let reason = fields.keys().nth(reason)?;
    Some(format!(
        "the model writes `{verdict}` before `{reason}`, so the reason cannot influence it; put `{reason}` first"
    ))
}

/// Guesses inputs of the right types.
fn sample(input: &Value) -> Map<String, Value> {
    let of = |schema: &Value| match schema["type"].as_str() {
        Some("string") => "text".into(),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => Value::Null,
    };
    let fields = input["properties"].as_object().into_iter().flatten();
    fields.map(|(name, schema)| (name.clone(), of(schema))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_examples_are_checked_within_the_time() {
        for shown in ["examples: [ { input: {}, output: { a: b } } ]", "tests: [ { input: {} } ]"] {
            let text = format!("---\ndescription: A.\noutput: {{ schema: {{ a: string }} }}\n{shown}\n---\nSay it.\n");
            let said = |time| {
                let parts = Parts::gather(&text, |_| Err("there is none".to_owned()));
                read_all("n", &text, parts, time).map(drop).map_err(|problems| problems[0].to_string())
            };
            let late = "4: the examples and tests before this one took longer than 5 s to check: leave some out";
            assert_eq!((said(CHECK_TIME), said(Duration::ZERO)), (Ok(()), Err(late.to_owned())));
        }
    }
}
