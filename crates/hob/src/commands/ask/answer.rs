//! `hob answer`: answers a question, by flags, by a form on the terminal, or by prompts.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use client::control::ControlError;
use project::{Project, visible};
use rustix::termios::{OptionalActions, SpecialCodeIndex};
use serde_json::{Map, Value, json};

use super::answerer::{Answerer, Trouble};
use super::form::{self, Filled};
use super::{NONE, closed, misfit, render_question, whole_id};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Answer an agent's question
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The id of the question, or a unique prefix of it; optional if only one question is open
    #[arg(value_name = "ID")]
    question: Option<String>,
    /// Answer yes
    #[arg(long, group = "answer")]
    yes: bool,
    /// Answer no
    #[arg(long, group = "answer")]
    no: bool,
    /// Choose an option, by its id or label
    #[arg(long, value_name = "OPTION", group = "answer")]
    choose: Option<String>,
    /// Answer with text
    #[arg(long, value_name = "TEXT", group = "answer")]
    text: Option<String>,
    /// Fill in a field of a form; may be given several times
    #[arg(long, value_name = "FIELD=VALUE", group = "answer", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Decline to answer
    #[arg(long, group = "answer")]
    decline: bool,
    /// Ask line by line instead of showing a form
    #[arg(long, conflicts_with = "answer")]
    plain: bool,
    /// Add a comment to the answer
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn assignment(word: &str) -> Result<(String, String), String> {
    let (field, value) = word.split_once('=').ok_or("write FIELD=VALUE")?;
    Ok((field.to_owned(), value.to_owned()))
}

/// Shows an open question as a form on the terminal. Returns the outcome in a sentence.
pub(crate) fn answer_in_form(project: &Project, id: &str) -> Result<String, Failure> {
    let mut answerer = Answerer::open(project)?;
    let whole = answerer.request("ask/list", json!({"question": id})).map_err(Trouble::failure)?;
    Ok(match form::fill(&mut answerer, &whole["questions"][0], "")? {
        Some(Filled::Answered(answered)) => {
            form::remove_draft(&answerer, id);
            closed(&answered)
        }
        Some(Filled::Left { .. }) => format!("No answer was sent; {id} stays open."),
        Some(Filled::Closed { why, .. }) => why,
        None => format!("This terminal shows no form; `hob answer {id}` asks line by line."),
    })
}

