//! `hob ask`: asks the person here, for scripts.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use project::{Project, visible};
use serde_json::{Map, Value, json};

use super::exit_of;
use crate::commands::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// The size limit of a form's file, in bytes: above the tool's limit, so that the tool reports it.
const FORM_MAX: u64 = 1 << 20;

/// Ask the person at this machine, from a script
#[derive(Debug, Args)]
pub(crate) struct Ask {
    #[command(subcommand)]
    what: Action,
    /// Timeout in seconds; 0 asks without waiting
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 600, allow_negative_numbers = true)]
    wait: u64,
    /// How long the question stays open, such as 2h [default: 24h]
    #[arg(long, global = true, value_name = "TIME")]
    expires: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Ask a yes-or-no question
    Confirm {
        /// The action to confirm
        action: String,
        /// Details about the action
        #[arg(long, value_name = "TEXT", default_value = "")]
        details: String,
    },
    /// Ask the person to choose from options
    Select {
        /// The question
        prompt: String,
        /// The options, each an id or id=label
        #[arg(required = true, value_name = "OPTION")]
        options: Vec<String>,
        /// Only accept one of the options
        #[arg(long)]
        strict: bool,
    },
    /// Ask for guidance
    Guide {
        /// The question
        context: String,
        /// A suggested answer; may be repeated
        #[arg(long, value_name = "TEXT")]
        suggest: Vec<String>,
    },
    /// Ask with a form
    Form {
        /// A file with the arguments of ask_form as JSON; `-` for stdin
        file: PathBuf,
    },
    /// Wait for the answer to an earlier `hob ask`; only the first waiter receives it
    Wait {
        /// The id of the question
        #[arg(value_name = "ID")]
        question: String,
    },
}

impl Ask {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let (tool, arguments) = match self.what {
            Action::Confirm { action, details } => ("confirm_action", json!({"action": action, "details": details})),
            Action::Select { prompt, options, strict } => {
                let options: Vec<Value> = options
                    .iter()
                    .map(|option| {
                        option.split_once('=').map_or_else(|| json!([option]), |(id, label)| json!([id, label]))
                    })
                    .collect();
                ("select_option", json!({"prompt": prompt, "options": options, "allow_custom": !strict}))
            }
            Action::Guide { context, suggest } => {
                ("request_guidance", json!({"context": context, "suggestions": suggest}))
            }
            Action::Form { file } => ("ask_form", form(&file)?),
            Action::Wait { question } => ("ask_wait", json!({"question": question})),
        };
        let Value::Object(mut arguments) = arguments else { return Err(Failure::new("the form is not a JSON object")) };
        arguments.insert("wait_s".to_owned(), self.wait.into());
        arguments.extend(self.expires.map(|expires| ("expires".to_owned(), expires.into())));
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["ask".to_owned()];
        // Each process is a new run, so that an identical later question is asked again.
        hello.run = Some(client::new_run());
        let mut control = current_project::connect_or_start(project, &hello)?;
        let result = control.call(tool, arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
        let mut result = result;
        if result["isError"] == true {
            for block in result["content"].as_array_mut().into_iter().flatten() {
                let text = block["text"].as_str().unwrap_or_default();
                block["text"] = text.replace("ask_list shows yours", "`hob questions` lists the open ones").into();
            }
        }
        if let Some(text) = result["content"][0]["text"].as_str()
            && let Some(advice) = result["structuredContent"]["advice"].as_str()
        {
            // Remove the advice for models.
            let said = text.strip_suffix(advice).unwrap_or(text).trim_end().to_owned();
            result["content"][0]["text"] = said.into();
        }
        let exit = match finish(&result, self.json)? {
            Exit::Done => exit_of(&result["structuredContent"]),
            exit => return Ok(exit),
        };
        let answered = &result["structuredContent"];
        if answered["open"] == true {
            let id = project::visible(answered["question"].as_str().unwrap_or_default());
            if exit == Exit::NobodyThere {
                terminal::note("No person is watching for questions here, so hob did not wait.");
            }
            terminal::note(format!("`hob answer {id}` answers it, and `hob ask wait {id}` gets the answer."));
            if exit == Exit::NobodyThere {
                terminal::note(
                    "While `hob questions --watch` runs in another terminal, `hob ask` waits for the answer.",
                );
            }
        }
        Ok(exit)
    }
}

fn form(file: &std::path::Path) -> Result<Value, Failure> {
    use std::io::Read;
    let failed = |error: &dyn std::fmt::Display| {
        let shown = project::visible::path(file);
        Failure::new(format_args!("{shown}: {error}")).hint("Write a JSON object with title, message and fields.")
    };
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(FORM_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(FORM_MAX).read_to_string(&mut text))
    };
    read.map_err(|error| {
        Failure::new(format_args!("cannot read {}: {}", visible::path(file), visible::cause(&error)))
            .hint("Name a file with the form as a JSON object, or `-` for stdin.")
    })?;
    let form: Map<String, Value> = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    Ok(form.into())
}
