//! The script of the model's turns, and the turn that a conversation has reached.
//!
//! The history in each request of an agent determines the next turn: the script's turns are matched, in order, with the
//! model's earlier turns. No counter is kept, so an agent may repeat a request, and another conversation of the same
//! agent begins at the first turn.

use serde_json::{Value, json};

use super::conversation::{OfferedTool, Request, ToolResult, Utterance, instance};

/// The answer to a request without tools, such as one for a title or a summary.
const AUXILIARY: &str = "Scripted";

/// The scripted turns.
#[derive(Debug, Clone)]
pub struct Script {
    pub turns: Vec<Turn>,
    /// The text after the last turn, so that the agent stops.
    pub closing: String,
}

#[derive(Debug, Clone)]
pub enum Turn {
    Text(String),
    /// Calls the tool with this name on its server. Agents prefix the server's name, or put it into a namespace. If a
    /// server is given, an agent's own tool with the same name does not match. String arguments go to a tool with input
    /// that is not JSON. `{"$after": TEXT}` in them is replaced by the first long word after that text in a result.
    Call {
        server: Option<String>,
        tool: String,
        arguments: Value,
        /// True if the turn is skipped when the tool is not offered.
        optional: bool,
    },
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    Turn {
        index: usize,
        said: Utterance,
    },
    Closing(String),
    /// The answer to a side request of the agent.
    Auxiliary(String),
    /// The next turn calls a tool that the request does not offer.
    NotOffered {
        index: usize,
        tool: String,
    },
}

impl Script {
    pub fn new(turns: Vec<Turn>) -> Self {
        Self { turns, closing: "The script ends here.".to_owned() }
    }

    /// Parses `{"turns": [{"text": …} or {"server": …, "tool": …, "arguments": …, "optional": true}, …], "closing":
    /// …}`. `server`, `optional` and `closing` are optional.
    pub fn parse(text: &str) -> Result<Self, String> {
        let script: Value = serde_json::from_str(text).map_err(|error| format!("the script is no JSON: {error}"))?;
        let turns = script["turns"].as_array().ok_or("the script has no list `turns`")?;
        let turn = |(index, turn): (usize, &Value)| match (turn["text"].as_str(), turn["tool"].as_str()) {
            (Some(text), None) => Ok(Turn::Text(text.to_owned())),
            (None, Some(tool)) => Ok(Turn::Call {
                server: turn["server"].as_str().map(str::to_owned),
                tool: tool.to_owned(),
                arguments: turn["arguments"].clone(),
                optional: turn["optional"] == true,
            }),
            _ => Err(format!("turn {index} needs either `text` or `tool`")),
        };
        let mut parsed = Self::new(turns.iter().enumerate().map(turn).collect::<Result<_, _>>()?);
        if let Some(closing) = script["closing"].as_str() {
            closing.clone_into(&mut parsed.closing);
        }
        Ok(parsed)
    }

    pub(super) fn reply(&self, request: &Request) -> Reply {
        if let Some(schema) = &request.answer_schema {
            return Reply::Auxiliary(instance(schema).to_string());
        }
        if request.tools.is_empty() {
            return Reply::Auxiliary(AUXILIARY.to_owned());
        }
        self.turn(self.reached(&request.said), request)
    }

    /// Returns the turn with this number or, if it is skipped, the next one.
    fn turn(&self, index: usize, request: &Request) -> Reply {
        match self.turns.get(index) {
            None => Reply::Closing(self.closing.clone()),
            Some(Turn::Text(text)) => Reply::Turn { index, said: Utterance::Text(text.clone()) },
            Some(Turn::Call { server, tool, arguments, optional }) => {
                let meant = |offered: &&OfferedTool| {
                    !offered.is_deferred
                        && is_named(&offered.name, offered.namespace.as_deref(), server.as_deref(), tool)
                };
                // If several match, choose the name with the shortest prefix.
                match request.tools.iter().filter(meant).min_by_key(|offered| offered.name.len()) {
                    Some(OfferedTool { name, namespace, .. }) => {
                        let (name, namespace) = (name.clone(), namespace.clone());
                        let arguments = filled(arguments, &request.results);
                        Reply::Turn { index, said: Utterance::Call { name, namespace, arguments } }
                    }
                    None if *optional => self.turn(index + 1, request),
                    None => Reply::NotOffered { index, tool: tool.clone() },
                }
            }
        }
    }