impl Answer {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let as_json = self.json;
        self.answer(project).or_else(|failure| match failure.exit {
            Exit::Failed | Exit::ToolError if as_json => {
                terminal::json(&json!({"error": failure.message}));
                Ok(failure.exit)
            }
            _ => Err(failure),
        })
    }

    fn answer(mut self, project: &Project) -> Result<Exit, Failure> {
        let mut answerer = Answerer::open(project)?;
        if let Some(given) = &self.question {
            self.question = Some(whole_id(&mut answerer, given)?);
        }
        let says = self.yes || self.no || self.decline || self.choose.is_some() || self.text.is_some();
        let answered = if says || !self.set.is_empty() {
            self.read_flags(&mut answerer)?
        } else if std::io::stdin().is_terminal() {
            match self.ask_on_terminal(&mut answerer)? {
                Some(answered) => answered,
                None => return Ok(Exit::Failed),
            }
        } else {
            let list = answerer.request("ask/list", json!({})).map_err(Trouble::failure)?;
            if self.question.is_none() && list["questions"].as_array().is_none_or(Vec::is_empty) {
                return Err(Failure::new("no question is open").hint(NONE));
            }
            return Err(Failure::new("no answer given")
                .hint("Give --yes, --no, --choose OPTION, --text TEXT, --set FIELD=VALUE or --decline; `hob questions` shows what is asked.")
                .exit(Exit::Usage));
        };
        form::remove_draft(&answerer, answered["question"].as_str().unwrap_or_default());
        if self.json {
            terminal::json(&answered);
        } else {
            terminal::line(closed(&answered));
        }
        Ok(Exit::Done)
    }

    /// Builds the answer from the flags.
    fn read_flags(&self, answerer: &mut Answerer<'_>) -> Result<Value, Failure> {
        let set: Map<String, Value> = self.set.iter().map(|(field, word)| (field.clone(), json!(word))).collect();
        let mut params = json!({
            "question": self.question, "choose": self.choose, "text": self.text, "set": set, "decline": self.decline,
            "note": self.note, "via": "command",
        });
        if self.yes || self.no {
            params["yes"] = self.yes.into();
        }
        let id = self.question.as_deref().unwrap_or_default();
        answerer.answer(id, params).map_err(|trouble| match trouble {
            Trouble::Refused(error) => misfit(error, answerer, self.question.as_deref()),
            Trouble::Failed(failure) => failure,
        })
    }

    /// Asks on the terminal, with a form if possible; `None` if the person left.
    fn ask_on_terminal(&self, answerer: &mut Answerer<'_>) -> Result<Option<Value>, Failure> {
        // Reports that a person is present, so that agents wait for an answer.
        let list = answerer.request("ask/watch", json!({})).map_err(Trouble::failure)?;
        let open = list["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        form::remove_old_drafts(answerer, open);
        let id = match (&self.question, open) {
            (Some(id), _) => id.clone(),
            (None, []) => {
                return Err(Failure::new("no question is open").hint(NONE));
            }
            (None, [one]) => one["question"].as_str().unwrap_or_default().to_owned(),
            (None, several) => {
                several.iter().for_each(|question| terminal::line(render_question(question)));
                match read_line_or_escape("Which? ").filter(|id| !id.trim().is_empty()) {
                    Some(id) => whole_id(answerer, id.trim())?,
                    None => {
                        terminal::note("No answer was sent; all questions stay open.");
                        return Ok(None);
                    }
                }
            }
        };
        if !open.iter().any(|question| question["question"] == id.as_str()) {
            let all = answerer.request("ask/list", json!({"question": id}));
            let is_known = all.is_ok_and(|all| all["questions"].as_array().is_some_and(|all| !all.is_empty()));
            return Err(if is_known {
                Failure::new(format_args!("no question `{}` is open", visible(&id)))
                    .hint("`hob questions --all` shows how it ended.")
            } else {
                Failure::new(format_args!("unknown question `{}`", visible(&id)))
                    .hint("`hob questions` lists the open ones.")
            });
        }
        let whole = answerer.request("ask/list", json!({"question": id})).map_err(Trouble::failure)?;
        let question = &whole["questions"][0];
        let shows_forms =
            std::io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        if shows_forms && !self.plain {
            match form::fill(answerer, question, self.note.as_deref().unwrap_or_default())? {
                Some(Filled::Answered(answered)) => return Ok(Some(answered)),
                Some(Filled::Left { has_draft }) => {
                    let draft = if has_draft { " Your input is kept for the next `hob answer`." } else { "" };
                    terminal::note(format!("No answer was sent; {id} stays open.{draft}"));
                    return Ok(None);
                }
                Some(Filled::Closed { why, typed }) => {
                    if !typed.is_empty() {
                        terminal::note("What you had typed:");
                        for (name, text) in typed {
                            terminal::note(format!("  {}: {}", visible(&name), visible::escaped(&text)));
                        }
                    }
                    return Err(Failure::new(why).hint("Tell the agent if you want to change the answer."));
                }
                None => {}
            }
        }
        self.prompted(answerer, &id, question)
    }

    /// Asks field by field.
    fn prompted(&self, answerer: &mut Answerer<'_>, id: &str, question: &Value) -> Result<Option<Value>, Failure> {
        terminal::line(render_question(question));
        // Show others that somebody is answering. A claim does not block others, so a failure does not matter.
        let _ = answerer.request("ask/claim", json!({"question": id, "via": "terminal"}));
        let mut set = Map::new();
        for field in question["fields"].as_array().into_iter().flatten().filter(|field| field["kind"] != "note") {
            if !is_asked(field, &set) {
                continue;
            }
            let Some(word) = prompt(field) else { return Ok(None) };
            set.insert(field["id"].as_str().unwrap_or_default().to_owned(), word.into());
        }
        loop {
            terminal::line("Your answer:");
            for field in question["fields"].as_array().into_iter().flatten() {
                if let Some(word) = set.get(field["id"].as_str().unwrap_or_default()).and_then(Value::as_str) {
                    terminal::line(format!("  {}: {}", name(field), visible(word)));
                }
            }
            // Choosing and sending take two inputs, so that a line meant for a shell does neither.
            if line("Type send to send it: ").is_none_or(|word| word.trim() != "send") {
                terminal::note(format!("No answer was sent; {id} stays open."));
                return Ok(None);
            }
            let params = json!({"question": id, "set": set, "note": self.note, "via": "terminal"});
            match answerer.answer(id, params) {
                Err(Trouble::Refused(ControlError::Refused { message, data: Some(data), .. }))
                    if data["reason"] == "misfit" =>
                {
                    terminal::line(visible(&message));
                    let fields = question["fields"].as_array().into_iter().flatten();
                    let Some(field) = fields.into_iter().find(|field| field["id"] == data["field"]) else {
                        return Ok(None);
                    };
                    let Some(word) = prompt(field) else { return Ok(None) };
                    set.insert(field["id"].as_str().unwrap_or_default().to_owned(), word.into());
                    // Fields that depend on this one may appear or disappear.
                    for field in question["fields"].as_array().into_iter().flatten() {
                        let id = field["id"].as_str().unwrap_or_default();
                        match (is_asked(field, &set), set.contains_key(id)) {
                            (false, true) => drop(set.remove(id)),
                            (true, false) if field["kind"] != "note" => {
                                let Some(word) = prompt(field) else { return Ok(None) };
                                set.insert(id.to_owned(), word.into());
                            }
                            _ => {}
                        }
                    }
                }
                answered => return answered.map(Some).map_err(Trouble::failure),
            }
        }
    }
}