    /// Returns the number of turns that the history contains.
    fn reached(&self, said: &[Utterance]) -> usize {
        let is_said = |turn: &Turn, said: &Utterance| match (turn, said) {
            (Turn::Text(text), Utterance::Text(said)) => said.trim() == text.trim(),
            (Turn::Call { server, tool, .. }, Utterance::Call { name, namespace, .. }) => {
                is_named(name, namespace.as_deref(), server.as_deref(), tool)
            }
            _ => false,
        };
        said.iter().fold(0, |index, said| {
            let rest = &self.turns[index..];
            let left_out = rest
                .iter()
                .take_while(|turn| matches!(turn, Turn::Call { optional: true, .. }) && !is_said(turn, said));
            let next = index + left_out.count();
            match self.turns.get(next) {
                Some(turn) if is_said(turn, said) => next + 1,
                _ => index,
            }
        })
    }
}

impl Reply {
    /// Renders the reply in a protocol.
    pub(super) fn to_utterance(&self) -> Utterance {
        match self {
            Self::Turn { said, .. } => said.clone(),
            Self::Closing(text) | Self::Auxiliary(text) => Utterance::Text(text.clone()),
            Self::NotOffered { tool, .. } => Utterance::Text(format!("No tool here is named {tool}.")),
        }
    }

    /// Renders the reply for the record: a turn by its number, any other reply by a word.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Turn { index, .. } => json!(index),
            Self::Closing(_) => json!("closing"),
            Self::Auxiliary(_) => json!("auxiliary"),
            Self::NotOffered { tool, .. } => json!(format!("not offered: {tool}")),
        }
    }
}

/// Replaces each `{"$after": TEXT}` in the arguments with text from the results.
fn filled(arguments: &Value, results: &[ToolResult]) -> Value {
    match arguments {
        Value::Object(fields) => match fields.get("$after").and_then(Value::as_str) {
            Some(text) if fields.len() == 1 => said_after(text, results).into(),
            _ => fields.iter().map(|(name, value)| (name.clone(), filled(value, results))).collect(),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, results)).collect(),
        Value::String(code) => in_code(code, results).into(),
        other => other.clone(),
    }
}

/// Replaces the same in a program's text, which some models write instead of arguments.
fn in_code(code: &str, results: &[ToolResult]) -> String {
    let mut said = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(r#"{"$after":"#) {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { break };
        let end = at + values.byte_offset();
        said.push_str(&rest[..at]);
        said.push_str(&filled(&value, results).to_string());
        rest = &rest[end..];
    }
    said + rest
}

/// Returns the first word of at least twenty characters after the text, in the last result that contains the text;
/// empty if there is no such word. Words end at characters that a ticket cannot contain, since agents quote in several
/// ways.
fn said_after<'a>(text: &str, results: &'a [ToolResult]) -> &'a str {
    let behind = results.iter().rev().find_map(|result| result.text.split_once(text)).map_or("", |(_, behind)| behind);
    let mut words = behind.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    words.find(|word| word.len() >= 20).unwrap_or_default()
}

/// Returns true if an agent's name for a tool (`mcp__hob__repl_eval`, `hob-repl_eval`) refers to this tool.
fn is_named(name: &str, namespace: Option<&str>, server: Option<&str>, tool: &str) -> bool {
    let Some(before) = name.strip_suffix(tool) else { return false };
    let is_apart = before.is_empty() || before.ends_with(|c: char| !c.is_alphanumeric());
    is_apart && server.is_none_or(|server| before.contains(server) || namespace.is_some_and(|it| it.contains(server)))
}