/// True if the condition of a field is met by the answers so far.
fn is_asked(field: &Value, set: &Map<String, Value>) -> bool {
    let Some(on) = field["show_if"]["field"].as_str() else { return true };
    let said = set.get(on).and_then(Value::as_str).unwrap_or_default().trim().to_lowercase();
    match &field["show_if"]["equals"] {
        Value::Bool(true) => matches!(said.as_str(), "yes" | "true"),
        Value::Bool(false) => matches!(said.as_str(), "no" | "false"),
        Value::String(word) => said == word.to_lowercase(),
        Value::Number(number) => said.parse().ok() == number.as_f64(),
        other => said == *other.to_string(),
    }
}

/// Returns the label of a field, or its id.
fn name(field: &Value) -> String {
    let text = |key: &str| visible(field[key].as_str().unwrap_or_default());
    Some(text("label")).filter(|label| !label.is_empty()).unwrap_or_else(|| text("id"))
}

/// Reads one line for a field from the terminal; `None` at the end of input.
fn prompt(field: &Value) -> Option<String> {
    let name = name(field);
    let hint = match field["kind"].as_str().unwrap_or_default() {
        "boolean" => " [yes/no]",
        "multichoice" => " [ids, with commas]",
        "date" => " [YYYY-MM-DD]",
        _ => "",
    };
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // Show the default as a person would type it, because a default must be visible to count as an answer.
    let default = match &field["default"] {
        Value::Null => None,
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Array(several) => Some(several.iter().map(plain).collect::<Vec<_>>().join(", ")),
        one => Some(plain(one)),
    };
    let shown = default.as_deref().map(|default| format!(" ({})", visible(default))).unwrap_or_default();
    let word = line(&format!("{name}{hint}{shown}: "))?;
    Some(default.filter(|_| word.trim().is_empty()).unwrap_or(word))
}

fn line(prompt: &str) -> Option<String> {
    // Discard input typed before the question appeared.
    let _ = drop_typed();
    terminal::print(prompt);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(count) if count > 0 => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
        _ => None,
    }
}

/// Reads a line like [`line()`]; returns `None` as soon as Esc is pressed.
fn read_line_or_escape(prompt: &str) -> Option<String> {
    const ESC: u8 = 0x1b;
    let stdin = std::io::stdin();
    let before = rustix::termios::tcgetattr(&stdin).ok();
    if let Some(mut here) = before.clone() {
        // Make Esc end a line like Enter, so that the terminal keeps editing and echoing.
        here.special_codes[SpecialCodeIndex::VEOL] = ESC;
        let _ = rustix::termios::tcsetattr(&stdin, OptionalActions::Now, &here);
    }
    let _ = drop_typed();
    terminal::print(prompt);
    let read = stdin.lock().fill_buf().map(<[u8]>::to_vec).unwrap_or_default();
    stdin.lock().consume(read.len());
    if let Some(before) = before {
        let _ = rustix::termios::tcsetattr(&stdin, OptionalActions::Now, &before);
    }
    if read.contains(&ESC) {
        // The cursor is still behind the prompt.
        terminal::print("\n");
        return None;
    }
    let line = String::from_utf8_lossy(&read).trim_end_matches(['\n', '\r']).to_owned();
    (!read.is_empty()).then_some(line)
}

/// Discards pending terminal input.
fn drop_typed() -> std::io::Result<()> {
    Ok(rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush)?)
}
